"""The explicit verbs of a context, each in a worker process, in its order and in the illegal one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from tasks_app import store
from tasks_app.domain.outcome import Outcome
from tasks_app.engine import IllegalOrder, hints
from tasks_app.engine.handle import StoreHandle
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import answer, attempts, call, ended, look, payload, text, waits
from tests.conftest import Person
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def test_set_variable_keeps_it_on_the_task_and_not_after_the_end_was_decided(alice: Person) -> None:
    """Covers check 107."""
    task = ended(call(alice, tools.use_verb, verb="set_variable"))
    late = ended(call(alice, tools.use_verb, verb="set_variable", too_late=True))

    assert payload(task)["structuredContent"] == {"variables": {"colour": {"name": "red", "rgb": [255, 0, 0]}}}
    assert task.variables == '{"colour":{"name":"red","rgb":[255,0,0]}}'
    assert late.variables == "{}"
    assert _came_too_late(late, "set_variables")


def test_require_input_waits_for_a_word_and_not_after_the_end_was_decided(alice: Person) -> None:
    """Covers check 108."""
    task_id = call(alice, tools.use_verb, verb="require_input")
    asked = waits(task_id)

    answer(alice, asked, {})
    task = ended(task_id)
    late = ended(call(alice, tools.use_verb, verb="require_input", too_late=True))

    assert asked.request["message"] == "Plug it in"
    assert payload(task)["structuredContent"] == {"went": "on"}
    assert attempts(task_id) == ["suspended", "completed"]
    assert queries.questions(late.id) == []
    assert _came_too_late(late, "require_input")


def test_resume_is_for_a_handle_whose_task_waits_and_never_for_a_tool_that_runs(alice: Person, tmp_path: Path) -> None:
    """Covers check 109: also the order in which the handle may not."""
    task_id, handle = _handed_over(alice, tmp_path)
    with pytest.raises(IllegalOrder, match="only while the task waits"):
        handle.resume()

    handle.require_input("Call me back")
    waiting = waits(task_id)
    handle.resume()
    hints.send()
    resumed = ended(task_id)
    running = ended(call(alice, tools.use_verb, verb="resume"))

    assert waiting.request["message"] == "Call me back"
    assert text(resumed) == "resumed"
    assert attempts(task_id) == ["suspended", "completed"]
    assert "ctx.resume() is not possible" in text(running)


def test_complete_ends_the_task_with_its_result_once(alice: Person) -> None:
    """Covers check 110."""
    task = ended(call(alice, tools.use_verb, verb="complete"))
    late = ended(call(alice, tools.use_verb, verb="complete", too_late=True))

    assert task.outcome is Outcome.RESULT
    assert payload(task)["structuredContent"] == {"by": "verb"}
    assert _came_too_late(late, "complete")


def test_fail_ends_the_task_with_a_tool_error_and_not_after_another_end(alice: Person) -> None:
    """Covers check 111."""
    task = ended(call(alice, tools.use_verb, verb="fail"))
    late = ended(call(alice, tools.use_verb, verb="fail", too_late=True))

    assert task.outcome is Outcome.TOOL_ERROR
    assert text(task) == "The disk is full"
    assert _came_too_late(late, "fail")


def test_cancel_ends_the_task_as_cancelled_and_not_after_another_end(alice: Person) -> None:
    """Covers check 112."""
    task = ended(call(alice, tools.use_verb, verb="cancel"))
    until(lambda: attempts(task.id) == ["stopped"])
    late = ended(call(alice, tools.use_verb, verb="cancel", too_late=True))

    assert task.outcome is Outcome.CANCELLED
    assert task.result is None
    assert _came_too_late(late, "cancel")


def test_handle_carries_a_task_to_its_end_from_another_process(alice: Person, tmp_path: Path) -> None:
    task_id, handle = _handed_over(alice, tmp_path)

    handle.progress(1, 2, "half")
    handle.log("from outside")
    half = look(task_id)
    handle.complete("done outside")

    assert (half.progress_done, half.progress_total, half.status_message) == (1, 2, "half")
    assert [chunk.text for chunk in queries.output(task_id)] == ["from outside\n"]
    assert text(ended(task_id)) == "done outside"
    assert attempts(task_id) == ["completed"]


def test_handle_that_is_not_used_in_time_is_a_lost_attempt(alice: Person, tmp_path: Path) -> None:
    task_id = call(alice, tools.hand_over, token=str(tmp_path / "token"), seconds=0.5)

    task = ended(task_id)

    assert text(task) == "resumed"
    assert (task.losses, attempts(task_id)) == (1, ["lost", "completed"])


def test_handed_over_tasks_hold_no_worker_slot(alice: Person, tmp_path: Path) -> None:
    handles = [_handed_over(alice, tmp_path, name=f"token-{number}")[1] for number in range(3)]

    # Tried again by the engine loop alone: nobody else hints at it.
    task = ended(call(alice, tools.flaky, failures=2))
    for handle in handles:
        handle.cancel()

    assert text(task) == "attempt 3"


def _handed_over(owner: Person, folder: Path, *, name: str = "token") -> tuple[UUID, StoreHandle]:
    token = folder / name
    task_id = call(owner, tools.hand_over, token=str(token))
    until(token.exists)
    # The attempt is open until the handle ends it; the worker is through with it.
    return task_id, StoreHandle.from_token(token.read_text())


def _came_too_late(task: store.Snapshot, verb: str) -> bool:
    return f"ctx.{verb}() came after ctx.complete()" in text(task)
