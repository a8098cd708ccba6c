"""A workflow is the recorded steps of a task."""

from __future__ import annotations

import pytest

from tasks_app.engine import Confirm, Context, Retryable, tool
from tasks_app.engine.call import How, call_tool
from tasks_app.engine.journal import EntryKind
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.plan import done_in, workflow
from tasks_app.engine.registry import tool_of

pytestmark = pytest.mark.usefixtures("own_registry")


def test_workflow_that_fails_at_its_second_step_goes_on_from_there_and_completes() -> None:
    """Covers check 130, check 131 and check 133: planned steps, a value for each, and completion at the end."""
    ran: list[str] = []

    def fetch() -> list[int]:
        ran.append("fetch")
        return [3, 1, 2]

    def sort(numbers: list[int]) -> list[int]:
        ran.append("sort")
        if ran.count("sort") == 1:
            raise Retryable("the sorter is busy")
        return sorted(numbers)

    @tool(steps=("fetch", "sort", "store"))
    def pipeline(ctx: Context) -> int:
        numbers = ctx.step("sort", sort, ctx.step("fetch", fetch))
        return ctx.step("store", len, numbers)

    made, journal = tool_of(pipeline), MemoryJournal()

    failed = call_tool(made, {}, journal)
    after_failure = workflow(made.steps, done_in(journal.history()), failed=failed.step)
    journal.next_attempt()
    done = call_tool(made, {}, journal)
    after_success = workflow(made.steps, done_in(journal.history()))

    assert (failed.how, failed.outcome, failed.step) == (How.RETRY, None, "sort")
    assert [(step.name, step.state) for step in after_failure] == [
        ("fetch", "done"),
        ("sort", "failed"),
        ("store", "pending"),
    ]
    assert (done.how, done.value) == (How.RESULT, 3)
    assert {step.state for step in after_success} == {"done"}
    assert ran == ["fetch", "sort", "sort"]
    values = {entry.name: entry.value for entry in journal.history()}
    assert values == {"fetch": [3, 1, 2], "sort": [1, 2, 3], "store": 3}


def test_workflow_that_waits_shows_what_is_pending_and_leaves_questions_out() -> None:
    """Covers check 133: a workflow that pauses has not ended."""

    @tool(steps=("plan", "push"))
    def deploy(ctx: Context) -> None:
        ctx.step("plan", lambda: 1)
        ctx.ask("sure", Confirm, message="Sure?")
        ctx.step("push", lambda: 2)

    journal = MemoryJournal()
    ended = call_tool(tool_of(deploy), {}, journal)
    (question,) = ended.questions
    journal.answer(question, question.reply(True))

    assert ended.outcome is None
    assert {entry.kind for entry in journal.history()} == {EntryKind.STEP, EntryKind.QUESTION}
    assert [(step.name, step.state) for step in workflow(("plan", "push"), done_in(journal.history()))] == [
        ("plan", "done"),
        ("push", "pending"),
    ]


def test_workflow_without_a_plan_is_what_was_done_in_its_order() -> None:
    journal = MemoryJournal()
    journal.save_step("second", position=1, value=2)
    journal.save_step("first", position=0, value=1)

    assert [step.name for step in workflow((), done_in(journal.history()), failed="third")] == [
        "first",
        "second",
        "third",
    ]
