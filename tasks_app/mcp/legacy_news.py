"""The standing stream of 2025-11-25 (a GET): where the owner's tasks stand, whenever one of them moves.

It is the only stream that tells so: the one that waits for a task gets its questions, its progress and its end.
The bus says which task to look at, and may say nothing at all: so the owner's tasks are also read again now and then.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from datetime import datetime
from uuid import UUID

from tasks_app import bus
from tasks_app.domain.errors import StorageUnavailable
from tasks_app.domain.status import Status
from tasks_app.mcp import pool
from tasks_app.mcp.call import Call, Event, Message, StreamItem
from tasks_app.mcp.legacy_shapes import has_tasks, shown
from tasks_app.mcp.waiting import REREAD_SECONDS, STEP_SECONDS, Seen, look
from tasks_app.store.follow import standing_plan

REMEMBERED_TASKS = 1_000


def _status(seen: Seen) -> Message:
    """The notification of where a task stands."""
    return {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": shown(seen.task)}


async def news(call: Call) -> AsyncGenerator[StreamItem, None]:
    """Every move of a task of the owner from the first item on, until the client or the server leaves."""
    async with bus.listening(bus.owner_group(call.caller.owner_id)) as inbox:
        moves = _Moves(call.caller.owner_id)
        await moves.begin()
        # Says nothing, but opens the stream: whatever moves from here on is told.
        yield Event()
        while not call.request.stopping.is_set():
            heard = await inbox.get(STEP_SECONDS)
            if not has_tasks(call):
                continue
            for seen in await moves.after(heard):
                yield _status(seen)


class _Moves:
    """The tasks of an owner, and which of them have another status than was last told; each begins as working."""

    def __init__(self, owner_id: int) -> None:
        self._owner_id = owner_id
        self._told: dict[UUID, Status] = {}
        self._live: set[UUID] = set()
        self._since: datetime | None = None
        self._reread_at = 0.0

    async def begin(self) -> None:
        """Take how things stand now for known."""
        for task_id, status in await self._standing():
            self._remember(task_id, status)

    async def after(self, heard: Message | None) -> list[Seen]:
        """What has moved: the task that a message names, and, when it is time for that, all that a reading shows."""
        named = [] if heard is None else [UUID(heard["id"])]
        others = await self._candidates() if time.monotonic() >= self._reread_at else []
        return await self._moved([*named, *others])

    async def _candidates(self) -> list[UUID]:
        """The tasks that stand elsewhere than was told, and those that were live at the last reading only."""
        before = self._live
        standing = await self._standing()
        moved = [task_id for task_id, status in standing if self._told.get(task_id, Status.WORKING) is not status]
        return [*moved, *(before - self._live - set(moved))]

    async def _standing(self) -> list[tuple[UUID, Status]]:
        self._reread_at = time.monotonic() + REREAD_SECONDS
        try:
            found = await pool.run(standing_plan(owner_id=self._owner_id, since=self._since))
        except StorageUnavailable:
            return []  # the next reading will tell
        self._since = found.at
        self._live = {task_id for task_id, status in found.tasks if not status.is_terminal}
        return found.tasks

    async def _moved(self, task_ids: Iterable[UUID]) -> list[Seen]:
        found = []
        for task_id in task_ids:
            seen = await self._look(task_id)
            # Of the hidden task of a call its client knows nothing.
            if seen is None or seen.task.waiting or self._told.get(task_id, Status.WORKING) is seen.task.status:
                continue
            self._remember(task_id, seen.task.status)
            found.append(seen)
        return found

    async def _look(self, task_id: UUID) -> Seen | None:
        try:
            return await look(task_id, owner_id=self._owner_id)
        except StorageUnavailable:
            return None

    def _remember(self, task_id: UUID, status: Status) -> None:
        self._told.pop(task_id, None)
        self._told[task_id] = status
        if len(self._told) > REMEMBERED_TASKS:
            del self._told[next(iter(self._told))]
