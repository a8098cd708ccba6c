"""The tools that the workers of these tests run: each shows one way in which a tool can behave, well or badly.

A *gate* is a file: a tool that waits for one goes on when it is gone. What a tool did is in the ledger.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tasks_app.engine import AsyncContext, Confirm, Context, Retryable, RpcError, Text, tool
from tasks_app.engine.handle import StoreHandle
from tests.ledger import note

LOOK_EVERY = 0.02
LONGEST_SECONDS = 60.0

Verb = Literal["set_variable", "require_input", "resume", "complete", "fail", "cancel"]


def _note(ctx: Context, ledger: str, what: str) -> str:
    return note(ledger, task_id=ctx.task_id, attempt=ctx.attempt, what=what)


def _wait(gate: str, *, unless: Callable[[], bool] = lambda: False) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while Path(gate).exists() and not unless() and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


@tool(task="required")
def add(first: int, second: int) -> dict[str, int]:
    """Add two numbers, in a plain function that knows nothing of tasks."""
    return {"sum": first + second}


@tool
def nothing() -> str:
    """Do nothing at all."""
    return "done"


@tool
def how_called(ctx: Context) -> str:
    """Say whether the caller asked for a task."""
    return f"is_task={ctx.is_task}"


@tool
def greet(ctx: Context, ledger: str) -> str:
    """Ask for a name between two steps."""
    ctx.step("look", _note, ctx, ledger, "look")
    answer = ctx.ask("name", Text, message="Who is there?")
    if not answer.accepted:
        return f"Nobody ({answer.action})"
    ctx.step("open", _note, ctx, ledger, "open")
    return f"Hello {answer.value}"


@tool
async def greet_async(ctx: AsyncContext, ledger: str) -> str:
    """Ask for a name between two steps, in a coroutine."""
    await ctx.step("look", _note, ctx, ledger, "look")
    answer = await ctx.ask("name", Text, message="Who is there?")
    await ctx.progress(1, 2, "greeting")
    await ctx.step("open", _note, ctx, ledger, "open")
    return f"Hello {answer.value}"


@tool
def sure(ctx: Context) -> bool:
    """Ask for a yes or a no, and do nothing else."""
    return ctx.ask("sure", Confirm, message="Sure?").accepted


@tool
def report(ctx: Context, gate: str) -> str:
    """Report progress and output, then wait, so that both can be read while the tool runs."""
    for number in range(1, 4):
        ctx.progress(number, 4, f"part {number}")
        ctx.log(f"part {number} of 4 is done")
    ctx.progress(1, 4)
    _wait(gate)
    ctx.log("the end")
    return "reported"


@tool(retries=0)
def use_verb(ctx: Context, verb: Verb, *, too_late: bool = False) -> dict[str, Any] | None:
    """Use one of the explicit verbs, in its order or after the end was decided."""
    if too_late:
        ctx.complete("decided already")
    verbs: dict[Verb, Callable[[], object]] = {
        "set_variable": partial(ctx.set_variable, "colour", {"name": "red", "rgb": [255, 0, 0]}),
        "require_input": partial(ctx.require_input, "Plug it in"),
        "resume": ctx.resume,
        "complete": partial(ctx.complete, {"by": "verb"}),
        "fail": partial(ctx.fail, "The disk is full"),
        "cancel": ctx.cancel,
    }
    verbs[verb]()
    if verb == "set_variable":
        return {"variables": dict(ctx.variables)}
    return {"went": "on"} if verb == "require_input" else None


@tool
def hand_over(ctx: Context, token: str, seconds: float = 30.0) -> str | None:
    """Hand the task over in its first attempt, leaving the handle in a file; end it in the second."""
    if ctx.attempt > 1:
        return "resumed"
    handle = ctx.defer(until=seconds)
    assert isinstance(handle, StoreHandle)
    draft = Path(f"{token}.draft")
    draft.write_text(handle.token())
    draft.rename(token)
    return None


@tool
def three_steps(ctx: Context, ledger: str, gate: str) -> list[str]:
    """Do three steps; the second one waits for the gate."""
    first = ctx.step("one", _note, ctx, ledger, "one")
    second = ctx.step("two", _second, ctx, ledger, gate)
    return [first, second, ctx.step("three", _note, ctx, ledger, "three")]


def _second(ctx: Context, ledger: str, gate: str) -> str:
    _note(ctx, ledger, "two-begun")
    _wait(gate)
    return _note(ctx, ledger, "two")


@tool(steps=("fetch", "sort", "store"))
def pipeline(ctx: Context, ledger: str) -> int:
    """A workflow of three steps whose second fails the first time."""
    numbers = ctx.step("fetch", _fetch, ctx, ledger)
    ordered = ctx.step("sort", _sort, ctx, ledger, numbers)
    return ctx.step("store", len, ordered)


def _fetch(ctx: Context, ledger: str) -> list[int]:
    _note(ctx, ledger, "fetch")
    return [3, 1, 2]


def _sort(ctx: Context, ledger: str, numbers: list[int]) -> list[int]:
    _note(ctx, ledger, "sort")
    if ctx.attempt == 1:
        raise Retryable("the sorter is busy", delay=1.0)
    return sorted(numbers)


@tool
def writes(ctx: Context, ledger: str, gate: str) -> int:
    """Write progress, output and steps until the gate is gone, whatever the database does meanwhile."""
    _note(ctx, ledger, "begun")
    turns = 0
    while Path(gate).exists():
        turns += 1
        ctx.progress(turns)
        time.sleep(LOOK_EVERY)
    return ctx.step("last", _last, ctx, ledger, turns)


def _last(ctx: Context, ledger: str, turns: int) -> int:
    _note(ctx, ledger, "last")
    return turns


@tool
def cooperative(ctx: Context, ledger: str) -> None:
    """Go on for long, but look often whether it was cancelled."""
    _note(ctx, ledger, "begun")
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        ctx.check_cancelled()
        time.sleep(LOOK_EVERY)


@tool
def deaf(ctx: Context, ledger: str) -> None:
    """Sleep for long without ever looking up."""
    _note(ctx, ledger, "begun")
    time.sleep(600)


@tool
def holds_the_lock(ctx: Context, ledger: str) -> None:
    """Match a pattern that takes for ever, in C, holding the interpreter lock all the time."""
    _note(ctx, ledger, "begun")
    re.match(r"(a+)+$", "a" * 60 + "b")


@tool
def until_gate(ctx: Context, ledger: str, gate: str) -> str:
    """Wait for the gate without a word to the context, then end."""
    _note(ctx, ledger, "begun")
    _wait(gate)
    return "through the gate"


@tool
def releasable(ctx: Context, ledger: str, gate: str) -> str:
    """Wait for the gate, or for the worker to shut down, between two steps."""
    ctx.step("begin", _note, ctx, ledger, "begin")
    _note(ctx, ledger, "waiting")
    _wait(gate, unless=lambda: ctx.should_stop)
    return ctx.step("end", _note, ctx, ledger, "end")


@tool(timeout=1, retries=3)
def too_slow(ctx: Context, ledger: str) -> None:
    """Take longer than it may, and stop when it is told."""
    _note(ctx, ledger, "begun")
    _wait("/", unless=lambda: ctx.should_stop)


@tool(timeout=1, retries=0)
def deaf_and_slow(ctx: Context, ledger: str) -> None:
    """Take longer than it may without ever looking up."""
    _note(ctx, ledger, "begun")
    time.sleep(600)


@tool
def changes_its_mind(ctx: Context, ledger: str) -> str:
    """Do another step before its question each time that it starts from the top."""
    ctx.step(f"look-{ctx.attempt}", _note, ctx, ledger, "look")
    ctx.ask("sure", Confirm, message="Sure?")
    return ctx.step("end", _note, ctx, ledger, "end")


@tool(timeout=1, retries=3, retry_on=TimeoutError)
def too_slow_once(ctx: Context, ledger: str) -> str:
    """Take longer than it may the first time only."""
    _note(ctx, ledger, "begun")
    if ctx.attempt == 1:
        _wait("/", unless=lambda: ctx.should_stop)
    return "in time"


@tool(retries=2)
def flaky(ctx: Context, failures: int) -> str:
    """Fail so often, each time to be tried again."""
    if ctx.attempt <= failures:
        raise Retryable(f"failure {ctx.attempt}", delay=0.05)
    return f"attempt {ctx.attempt}"


@tool(retries=1, retry_on=ConnectionError)
def refused() -> None:
    """Fail with an error that the tool lists as one to try again."""
    raise ConnectionRefusedError("nobody listens there")


@tool
def breaks() -> None:
    """Fail with an error that is not tried again."""
    raise KeyError("a secret of the code")


@tool
def protocol_error() -> None:
    """Fail with a protocol error."""
    raise RpcError(-32050, "No such account", {"account": 7})


@tool
def poison(ctx: Context, ledger: str) -> None:
    """Take the whole process down."""
    _note(ctx, ledger, "begun")
    os._exit(137)


@tool(concurrency=1)
def one_at_a_time(ctx: Context, ledger: str) -> None:
    """Be there for a moment, never twice at once."""
    _note(ctx, ledger, "enter")
    time.sleep(0.1)
    _note(ctx, ledger, "leave")


@tool
def enters_and_leaves(ctx: Context, ledger: str) -> None:
    """Be there for a moment."""
    _note(ctx, ledger, "enter")
    time.sleep(0.05)
    _note(ctx, ledger, "leave")


@tool(approval="operator")
def asks_twice(ctx: Context) -> str:
    """Ask under the name that the approval has, too."""
    return f"approved, and {ctx.ask('approval', Confirm, message='Really?').action}"
