"""The hot paths of the endpoint: what arrives while a statement is under way forms the next one.

Nobody waits for company: a request that comes alone goes alone. What goes wrong in a batch is tried again one by one,
so that nobody hears of another's fault.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from uuid import UUID

from tasks_app.domain.errors import StorageUnavailable
from tasks_app.engine.registry import registry
from tasks_app.mcp import background, pool
from tasks_app.store import batches, sessions
from tasks_app.store.batches import Alone, Asked, Named
from tasks_app.store.create import Created, NewTask, create_plan
from tasks_app.store.db import Plan
from tasks_app.store.fetch import Fetched, fetch_plan
from tasks_app.store.identity import Caller, authenticate_plan
from tasks_app.store.queries import Poll, poll_plan
from tasks_app.store.sessions import SessionView

MOST = 64

K = TypeVar("K")
V = TypeVar("V")


class Lane(Generic[K, V]):
    """Asks the database for many things of one kind with few statements, so many of them at a time."""

    def __init__(
        self,
        one: Callable[[K], Plan[V]],
        many: Callable[[Sequence[K]], Plan[Sequence[V | Alone]]],
        *,
        width: int = 1,
    ) -> None:
        self._one = one
        self._many = many
        self._width = width
        self._under_way = 0
        self._waiting: deque[tuple[K, asyncio.Future[V]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, key: K) -> V:
        """What the plan for this one gives, or raises."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # A new server in this process: what another event loop left unanswered, nobody waits for.
            self._loop, self._under_way = loop, 0
            self._waiting.clear()
        answer: asyncio.Future[V] = loop.create_future()
        self._waiting.append((key, answer))
        if self._under_way < self._width:
            self._under_way += 1
            background.spawn(self._work())
        return await answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                some = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))]
                # Who went away in the meantime wants nothing any more.
                await self._answer([(key, answer) for key, answer in some if not answer.done()])
        finally:
            self._under_way -= 1

    async def _answer(self, asked: list[tuple[K, asyncio.Future[V]]]) -> None:
        if len(asked) <= 1:
            for key, answer in asked:
                await self._answer_alone(key, answer)
            return
        try:
            found: Sequence[V | Alone] = await pool.run(self._many([key for key, _ in asked]))
        except StorageUnavailable as outage:
            for _, answer in asked:
                _fail(answer, outage)
            return
        except Exception:  # the fault of one of them, which the single plans will name
            found = [batches.ALONE] * len(asked)
        left = []
        for (key, answer), value in zip(asked, found, strict=True):
            if isinstance(value, Alone):
                left.append(self._answer_alone(key, answer))
            elif not answer.done():
                answer.set_result(value)
        await asyncio.gather(*left)

    async def _answer_alone(self, key: K, answer: asyncio.Future[V]) -> None:
        try:
            value = await pool.run(self._one(key))
        except Exception as error:
            _fail(answer, error)
        else:
            if not answer.done():
                answer.set_result(value)


def _fail(answer: asyncio.Future[V], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


def _poll_one(asked: Asked) -> Plan[Poll | None]:
    return poll_plan(*asked, planned=registry.planned())


def _poll_many(asked: Sequence[Asked]) -> Plan[list[Poll | None]]:
    return batches.poll_many(asked, planned=registry.planned())


def _find_one(named: Named) -> Plan[SessionView | None]:
    return sessions.find_session(named[0], owner_id=named[1])


_polls: Lane[Asked, Poll | None] = Lane(_poll_one, _poll_many, width=2)
_callers: Lane[str, Caller | None] = Lane(authenticate_plan, batches.authenticate_many)
_sessions: Lane[Named, SessionView | None] = Lane(_find_one, batches.find_sessions)
_creates: Lane[NewTask, Created] = Lane(create_plan, batches.create_many)
_fetches: Lane[Fetched, bool] = Lane(fetch_plan, batches.fetch_many)


async def poll(token: str, task_id: UUID) -> Poll | None:
    """Who presents this token and the task if it is theirs; None for a token that is not in force."""
    return await _polls.ask((token, task_id))


async def authenticate(token: str) -> Caller | None:
    """Who presents this token; None for an unknown, expired or revoked one."""
    return await _callers.ask(token)


async def find_session(id_: str, *, owner_id: int) -> SessionView | None:
    """The session of this owner; None for one that is unknown, ended or another's."""
    return await _sessions.ask((id_, owner_id))


async def create(new: NewTask) -> Created:
    """Store a call as a task that is due, or find the one that its key already made. Raises what `create` raises."""
    return await (_creates.ask(new) if batches.is_plain(new) else pool.run(create_plan(new)))


async def note_fetch(fetched: Fetched) -> None:
    """Record that the outcome of a finished task was read; when it is due again is the store's rule."""
    await _fetches.ask(fetched)
