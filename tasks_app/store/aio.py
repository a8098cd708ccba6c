"""The store's plans on a pool of asynchronous connections: for the web process, which must not hop threads on a hot path.

Only the way to the database lives here. What is asked and what the answer means stands in the plans.
"""

from __future__ import annotations

import asyncio
import select
import socket
from typing import Any, TypeAlias, TypeVar

import psycopg
from django.db import connection
from psycopg_pool import AsyncConnectionPool

from tasks_app.store.db import Atomic, Plan, Query, has_rows, translate

T = TypeVar("T")
Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]

# Short: a pool that has given up tries again with the next request, one that has not may be asleep when the database is back.
RECONNECT_SECONDS = 3.0
# Every statement of the pool finds a few rows by an index, so one plan serves all values, and planning costs as much as
# running it. Made while the tables are still empty, that plan must not be to read them whole.
PLANNED_ONCE = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off"
# For a plan as a whole. Above the server's own limit for a statement, which is told; this one is for a server that tells nothing.
ANSWER_SECONDS = 5.5


class Pool(AsyncConnectionPool[Connection]):
    """A pool that gives out the connection that came back last.

    Its server process still has at hand what it needs. In turn, as the library does it, each of those that a burst has
    left behind would be asked now and then, and find all of it cold.
    """

    async def _get_ready_connection(self, timeout: float | None) -> Connection | None:  # noqa: ASYNC109 - as it is there
        self._pool.rotate()
        return await super()._get_ready_connection(timeout)


async def open_pool(*, min_size: int = 2, max_size: int = 16, patience: float = 5.0) -> Pool:
    """A pool on Django's database, with its options; who needs a connection waits for it so many seconds at most.

    It opens without waiting: a database that is down may come later.
    """
    pool = Pool(
        kwargs=_parameters(),
        min_size=min_size,
        max_size=max_size,
        timeout=patience,
        reconnect_timeout=RECONNECT_SECONDS,
        open=False,
        name="taskdeck",
    )
    await pool.open()
    return pool


def _parameters() -> dict[str, Any]:
    parameters = connection.get_connection_params()
    # Django's own cursors and adapters are for its synchronous connection.
    for name in ("context", "cursor_factory"):
        parameters.pop(name, None)
    options = f"{parameters.get('options') or ''} -c timezone=UTC {PLANNED_ONCE}".strip()
    # A plan of one statement is its own transaction, so that it costs one round trip.
    return {**parameters, "options": options, "autocommit": True, "prepare_threshold": 0}


async def run(plan: Plan[T], pool: Pool) -> T:
    """Carry out a plan on a connection of the pool and give what it returns. Raises what `db.run` would.

    A database that takes the question and never answers is one that is away: then StorageUnavailable, within seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ANSWER_SECONDS
    try:
        taken = await _take(pool)
        # To cancel the waiting task instead would make the driver ask the same silent server to cancel the statement.
        timer = loop.call_at(deadline, _hang_up, taken)
        try:
            return await _drive(plan, taken)
        finally:
            timer.cancel()
            await pool.putconn(taken)
    except psycopg.Error as error:
        raise translate(error) from error


async def _take(pool: Pool) -> Connection:
    """A connection that was not closed while it lay in the pool: after a restart of the database all of them were."""
    while True:
        taken = await pool.getconn()
        if not _has_something_to_say(taken):
            return taken
        await taken.close()
        await pool.putconn(taken)


def _has_something_to_say(idle: Connection) -> bool:
    # The server speaks to an idle connection only to say goodbye. Asking the socket costs no round trip, unlike a query.
    poller = select.poll()
    poller.register(idle.fileno(), select.POLLIN)
    return bool(poller.poll(0))


def _hang_up(taken: Connection) -> None:
    """End the connection: its statement then fails as after any lost connection."""
    with socket.socket(fileno=socket.dup(taken.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


async def _drive(plan: Plan[T], taken: Connection) -> T:
    try:
        request = next(plan)
        while True:
            request = plan.send(await _answer(request, taken))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def _answer(request: Query | Atomic, taken: Connection) -> Any:
    if isinstance(request, Query):
        cursor = await taken.execute(request.text, request.params)
        return await cursor.fetchall() if has_rows(cursor.pgresult) else []
    async with taken.transaction():
        return await _drive(request.plan, taken)
