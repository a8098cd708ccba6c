"""Workers that come and go one after the other: killed at the wrong moment, frozen, told to go."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks_app.conf import conf
from tasks_app.domain.outcome import Outcome
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, ended, line_of, text
from tests.acceptance.conftest import TOOLS, is_up
from tests.conftest import Person
from tests.ledger import read
from tests.processes import Running, start_engine, start_worker
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def engine(django_db_setup: None) -> Iterator[Running]:
    """The engine loop of this module; its workers are started by the tests."""
    with start_engine(**TOOLS) as running:
        yield running


@contextmanager
def a_worker(*, slots: int = 1, **environment: str) -> Iterator[Running]:
    """A worker that is up."""
    with start_worker(slots=slots, **TOOLS, **environment) as running:
        until(lambda: is_up(running), 30)
        yield running


def test_process_that_dies_between_the_return_and_the_commit_costs_one_attempt(
    engine: Running, alice: Person, ledger: str, gate: Path
) -> None:
    """section 2 item 4: the second attempt completes, and the stored steps are not run again."""
    gate.unlink()
    with a_worker(TASKDECK_FAULT="after_tool:exit"):
        task_id = call(alice, tools.three_steps, ledger=ledger, gate=str(gate))
        until(lambda: attempts(task_id)[:1] == ["lost"])
    with a_worker():
        task = ended(task_id)

    assert task.outcome is Outcome.RESULT
    assert attempts(task_id)[0] == "lost"
    assert attempts(task_id)[-1] == "completed"
    assert [line.what for line in read(ledger)] == ["one", "two-begun", "two", "three"], "each step once"


def test_frozen_worker_that_comes_back_too_late_can_record_nothing(
    engine: Running, alice: Person, ledger: str, gate: Path
) -> None:
    """section 2 item 4: SIGSTOP past the lease, SIGCONT; the late result is refused and the newer one stands."""
    with a_worker() as frozen:
        task_id = call(alice, tools.until_gate, ledger=ledger, gate=str(gate))
        begun = line_of(ledger, "begun")
        # The parent too, or it would end a child that says nothing for longer than a lease.
        for pid in (frozen.pid, begun.pid):
            os.kill(pid, signal.SIGSTOP)
        until(lambda: attempts(task_id) == ["lost"])

        with a_worker():
            until(lambda: len(read(ledger)) == 2)
            gate.unlink()
            os.kill(begun.pid, signal.SIGCONT)
            until(lambda: "is no longer held by this attempt" in frozen.output())
            task = ended(task_id)
        os.kill(frozen.pid, signal.SIGCONT)

    assert (task.outcome, text(task)) == (Outcome.RESULT, "through the gate")
    assert (task.losses, attempts(task_id)) == (1, ["lost", "completed"])
    assert {attempt.worker for attempt in queries.attempts(task_id)} != {queries.attempts(task_id)[0].worker}


def test_worker_that_is_told_to_go_gives_its_tasks_back_and_another_takes_them_up(
    engine: Running, alice: Person, ledger: str, tmp_path: Path, gate: Path
) -> None:
    """Nothing is lost or counted: what ran is released, whether it looks up or not, and no recorded step runs again."""
    with a_worker(slots=2) as first:
        listening = call(alice, tools.releasable, ledger=ledger, gate=str(gate))
        deaf = call(alice, tools.deaf, ledger=str(tmp_path / "deaf"))
        line_of(ledger, "waiting")
        line_of(str(tmp_path / "deaf"), "begun")
        behind = [call(alice, tools.nothing) for _ in range(5)]
        told = time.monotonic()
        first.send(signal.SIGTERM)
        code = first.wait()
        took = time.monotonic() - told
        given_back = [attempts(task_id) for task_id in (listening, deaf, *behind)]
    gate.unlink()
    with a_worker(slots=2):
        task = ended(listening)
        line_of(str(tmp_path / "deaf"), "begun", attempt=2)
        others = [text(ended(task_id)) for task_id in behind]

    assert code == 0
    assert took < conf().release_after + 5
    assert given_back == [["released"], ["released"], [], [], [], [], []]
    assert (task.losses, task.retries, text(task)) == (0, 0, "end")
    assert attempts(listening) == ["released", "completed"]
    assert [line.what for line in read(ledger)] == ["begin", "waiting", "waiting", "end"]
    assert others == ["done"] * 5


def test_owner_at_the_cap_waits_for_a_place_of_its_own_while_others_run(
    engine: Running, alice: Person, bo: Person, ledger: str, gate: Path
) -> None:
    """section 2 item 18: with a cap of one, the second slot is for other owners, however much this one has queued."""
    held = f"{ledger}-held"
    with a_worker(slots=2, TASKDECK_OWNER_CONCURRENCY="1"):
        first = call(alice, tools.until_gate, ledger=held, gate=str(gate))
        line_of(held, "begun")
        queued = [call(alice, tools.enters_and_leaves, ledger=ledger) for _ in range(4)]
        others = [ended(call(bo, tools.nothing)) for _ in range(3)]
        begun_meanwhile = [task_id for task_id in queued if attempts(task_id)]
        gate.unlink()
        tasks = [ended(task_id) for task_id in [first, *queued]]

    assert [text(task) for task in others] == ["done"] * 3
    assert begun_meanwhile == []
    assert {task.outcome for task in tasks} == {Outcome.RESULT}
    assert [line.what for line in read(ledger)] == ["enter", "leave"] * 4, "never two at once"
