"""A tool on a real worker, from the call to the result; asking frees the worker, and the answer brings it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_app import store
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.engine.schema import Function
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import answer, attempts, call, ended, look, payload, text, waits
from tests.acceptance.conftest import World
from tests.conftest import Person
from tests.ledger import read
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def test_plain_function_runs_as_a_task_and_its_value_is_the_result(alice: Person) -> None:
    """Covers check 113: the author writes a function, the server does everything else."""
    task = ended(call(alice, tools.add, first=2, second=40))

    assert task.outcome is Outcome.RESULT
    assert payload(task)["structuredContent"] == {"sum": 42}
    assert attempts(task.id) == ["completed"]


def test_tool_is_told_whether_the_caller_asked_for_a_task(alice: Person) -> None:
    """Covers check 114."""
    asked, waited = call(alice, tools.how_called), call(alice, tools.how_called, waiting=True)

    assert text(ended(asked)) == "is_task=True"
    assert text(ended(waited)) == "is_task=False"


@pytest.mark.parametrize("tool", [tools.greet, tools.greet_async])
def test_asking_suspends_and_the_answer_resumes_without_repeating_a_step(
    tool: Function, alice: Person, ledger: str
) -> None:
    task_id = call(alice, tool, ledger=ledger)
    asked = waits(task_id)
    while_waiting = attempts(task_id)

    answer(alice, asked, {"text": "Ada"})
    task = ended(task_id)

    assert asked.request["message"] == "Who is there?"
    assert while_waiting == ["suspended"], "the worker is free while the task waits"
    assert text(task) == "Hello Ada"
    assert attempts(task_id) == ["suspended", "completed"]
    assert [(line.what, line.attempt) for line in read(ledger)] == [("look", 1), ("open", 2)]


def test_declined_question_is_an_answer_like_any_other(alice: Person, ledger: str) -> None:
    task_id = call(alice, tools.greet, ledger=ledger)

    answer(alice, waits(task_id), None, action=AnswerAction.DECLINE)

    assert text(ended(task_id)) == "Nobody (decline)"


def test_progress_and_output_can_be_read_while_the_tool_runs(alice: Person, gate: Path) -> None:
    """section 2 item 9, section 2 item 10: numbers that never go back, a message, and output by offset."""
    task_id = call(alice, tools.report, gate=str(gate))
    until(lambda: len(queries.output(task_id)) == 3 and look(task_id).progress_done == 3)

    seen = look(task_id)
    chunks = queries.output(task_id)
    gate.unlink()
    ended(task_id)
    rest = queries.output(task_id, after=chunks[-1].offset + chunks[-1].size)

    assert (seen.progress_done, seen.progress_total, seen.status_message) == (3, 4, "part 3")
    assert [chunk.text for chunk in chunks] == [f"part {number} of 4 is done\n" for number in (1, 2, 3)]
    assert [chunk.text for chunk in rest] == ["the end\n"]


def test_error_of_a_tool_is_a_result_and_its_traceback_stays_with_the_attempt(alice: Person) -> None:
    task = ended(call(alice, tools.breaks))
    [attempt] = queries.attempts(task.id)

    assert task.outcome is Outcome.TOOL_ERROR
    assert payload(task)["isError"] is True
    assert "Traceback" not in text(task)
    assert "Traceback" in str(attempt.detail)
    assert attempt.outcome == "failed"


def test_protocol_error_of_a_tool_ends_the_task_as_it_was_raised(alice: Person) -> None:
    task = ended(call(alice, tools.protocol_error))

    assert task.outcome is Outcome.RPC_ERROR
    assert payload(task) == {"code": -32050, "message": "No such account", "data": {"account": 7}}


def test_key_that_comes_twice_makes_one_task_that_runs_once(alice: Person, ledger: str) -> None:
    first = call(alice, tools.enters_and_leaves, key="once", ledger=ledger)
    second = call(alice, tools.enters_and_leaves, key="once", ledger=ledger)

    ended(first)

    assert first == second
    assert [line.what for line in read(ledger)] == ["enter", "leave"]


def test_question_of_the_name_that_the_approval_has_ends_the_task_and_loses_no_worker(
    alice: Person, bo: Person
) -> None:
    task_id = call(alice, tools.asks_twice)
    asked = waits(task_id)
    approval = {asked.key: store.Answer(AnswerAction.ACCEPT, {})}
    store.answer(task_id, approval, owner_id=None, by=bo.operates(), via=Via.CONSOLE)

    task = ended(task_id)

    assert task.outcome is Outcome.TOOL_ERROR
    assert "already asked a question of this name" in text(task)
    assert (task.losses, attempts(task_id)) == (0, ["failed"])


def test_request_is_followed_to_its_worker_by_the_log(alice: Person, world: World, ledger: str) -> None:
    """The id that the client got in its answer leads to the attempts, their tool and how each ended."""
    task_id = call(alice, tools.greet, ledger=ledger, request_id="req-4711")
    answer(alice, waits(task_id), {"text": "Ada"})
    ended(task_id)

    def told() -> list[str]:
        said = [line for line in world.worker.output().splitlines() if "req-4711" in line]
        return [line.split(": ", 1)[1] for line in said] if len(said) == 4 else []

    assert until(told) == [
        f"attempt 1 of task {task_id} begins: tool greet, request req-4711",
        f"attempt 1 of task {task_id} ends: tool greet, request req-4711, suspended",
        f"attempt 2 of task {task_id} begins: tool greet, request req-4711",
        f"attempt 2 of task {task_id} ends: tool greet, request req-4711, result",
    ]


def test_task_that_began_with_another_version_of_its_tool_ends_and_says_so(alice: Person, ledger: str) -> None:
    task_id = call(alice, tools.greet, ledger=ledger, version=99)
    answer(alice, waits(task_id), {"text": "Ada"})
    task = ended(task_id)

    assert (task.outcome, attempts(task_id)) == (Outcome.TOOL_ERROR, ["suspended", "failed"])
    assert "it began with version 99, and this is version 1" in text(task)
    assert [line.what for line in read(ledger)] == ["look"]


def test_replay_that_diverges_ends_and_does_nothing_more(alice: Person, ledger: str) -> None:
    task_id = call(alice, tools.changes_its_mind, ledger=ledger)
    answer(alice, waits(task_id), {"confirm": True})
    task = ended(task_id)

    assert (task.outcome, attempts(task_id)) == (Outcome.TOOL_ERROR, ["suspended", "failed"])
    assert "expected step 'look-1', got step 'look-2'" in text(task)
    assert [line.what for line in read(ledger)] == ["look"]
