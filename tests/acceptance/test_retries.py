"""Retries and time-outs on a real worker: counted, bounded, and each visible as an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_app.domain.outcome import Outcome
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, ended, line_of, payload, text
from tests.conftest import Person
from tests.ledger import read
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def test_retryable_error_is_tried_again_until_it_works(alice: Person) -> None:
    """section 2 item 13: every attempt is there to be seen."""
    task = ended(call(alice, tools.flaky, failures=2))

    assert (task.outcome, text(task)) == (Outcome.RESULT, "attempt 3")
    assert (task.retries, task.losses) == (2, 0)
    assert attempts(task.id) == ["failed", "failed", "completed"]


def test_retries_that_are_used_up_end_as_a_tool_error_with_the_last_text(alice: Person) -> None:
    task = ended(call(alice, tools.flaky, failures=9))

    assert (task.outcome, text(task)) == (Outcome.TOOL_ERROR, "failure 3")
    assert attempts(task.id) == ["failed", "failed", "failed"]


def test_error_that_the_tool_lists_is_tried_again(alice: Person) -> None:
    task = ended(call(alice, tools.refused))

    assert (task.outcome, text(task)) == (Outcome.TOOL_ERROR, "nobody listens there")
    assert attempts(task.id) == ["failed", "failed"]


def test_tool_that_runs_too_long_ends_with_a_protocol_error_and_is_not_tried_again(alice: Person, ledger: str) -> None:
    task = ended(call(alice, tools.too_slow, ledger=ledger))

    assert task.outcome is Outcome.RPC_ERROR
    assert (payload(task)["code"], payload(task)["data"]) == (-32603, {"reason": "timeout"})
    assert attempts(task.id) == ["timed_out"]
    assert len(read(ledger)) == 1


def test_time_out_is_tried_again_when_the_tool_lists_it(alice: Person, ledger: str) -> None:
    task = ended(call(alice, tools.too_slow_once, ledger=ledger))

    assert (task.outcome, text(task)) == (Outcome.RESULT, "in time")
    assert (task.retries, task.losses) == (1, 0)
    assert attempts(task.id) == ["timed_out", "completed"]


def test_tool_that_is_deaf_to_its_time_out_ends_with_its_process(alice: Person, ledger: str) -> None:
    """The task has ended by then; what goes on for the grace can record nothing."""
    task = ended(call(alice, tools.deaf_and_slow, ledger=ledger))
    process = Path(f"/proc/{line_of(ledger, 'begun').pid}/exe")
    was_there = process.exists()

    until(lambda: not process.exists())

    assert was_there, "a tool has its grace"
    assert (task.outcome, payload(task)["data"]) == (Outcome.RPC_ERROR, {"reason": "timeout"})
    assert attempts(task.id) == ["timed_out"]
    assert text(ended(call(alice, tools.nothing))) == "done"


def test_worker_is_free_again_after_a_time_out(alice: Person, ledger: str) -> None:
    late = [call(alice, tools.too_slow, ledger=ledger) for _ in range(2)]
    until(lambda: len(read(ledger)) == 2)

    for task_id in late:
        ended(task_id)

    assert text(ended(call(alice, tools.nothing), 5)) == "done"
