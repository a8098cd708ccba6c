"""Spreading work over time, so that it can be watched, without ever being deaf to a cancel."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

from pydantic import Field

from tasks_app.engine import AsyncContext, Context

SLICE_SECONDS = 0.25

Seconds = Annotated[float, Field(ge=0, le=120, description="Over how many seconds the work is spread.")]


def linger(ctx: Context, seconds: float) -> None:
    """Wait, and end the run within a moment when the task is cancelled."""
    until = time.monotonic() + seconds
    while True:
        ctx.check_cancelled()
        remaining = until - time.monotonic()
        if remaining <= 0:
            return
        time.sleep(min(remaining, SLICE_SECONDS))


async def linger_async(ctx: AsyncContext, seconds: float) -> None:
    """The same for an async tool: others go on meanwhile."""
    until = time.monotonic() + seconds
    while True:
        await ctx.check_cancelled()
        remaining = until - time.monotonic()
        if remaining <= 0:
            return
        await asyncio.sleep(min(remaining, SLICE_SECONDS))
