"""Waiting for tasks: what they are now, and again after every change, heard from the bus and read from the database.

The bus only says that something happened, and may say nothing at all: so everything is also read again now and then.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from tasks_app import bus
from tasks_app.domain.status import Status
from tasks_app.engine.registry import registry
from tasks_app.mcp import pool, wire
from tasks_app.mcp.call import Call, Message
from tasks_app.mcp.notices import Notices
from tasks_app.store.follow import follow_plan
from tasks_app.store.queries import open_questions_plan
from tasks_app.store.rows import QuestionView, Snapshot

REREAD_SECONDS = 2.0
# How long at most until a stop of the server is noticed.
STEP_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Seen:
    """A task with its payload as one reading saw it, and what it asks its client then."""

    task: Snapshot
    questions: tuple[QuestionView, ...] = ()

    @property
    def is_final(self) -> bool:
        """Say whether nothing more will happen to the task."""
        return self.task.status.is_terminal


class Watch:
    """Tasks of one owner under watch; the bus is heard from before the first reading on."""

    def __init__(self, inbox: bus.Inbox, task_ids: Collection[UUID], *, owner_id: int) -> None:
        self._inbox = inbox
        self._live = dict.fromkeys(task_ids)
        self._owner_id = owner_id
        self._versions: dict[UUID, int] = {}
        self._reread_at = 0.0

    async def changes(self, call: Call, *, seconds: float | None = None) -> AsyncGenerator[Seen, None]:
        """Each task now and after every change. Ends when all have ended, when time is up, or when the server stops."""
        deadline = None if seconds is None else time.monotonic() + seconds
        due = self._all()
        while True:
            for task_id in due:
                seen = await self._look(task_id)
                if seen is not None:
                    yield seen
            if not self._live or call.request.stopping.is_set() or _is_past(deadline):
                return
            due = await self._news(call, deadline)

    async def _look(self, task_id: UUID) -> Seen | None:
        """What is new about a task; a task that is gone, or at its end, is not looked at again."""
        if task_id not in self._live:
            return None
        seen = await look(task_id, owner_id=self._owner_id)
        if seen is None or seen.is_final:
            del self._live[task_id]
        if seen is None or self._versions.get(task_id) == seen.task.version:
            return None
        self._versions[task_id] = seen.task.version
        return seen

    async def _news(self, call: Call, deadline: float | None) -> list[UUID]:
        """Which tasks to read again: those that were announced, or after a while all of them."""
        # A fixed time: news of one task must not put off the look at the others, whose news may be lost.
        until = self._reread_at if deadline is None else min(self._reread_at, deadline)
        while not call.request.stopping.is_set():
            left = until - time.monotonic()
            if left <= 0:
                break
            message = await self._inbox.get(min(left, STEP_SECONDS))
            if message is not None:
                return [task_id for task_id in self._live if str(task_id) == message.get("id")]
        return self._all()

    def _all(self) -> list[UUID]:
        """Every task that is still watched; it will be a while until all are read again."""
        self._reread_at = time.monotonic() + REREAD_SECONDS
        return list(self._live)


@asynccontextmanager
async def watching(*task_ids: UUID, owner_id: int) -> AsyncIterator[Watch]:
    """Hear of every change of these tasks from here on; they must be the owner's."""
    async with bus.listening(*map(bus.task_group, task_ids)) as inbox:
        yield Watch(inbox, task_ids, owner_id=owner_id)


async def look(task_id: UUID, *, owner_id: int) -> Seen | None:
    """A task as it is now, even past its time, with what it asks its client; None when the owner has no such task."""
    task = await pool.run(follow_plan(task_id, owner_id=owner_id, planned=registry.planned()))
    if task is None or task.status is not Status.INPUT_REQUIRED:
        return None if task is None else Seen(task)
    return Seen(task, tuple(wire.for_clients(await pool.run(open_questions_plan(task_id)))))


async def until_settled(
    call: Call, task_id: UUID, *, seconds: float, known: Collection[str] = (), notices: Notices | None = None
) -> AsyncGenerator[Message | Seen, None]:
    """Wait for a task of the caller: yields its progress as notifications and, last, what the wait ended with.

    That is its end, a question whose key is not `known`, or, when the time is up or the server stops, where it stands.
    Nothing comes last only when the task is gone.
    """
    notices = notices or Notices(call)
    last: Seen | None = None
    async with (
        watching(task_id, owner_id=call.caller.owner_id) as watch,
        aclosing(watch.changes(call, seconds=seconds)) as changes,
    ):
        async for last in changes:
            for message in notices.row(last.task):
                yield message
            if last.is_final or any(asked.key not in known for asked in last.questions):
                break
    if last is not None:
        yield last


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
