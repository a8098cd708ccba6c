"""Running a tool once: how a run ends, whatever the tool does."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tasks_app.domain.errors import LeaseLost, Stop
from tasks_app.domain.limits import Limits
from tasks_app.domain.outcome import Outcome
from tasks_app.engine import Confirm, Context, QuestionExpired, Retryable, RpcError, ToolError, tool
from tasks_app.engine.call import Ended, How, call_tool, outcome_of
from tasks_app.engine.journal import Entry, EntryKind, Release
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.registry import tool_of
from tasks_app.engine.results import error_text

pytestmark = pytest.mark.usefixtures("own_registry")


def run(function: Any, journal: MemoryJournal | None = None, /, **arguments: object) -> Ended:
    return call_tool(tool_of(function), arguments, journal or MemoryJournal())


def said(ended: Ended) -> str:
    assert ended.payload is not None
    return error_text(ended.payload)


def test_tool_that_returns_ends_with_its_result() -> None:
    @tool
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    ended = run(greet, name="Ada")

    assert (ended.how, ended.outcome, ended.value) == (How.RESULT, Outcome.RESULT, "Hello, Ada!")
    assert ended.payload == {"content": [{"type": "text", "text": "Hello, Ada!"}], "isError": False}


def test_tool_that_returns_an_error_result_ends_with_a_tool_error() -> None:
    @tool
    def refuse() -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "No."}], "isError": True}

    ended = run(refuse)

    assert (ended.how, ended.outcome) == (How.TOOL_ERROR, Outcome.TOOL_ERROR)


def test_arguments_that_do_not_fit_are_a_tool_error_and_the_tool_does_not_run() -> None:
    ran = []

    @tool
    def greet(name: str) -> None:
        ran.append(name)

    ended = run(greet, nome="Ada")

    assert ended.how is How.TOOL_ERROR
    assert "nome: is not an argument of this tool" in said(ended)
    assert ran == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("No such host"), "No such host"),
        (ValueError("bad value"), "bad value"),
        (RuntimeError(), "RuntimeError"),
        (QuestionExpired("sure"), 'Nobody answered the question "sure" in time. Run the tool again to be asked again.'),
        (TimeoutError("too slow"), "too slow"),
        (LeaseLost(), str(LeaseLost())),
    ],
)
def test_error_that_leaves_a_tool_is_a_tool_error_with_its_text_only(error: Exception, text: str) -> None:
    @tool
    def fails() -> None:
        raise error

    ended = run(fails)

    assert (ended.how, said(ended)) == (How.TOOL_ERROR, text)
    assert "Traceback" in ended.traceback
    assert "in fails" in ended.traceback
    assert "Traceback" not in said(ended)


def test_rpc_error_ends_with_a_protocol_error() -> None:
    @tool
    def fails() -> None:
        raise RpcError(-32001, "Gone", {"since": "today"})

    ended = run(fails)

    assert (ended.how, ended.outcome) == (How.RPC_ERROR, Outcome.RPC_ERROR)
    assert ended.payload == {"code": -32001, "message": "Gone", "data": {"since": "today"}}


@pytest.mark.parametrize(
    ("error", "delay"),
    [(Retryable("busy", delay=7), 7), (Retryable("busy"), None), (ConnectionResetError("busy"), None)],
)
def test_error_to_be_retried_ends_with_a_retry_and_the_text_for_the_last_one(
    error: Exception, delay: float | None
) -> None:
    @tool(retry_on=OSError)
    def flaky() -> None:
        raise error

    ended = run(flaky)

    assert (ended.how, ended.outcome, ended.delay, said(ended)) == (How.RETRY, None, delay, "busy")


def test_error_type_that_is_not_listed_is_not_retried() -> None:
    @tool(retry_on=OSError)
    def flaky() -> None:
        raise ValueError("no")

    assert run(flaky).how is How.TOOL_ERROR


def test_outcome_of_an_error_needs_no_run() -> None:
    @tool(retry_on=(KeyError,))
    def any_tool() -> None: ...

    assert outcome_of(KeyError("x"), tool_of(any_tool)).how is How.RETRY
    assert outcome_of(IndexError("x"), tool_of(any_tool)).how is How.TOOL_ERROR


def test_tool_that_asks_ends_suspended_with_its_questions() -> None:
    @tool
    def careful(ctx: Context) -> None:
        ctx.ask("sure", Confirm, message="Sure?")

    ended = run(careful)

    assert (ended.how, ended.outcome, ended.payload) == (How.SUSPENDED, None, None)
    assert [question.name for question in ended.questions] == ["sure"]


def swallow_exception(ctx: Context) -> str:
    try:
        ctx.ask("sure", Confirm, message="Sure?")
    except Exception:
        return "swallowed"
    return "answered"


def swallow_everything(ctx: Context) -> str:
    try:
        ctx.ask("sure", Confirm, message="Sure?")
    except:  # noqa: E722
        return "swallowed"
    return "answered"


def return_in_finally(ctx: Context) -> str:
    try:
        ctx.ask("sure", Confirm, message="Sure?")
    finally:
        return "swallowed"  # noqa: B012


def replace_it(ctx: Context) -> str:
    try:
        ctx.ask("sure", Confirm, message="Sure?")
    except BaseException as signal:
        raise ValueError("replaced") from signal
    return "answered"


@pytest.mark.parametrize("function", [swallow_exception, swallow_everything, return_in_finally, replace_it])
def test_question_is_asked_even_if_the_tool_swallows_the_signal(function: Any) -> None:
    ended = run(tool(function))

    assert ended.how is How.SUSPENDED
    assert [question.name for question in ended.questions] == ["sure"]


def test_diverging_replay_fails_even_if_the_tool_swallows_the_error() -> None:
    @tool
    def changed(ctx: Context) -> str:
        try:
            ctx.step("new", lambda: 1)
        except Exception:
            return "as if nothing happened"
        return "fine"

    journal = MemoryJournal(entries=[Entry(position=0, name="old", kind=EntryKind.STEP, value=1)])

    ended = run(changed, journal)

    assert ended.how is How.TOOL_ERROR
    assert "The tool changed while it waited (expected step 'old', got step 'new')" in said(ended)


@pytest.mark.parametrize(("signal", "how"), [(Stop(), How.STOPPED), (Release(), How.RELEASED)])
def test_tool_that_is_told_to_stop_ends_at_its_next_step(signal: Any, how: How) -> None:
    @tool
    def works(ctx: Context) -> str:
        ctx.step("first", lambda: setattr(ctx_journal, "signal", signal))
        ctx.step("second", lambda: pytest.fail("must not run"))
        return "done"

    ctx_journal = MemoryJournal()

    ended = run(works, ctx_journal)

    assert (ended.how, ended.outcome, ended.payload) == (how, None, None)
    assert [entry.name for entry in ctx_journal.history()] == ["first"]


def test_tool_that_finishes_although_it_was_told_to_stop_has_its_result() -> None:
    @tool
    def quick() -> str:
        return "done"

    journal = MemoryJournal()
    journal.signal = Release()

    assert run(quick, journal).how is How.RESULT


def test_tool_that_exits_is_a_tool_error() -> None:
    @tool
    def quits() -> None:
        sys.exit(3)

    ended = run(quits)

    assert ended.how is How.TOOL_ERROR
    assert "sys.exit(3)" in said(ended)


def test_exit_while_the_worker_shuts_down_is_no_fault_of_the_tool() -> None:
    @tool
    def interrupted() -> None:
        journal.signal = Release()
        raise SystemExit(0)

    journal = MemoryJournal()

    assert run(interrupted, journal).how is How.RELEASED


def test_interrupt_from_the_keyboard_is_not_swallowed() -> None:
    @tool
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupted)


def test_step_that_failed_is_named_and_one_that_was_finished_is_not() -> None:
    @tool
    def deploy(ctx: Context, broken: bool) -> None:
        ctx.step("plan", lambda: 1)
        if broken:
            ctx.step("push", lambda: 1 // 0)
        raise ToolError("after the steps")

    assert run(deploy, broken=True).step == "push"
    assert run(deploy, broken=False).step is None


def test_result_above_the_limit_is_a_tool_error_that_says_so() -> None:
    @tool
    def verbose() -> str:
        return "x" * 200

    ended = call_tool(tool_of(verbose), {}, MemoryJournal(), limits=Limits(result_bytes=100))

    assert ended.how is How.TOOL_ERROR
    assert "more than 100 bytes" in said(ended)


def test_result_that_looks_like_a_task_is_a_tool_error() -> None:
    """Covers check 120."""

    @tool
    def forges() -> dict[str, str]:
        return {"taskId": "mine", "status": "completed"}

    ended = run(forges)

    assert ended.how is How.TOOL_ERROR
    assert "tasks are made by the server" in said(ended)


def test_long_traceback_keeps_its_end() -> None:
    @tool
    def fails() -> None:
        raise ValueError("x" * 100_000 + "the end")

    ended = run(fails)

    assert len(ended.traceback) == 50_000
    assert ended.traceback.rstrip().endswith("the end")
