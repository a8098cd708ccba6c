"""A workflow: planned steps, of which the second fails at first, and which goes on from there."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Annotated

from pydantic import BaseModel, Field

from tasks_app.engine import Context, Retryable, ToolError, tool
from tasks_app.tools.demo.pace import Seconds, linger

REGIONS = ("north", "south", "east", "west")
PAUSE_SHARE = 0.25


class Loaded(BaseModel):
    """What the workflow has done."""

    orders: int
    total: int
    attempts: int


@tool(title="Nightly workflow", expected=15, steps=("extract", "transform", "load", "verify"), retries=2)
def nightly_workflow(
    ctx: Context,
    orders: Annotated[int, Field(ge=1, le=50_000, description="How many orders the day had.")] = 2_000,
    seconds: Seconds = 12,
) -> Loaded:
    """Extract a day's orders, sum them by region, load the sums and verify them.

    Shows a workflow that continues: the second step fails at its first try, the task is tried again a moment later, and
    the step before it is not repeated.
    """
    pace = seconds * PAUSE_SHARE

    def transform(amounts: list[int]) -> dict[str, int]:
        if ctx.attempt == 1:
            raise Retryable("The currency rates are not published yet.", delay=pace)
        return _by_region(amounts)

    ctx.progress(0, 4, "Extracting")
    amounts = ctx.step("extract", _extract, orders)
    linger(ctx, pace)
    ctx.progress(1, 4, "Transforming")
    sums = ctx.step("transform", transform, amounts)
    linger(ctx, pace)
    ctx.progress(2, 4, "Loading")
    total = ctx.step("load", _load, sums)
    linger(ctx, pace)
    ctx.progress(3, 4, "Verifying")
    ctx.step("verify", _verify, amounts, total)
    ctx.progress(4, 4, "Verified")
    return Loaded(orders=orders, total=total, attempts=ctx.attempt)


def _extract(orders: int) -> list[int]:
    day = random.Random(orders)  # noqa: S311 - the day must be the same each time
    return [day.randint(100, 20_000) for _ in range(orders)]


def _by_region(amounts: list[int]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for number, amount in enumerate(amounts):
        sums[REGIONS[number % len(REGIONS)]] += amount
    return dict(sums)


def _load(sums: dict[str, int]) -> int:
    with closing(sqlite3.connect(":memory:")) as warehouse, warehouse:
        warehouse.execute("CREATE TABLE sales (region TEXT PRIMARY KEY, cents INTEGER NOT NULL)")
        warehouse.executemany("INSERT INTO sales VALUES (?, ?)", sums.items())
        [total] = warehouse.execute("SELECT sum(cents) FROM sales").fetchone()
    return int(total)


def _verify(amounts: list[int], total: int) -> bool:
    if sum(amounts) != total:
        raise ToolError(f"The warehouse holds {total}, and the orders add up to {sum(amounts)}. Load the day again.")
    return True
