"""The database as the endpoint uses it: the process's own pool for plans, a thread for everything else.

The pool is opened and closed with the server (`opened`). It hands out a connection only after it was seen to work, so a
restart of the database costs the requests of that moment, never the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections

from tasks_app.store import aio
from tasks_app.store.db import Plan

P = ParamSpec("P")
T = TypeVar("T")

_current: aio.Pool | None = None


@asynccontextmanager
async def opened() -> AsyncIterator[None]:
    """The pool of this process for as long as the block lasts; a database that is away now may come later."""
    global _current  # noqa: PLW0603 - one pool a process
    pool = await aio.open_pool()
    before, _current = _current, pool
    try:
        yield
    finally:
        _current = before
        await pool.close()


async def run(plan: Plan[T]) -> T:
    """Carry out a plan of the store on the pool. Raises StorageUnavailable when the database cannot be used."""
    if _current is None:
        raise RuntimeError("The pool is not open: the server answers only between lifespan startup and shutdown.")
    return await aio.run(plan, _current)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that waits, such as one of the store, without holding up the event loop."""
    return await asyncio.to_thread(_with_own_connection, partial(function, *args, **kwargs))


def _with_own_connection(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        # Threads come and go: a connection that stays behind would be one too many for the database.
        connections.close_all()
