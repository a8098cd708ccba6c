"""The tools of the chaos run. Each writes what it does to the ledger, so that nothing that happened can be denied."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tasks_app.engine import AsyncContext, Confirm, Context, Retryable, tool
from tests.ledger import note

PART_SECONDS = 0.03


def _do(ctx: Context, ledger: str, what: str, seconds: float = PART_SECONDS) -> str:
    time.sleep(seconds)
    return note(ledger, task_id=ctx.task_id, attempt=ctx.attempt, what=what)


@tool
def work(ctx: Context, ledger: str, parts: int = 4) -> list[str]:
    """Do some parts one after the other, and say how far it is."""
    done = []
    for number in range(parts):
        done.append(ctx.step(f"part-{number}", _do, ctx, ledger, f"part-{number}"))
        ctx.progress(number + 1, parts, f"part {number + 1} of {parts}")
    return done


@tool
async def work_async(ctx: AsyncContext, ledger: str) -> list[str]:
    """Do two parts in a coroutine."""
    first = await ctx.step("first", _do, ctx, ledger, "first")
    await ctx.log("half of it")
    return [first, await ctx.step("second", _do, ctx, ledger, "second")]


@tool
def talk(ctx: Context, ledger: str) -> list[str]:
    """Ask between two parts."""
    before = ctx.step("before", _do, ctx, ledger, "before")
    said = ctx.ask("sure", Confirm, message="Sure?")
    return [before, said.action.value, ctx.step("after", _do, ctx, ledger, "after")]


@tool
def hurry(ctx: Context, ledger: str) -> list[str]:
    """Ask with a deadline that comes soon, and take no answer for a no."""
    before = ctx.step("before", _do, ctx, ledger, "before")
    said = ctx.ask("sure", Confirm, message="Quick, sure?", deadline=0.5, default="decline")
    return [before, said.action.value, ctx.step("after", _do, ctx, ledger, "after")]


@tool(retries=5)
def flaky(ctx: Context, ledger: str) -> str:
    """Fail the first time, to be tried again."""
    if ctx.attempt == 1:
        raise Retryable("not yet", delay=0.2)
    return ctx.step("only", _do, ctx, ledger, "only")


@tool(retries=12)
def storm(ctx: Context, ledger: str, down: str) -> str:
    """Need something that is down while a file exists."""
    if Path(down).exists():
        raise Retryable("it is down")
    return ctx.step("only", _do, ctx, ledger, "only")


@tool
def poison(ctx: Context, ledger: str) -> None:
    """Take the whole process down."""
    note(ledger, task_id=ctx.task_id, attempt=ctx.attempt, what="swallowed")
    os._exit(137)


@tool
def stubborn(ctx: Context, ledger: str) -> None:
    """Sleep for long and never look up."""
    note(ledger, task_id=ctx.task_id, attempt=ctx.attempt, what="asleep")
    time.sleep(600)
