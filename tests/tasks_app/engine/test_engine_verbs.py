"""The explicit verbs of a context and of a handle: what each does, and the order in which it is illegal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tasks_app.engine import Context, Handle, IllegalOrder, tool
from tasks_app.engine.call import How
from tasks_app.testing import run_tool

pytestmark = pytest.mark.usefixtures("own_registry")


def test_set_variable_keeps_it_on_the_task() -> None:
    """Covers check 107."""

    @tool
    def remember(ctx: Context) -> str:
        ctx.set_variable("stage", {"name": "build", "tries": [1, 2]})
        return "kept"

    assert run_tool(remember).variables == {"stage": {"name": "build", "tries": [1, 2]}}


def test_require_input_waits_and_goes_on_with_what_was_said() -> None:
    """Covers check 108."""

    @tool
    def careful(ctx: Context) -> str:
        first = ctx.require_input("Plug it in")
        second = ctx.require_input("Switch it on")
        return f"{first.action} {second.action}"

    run = run_tool(careful, answers={"input-1": True, "input-2": "decline"})

    assert run.value == "accept decline"
    assert [question.message for question in run.questions] == ["Plug it in", "Switch it on"]
    assert run.questions[0].request["requestedSchema"] == {"type": "object", "properties": {}}


def test_resume_is_always_illegal_for_a_tool_that_runs() -> None:
    """Covers check 109."""

    @tool
    def impatient(ctx: Context) -> None:
        ctx.resume()

    run = run_tool(impatient)

    assert run.is_error
    assert "ctx.resume() is not possible" in str(run.error)


def test_complete_ends_the_task_with_the_result() -> None:
    """Covers check 110."""

    @tool
    def explicit(ctx: Context) -> None:
        ctx.complete({"ok": True})

    run = run_tool(explicit)

    assert run.how is How.RESULT
    assert run.result is not None
    assert run.result["structuredContent"] == {"ok": True}


def test_fail_ends_the_task_with_a_tool_error() -> None:
    """Covers check 111."""

    @tool
    def explicit(ctx: Context) -> None:
        ctx.fail("The disk is full")

    run = run_tool(explicit)

    assert run.how is How.TOOL_ERROR
    assert run.error == "The disk is full"


def test_cancel_cancels_the_task() -> None:
    """Covers check 112."""

    @tool
    def explicit(ctx: Context) -> None:
        ctx.cancel()

    run = run_tool(explicit)

    assert run.how is How.CANCELLED
    assert run.result is None
    assert not run.is_error


ENDS: dict[str, Callable[[Context], object]] = {
    "complete": lambda ctx: ctx.complete("first"),
    "fail": lambda ctx: ctx.fail("first"),
    "cancel": lambda ctx: ctx.cancel(),
    "defer": lambda ctx: ctx.defer(until=60),
}
AFTER: dict[str, Callable[[Context], object]] = ENDS | {
    "require_input": lambda ctx: ctx.require_input("late"),
    "resume": lambda ctx: ctx.resume(),
    "set_variables": lambda ctx: ctx.set_variable("late", 1),
    "progress": lambda ctx: ctx.progress(1),
    "message": lambda ctx: ctx.message("late"),
    "log": lambda ctx: ctx.log("late"),
    "step": lambda ctx: ctx.step("late", lambda: 1),
}


@pytest.mark.parametrize("verb", AFTER)
@pytest.mark.parametrize("end", ENDS)
def test_every_verb_is_illegal_once_the_end_is_decided(end: str, verb: str) -> None:
    """Covers check 107, check 108, check 109, check 110, check 111 and check 112, the illegal order of each."""

    @tool
    def confused(ctx: Context) -> None:
        ENDS[end](ctx)
        AFTER[verb](ctx)

    run = run_tool(confused)

    assert run.how is How.TOOL_ERROR
    assert run.error == f"ctx.{verb}() came after ctx.{end}(): nothing may follow that."
    assert (run.variables, run.log, run.steps) == ({}, [], {})


@pytest.mark.parametrize("end", ENDS)
def test_tool_that_catches_the_illegal_order_keeps_its_first_end(end: str) -> None:
    @tool
    def stubborn(ctx: Context) -> None:
        ENDS[end](ctx)
        with pytest.raises(IllegalOrder):
            ctx.complete("second")

    run = run_tool(stubborn)

    assert (
        run.how is {"complete": How.RESULT, "fail": How.TOOL_ERROR, "cancel": How.CANCELLED, "defer": How.DEFERRED}[end]
    )


def test_value_returned_after_complete_is_an_error_and_not_lost() -> None:
    @tool
    def twice(ctx: Context) -> str:
        ctx.complete("one")
        return "two"

    run = run_tool(twice)

    assert "returned a value after ctx.complete()" in str(run.error)


@pytest.mark.parametrize(
    ("until", "seconds"),
    [(lambda: 90, 90), (lambda: timedelta(minutes=2), 120), (lambda: datetime.now(UTC) + timedelta(days=1), 86_400)],
    ids=["seconds", "timedelta", "datetime"],
)
def test_defer_hands_the_task_over_until_the_time_given(
    until: Callable[[], float | timedelta | datetime], seconds: float
) -> None:
    @tool
    def hand_over(ctx: Context) -> None:
        ctx.defer(until=until())

    run = run_tool(hand_over)

    assert run.how is How.DEFERRED
    assert run.handle is not None
    assert run.handle.until.total_seconds() == pytest.approx(seconds, abs=600)


def test_defer_into_the_past_is_refused() -> None:
    @tool
    def late(ctx: Context) -> None:
        ctx.defer(until=0)

    assert "in the past" in str(run_tool(late).error)


def test_defer_is_refused_when_the_call_is_no_task() -> None:
    @tool
    def hand_over(ctx: Context) -> None:
        ctx.defer(until=60)

    assert "Only a task can be handed over" in str(run_tool(hand_over, is_task=False).error)


@pytest.fixture
def handle() -> Handle:
    @tool
    def hand_over(ctx: Context) -> None:
        ctx.defer(until=60)

    made = run_tool(hand_over).handle
    assert made is not None
    return made


def test_handle_completes_once(handle: Handle) -> None:
    handle.progress(1, 2)
    handle.log("working elsewhere")
    handle.complete("done")

    for late in (lambda: handle.complete("again"), lambda: handle.fail("no"), handle.cancel, lambda: handle.log("x")):
        with pytest.raises(IllegalOrder, match="came after complete"):
            late()  # type: ignore[no-untyped-call]


def test_handle_that_waits_can_only_resume_or_cancel(handle: Handle) -> None:
    """Covers check 108 and check 109 for a handle."""
    handle.require_input("Ready?")

    with pytest.raises(IllegalOrder, match="while the task waits"):
        handle.complete("too early")
    handle.resume()
    with pytest.raises(IllegalOrder, match="came after resume"):
        handle.cancel()


def test_handle_cannot_resume_what_does_not_wait(handle: Handle) -> None:
    """Covers check 109, the illegal order."""
    with pytest.raises(IllegalOrder, match="not waiting"):
        handle.resume()


def test_handle_that_waits_can_be_cancelled(handle: Handle) -> None:
    """Covers check 112 for a handle."""
    handle.require_input("Ready?")

    handle.cancel()

    with pytest.raises(IllegalOrder, match="came after cancel"):
        handle.resume()
