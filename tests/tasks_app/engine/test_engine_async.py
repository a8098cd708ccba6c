"""Async tools: the same names, awaitable, with the same endings."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest

from tasks_app.domain.errors import ToolError
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import QuestionKind
from tasks_app.engine import AsyncContext, Confirm, Context, Question, Text, tool
from tasks_app.engine.call import How, call_tool, call_tool_async
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.registry import tool_of
from tasks_app.testing import run_tool

pytestmark = pytest.mark.usefixtures("own_registry")

PLAIN = {"client_can", "idempotency_key"}
"""Methods that wait for nothing, and so are plain in both contexts."""


def methods(of: type) -> set[str]:
    return {name for name, member in inspect.getmembers(of, inspect.isfunction) if not name.startswith("_")}


def test_async_context_has_every_name_of_the_context_and_awaits_all_that_may_wait() -> None:
    assert issubclass(AsyncContext, Context)
    assert methods(AsyncContext) == methods(Context)
    for name in methods(Context) - PLAIN:
        assert inspect.iscoroutinefunction(getattr(AsyncContext, name)), name
        ours = inspect.signature(getattr(AsyncContext, name)).parameters
        theirs = inspect.signature(getattr(Context, name)).parameters
        assert list(ours) == list(theirs), name


def test_async_tool_gets_an_async_context_however_it_is_annotated() -> None:
    kinds = []

    @tool
    async def one(ctx: Context) -> None:
        kinds.append(type(ctx))

    @tool
    async def two(ctx: AsyncContext) -> None:
        kinds.append(type(ctx))

    run_tool(one)
    run_tool(two)

    assert kinds == [AsyncContext, AsyncContext]


def test_async_tool_does_all_that_a_sync_one_can() -> None:
    @tool
    async def everything(ctx: AsyncContext, name: str) -> dict[str, Any]:
        async def fetch(who: str) -> str:
            await asyncio.sleep(0)
            return who.upper()

        upper = await ctx.step("fetch", fetch, name)
        length = await ctx.step("length", len, upper)
        sure = await ctx.ask("sure", Confirm, message="Sure?")
        both = await ctx.ask_all(a=Question(Text, "A?"), b=Question(Text, "B?"))
        visited = await ctx.ask_url("visit", "https://example.org/", message="Look")
        sampled = await ctx.sample("sum", "Sum up")
        roots = await ctx.roots()
        await ctx.require_input("Ready?")
        await ctx.progress(1, 2, "half")
        await ctx.message("nearly")
        await ctx.log("line")
        await ctx.set_variable("a", 1)
        await ctx.set_variables({"b": 2})
        await ctx.check_cancelled()
        assert ctx.client_can(QuestionKind.FORM)
        assert dict(ctx.variables) == {"a": 1, "b": 2}
        return {
            "upper": upper,
            "length": length,
            "sure": sure.accepted,
            "both": [both["a"].value, both["b"].value],
            "visited": visited.accepted,
            "sampled": sampled.value and sampled.value.text,
            "roots": len(roots.value or []),
        }

    answers = {
        "sure": True,
        "a": "x",
        "b": "y",
        "visit": True,
        "sum": "Short.",
        "roots": ["file:///srv"],
        "input-1": True,
    }
    run = run_tool(everything, name="ada", answers=answers)

    assert run.error is None, run.traceback
    assert run.value == {
        "upper": "ADA",
        "length": 3,
        "sure": True,
        "both": ["x", "y"],
        "visited": True,
        "sampled": "Short.",
        "roots": 1,
    }
    assert run.steps == {"fetch": "ADA", "length": 3}
    assert (run.messages, run.log, run.attempts) == (["half", "nearly"], ["line"], 7)


@pytest.mark.parametrize(
    ("verb", "how"), [("complete", How.RESULT), ("fail", How.TOOL_ERROR), ("cancel", How.CANCELLED)]
)
def test_async_tool_can_decide_its_own_end(verb: str, how: How) -> None:
    """Covers check 110, check 111 and check 112 for async tools."""

    @tool
    async def decides(ctx: AsyncContext) -> None:
        if verb == "complete":
            await ctx.complete("ok")
        elif verb == "fail":
            await ctx.fail("no")
        else:
            await ctx.cancel()

    assert run_tool(decides).how is how


def test_async_tool_can_hand_over_but_not_resume() -> None:
    @tool
    async def hands_over(ctx: AsyncContext) -> None:
        await ctx.defer(until=60)

    @tool
    async def resumes(ctx: AsyncContext) -> None:
        await ctx.resume()

    assert run_tool(hands_over).how is How.DEFERRED
    assert "ctx.resume() is not possible" in str(run_tool(resumes).error)


def test_async_steps_that_run_together_keep_the_order_in_which_they_were_started() -> None:
    first_may_end = asyncio.Event

    @tool
    async def together(ctx: AsyncContext) -> list[int]:
        gate = first_may_end()

        async def slow() -> int:
            await gate.wait()
            return 1

        async def fast() -> int:
            gate.set()
            return 2

        numbers = await asyncio.gather(ctx.step("slow", slow), ctx.step("fast", fast))
        await ctx.ask("sure", Confirm, message="Sure?")
        return list(numbers)

    journal = MemoryJournal()
    made = tool_of(together)

    first = call_tool(made, {}, journal)
    (question,) = first.questions
    journal.answer(question, question.reply(True))
    second = call_tool(made, {}, journal)

    assert {entry.name: entry.position for entry in journal.history()} == {"slow": 0, "fast": 1, "sure": 2}
    assert second.value == [1, 2]


def test_async_questions_in_a_task_group_suspend_the_run() -> None:
    @tool
    async def grouped(ctx: AsyncContext) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.ask("one", Text, message="One?"))
            group.create_task(ctx.ask("two", Text, message="Two?"))
        return "done"

    run = run_tool(grouped, answers={"one": "1", "two": "2"})

    assert run.value == "done"
    assert [question.name for question in run.questions] == ["one", "two"]


def test_async_tool_that_swallows_the_signal_is_suspended_all_the_same() -> None:
    @tool
    async def swallows(ctx: AsyncContext) -> str:
        try:
            await ctx.ask("sure", Confirm, message="Sure?")
        except BaseException:
            return "swallowed"
        return "answered"

    assert call_tool(tool_of(swallows), {}, MemoryJournal()).how is How.SUSPENDED


def test_async_tool_that_fails_or_cancels_itself_ends_with_a_tool_error() -> None:
    @tool
    async def fails() -> None:
        raise ToolError("no")

    @tool
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    assert run_tool(fails).error == "no"
    assert run_tool(cancels_itself).error == "The tool cancelled itself."


def test_async_tool_can_be_run_from_inside_an_event_loop() -> None:
    @tool
    async def greet() -> str:
        return "hello"

    async def main() -> object:
        return run_tool(greet).value

    assert asyncio.run(main()) == "hello"


def test_tools_of_both_kinds_run_in_a_loop_that_is_already_there() -> None:
    threads = []

    @tool
    def blocking() -> str:
        threads.append(threading.get_ident())
        return "sync"

    @tool
    async def coroutine() -> str:
        threads.append(threading.get_ident())
        return "async"

    async def main() -> list[object]:
        ends = [await call_tool_async(tool_of(each), {}, MemoryJournal()) for each in (blocking, coroutine)]
        assert all(ended.outcome is Outcome.RESULT for ended in ends)
        return [ended.value for ended in ends]

    assert asyncio.run(main()) == ["sync", "async"]
    assert threads[0] != threading.get_ident() == threads[1]


def test_cancelling_the_call_of_an_async_tool_cancels_the_tool() -> None:
    ends = []

    @tool
    async def endless() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")

    started: asyncio.Event

    async def main() -> None:
        nonlocal started
        started = asyncio.Event()
        call = asyncio.create_task(call_tool_async(tool_of(endless), {}, MemoryJournal()))
        await asyncio.wait_for(started.wait(), timeout=5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())

    assert ends == ["cancelled"]


def test_journal_of_an_async_tool_is_used_through_the_given_way_off_the_loop() -> None:
    calls = []

    async def offload(call: Any, /) -> Any:
        calls.append(call)
        return call()

    @tool
    async def logs(ctx: AsyncContext) -> str:
        await ctx.log("one")
        return "done"

    journal = MemoryJournal()

    ended = asyncio.run(call_tool_async(tool_of(logs), {}, journal, offload=offload))

    assert ended.value == "done"
    assert journal.log == ["one"]
    assert len(calls) == 2, "reading the history and one write"
