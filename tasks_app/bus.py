"""The live bus: says on the Channels layer that something changed, and waits for such news. It carries no truth.

A message names a task and its version; whoever hears it reads again. Announcing never waits and never fails: messages
leave from an event loop in a thread of its own, one for each process, and what cannot be sent is dropped. So every
waiter must also read again now and then. Nothing here knows the store or its tables.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from channels.layers import get_channel_layer

from tasks_app.layer import OneTripLayer

Message: TypeAlias = dict[str, Any]

# Groups for changes of everybody's tasks, which are told together now and then: that there are some, and which.
STATS = "stats"
EVERYONE = "everyone"
EVERYONE_INBOX = "everyone.inbox"
STATS_SECONDS = 0.5
TOGETHER = 200
SEND_SECONDS = 2.0
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 2.0
WARN_SECONDS = 10.0
# Changes that wait to be announced, and messages that wait to be read; the oldest give way.
BACKLOG = 10_000
INBOX = 1_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a task: its version and status now, and whether its questions are others than before."""

    task_id: UUID
    owner_id: int
    version: int
    status: str
    questions: bool


def task_group(task_id: UUID | str) -> str:
    """Who follows one task."""
    return f"task.{task_id}"


def owner_group(owner_id: int) -> str:
    """Who follows all tasks of an owner."""
    return f"owner.{owner_id}"


def inbox_group(owner_id: int) -> str:
    """Who follows the questions of an owner."""
    return f"inbox.{owner_id}"


def announce(change: Change) -> None:
    """Tell everyone who listens, soon and at best; takes microseconds and never raises, whatever the broker does."""
    try:
        _announcer().put(change)
    except Exception as error:  # the change is committed: its caller must not fail for want of an audience
        _warn("a change could not be announced: %r", error)


def close() -> None:
    """Send what waits, briefly, and end the thread; a later announcement starts another."""
    global _current
    with _lock:
        announcer, _current = _current, None
    if announcer is not None:
        announcer.close()


def _messages(change: Change) -> Iterator[tuple[str, Message]]:
    task_id = str(change.task_id)
    changed: Message = {"type": "task.changed", "id": task_id, "v": change.version, "st": change.status}
    yield task_group(task_id), changed
    yield owner_group(change.owner_id), changed
    if change.questions:
        yield inbox_group(change.owner_id), {"type": "inbox.changed", "id": task_id}


def _together(changes: list[Change]) -> Iterator[tuple[str, Message]]:
    yield STATS, {"type": "stats.changed"}
    for start in range(0, len(changes), TOGETHER):
        some = changes[start : start + TOGETHER]
        tasks = [{"id": str(each.task_id), "v": each.version, "st": each.status} for each in some]
        yield EVERYONE, {"type": "tasks.changed", "tasks": tasks}
    if any(change.questions for change in changes):
        yield EVERYONE_INBOX, {"type": "inbox.changed"}


class _Announcer:
    """The backlog of a process, and the thread whose event loop sends it."""

    def __init__(self) -> None:
        # Imported in the caller's thread: a process that forks while another thread imports leaves its child stuck.
        get_channel_layer()
        # None is the last one: nothing comes after it.
        self._backlog: deque[Change | None] = deque(maxlen=BACKLOG)
        self._is_woken = False
        self._loop = asyncio.new_event_loop()
        self._arrived = asyncio.Event()
        self._told: deque[Change] = deque(maxlen=BACKLOG)
        self._has_told = asyncio.Event()
        self.has_ended = False
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="bus", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # too many threads, or the process is ending
            self._loop.close()
            raise

    def put(self, change: Change | None) -> None:
        """Queue a change; when the backlog is full, the oldest is lost."""
        if len(self._backlog) == BACKLOG:
            _warn("changes come faster than they can be announced: the oldest are dropped")
        self._backlog.append(change)
        # Waking the loop costs a system call, so once is enough until it looks.
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._arrived.set)

    def close(self) -> None:
        """End the thread once everything queued is sent, or after a moment."""
        self._is_closing = True
        with suppress(RuntimeError):  # it has ended already
            self.put(None)
            self._thread.join(CLOSE_SECONDS)
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            with suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._send_all())
        finally:
            self.has_ended = True
            self._loop.close()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _send_all(self) -> None:
        summing_up = asyncio.create_task(self._sum_up())
        try:
            while await self._send_backlog():
                await self._arrived.wait()
                self._arrived.clear()
                self._is_woken = False
        finally:
            summing_up.cancel()
            await asyncio.gather(summing_up, return_exceptions=True)
            await self._send_told()

    async def _send_backlog(self) -> bool:
        """Send what is queued; says whether more may come."""
        while self._backlog:
            changes = [self._backlog.popleft() for _ in range(min(len(self._backlog), TOGETHER))]
            some = [change for change in changes if change is not None]
            self._told.extend(some)
            self._has_told.set()
            has_gone_out = await _send_each([message for change in some for message in _messages(change)])
            if None in changes or (self._is_closing and not has_gone_out):
                return False
            if not has_gone_out:
                # A broker that is down is not asked in a hurry.
                await asyncio.sleep(RETRY_SECONDS)
        return True

    async def _sum_up(self) -> None:
        while True:
            await self._has_told.wait()
            await self._send_told()
            await asyncio.sleep(STATS_SECONDS)

    async def _send_told(self) -> None:
        self._has_told.clear()
        told = list(self._told)
        self._told.clear()
        if told:
            await _send_each(_together(told))


async def _send_each(messages: Iterable[tuple[str, Message]]) -> bool:
    """Send, in one round trip where the layer can, until one fails; says whether all went out."""
    try:
        layer = get_channel_layer()
        if layer is None:
            return True
        if isinstance(layer, OneTripLayer):
            layer.group_send_all(messages)  # this loop is the announcer's own: nobody else waits for it
            return True
        for group, message in messages:
            async with asyncio.timeout(SEND_SECONDS):
                await layer.group_send(group, message)
    except Exception as error:
        _warn("the live bus cannot be reached, pages update late: %r", error)
        return False
    return True


_current: _Announcer | None = None
_lock = threading.Lock()
_warned: dict[str, float] = {}


def _announcer() -> _Announcer:
    global _current  # noqa: PLW0603 - one announcer a process
    announcer = _current
    if announcer is not None and not announcer.has_ended:
        return announcer
    with _lock:
        if _current is None or _current.has_ended:
            _current = _Announcer()
        return _current


def _forget_after_fork() -> None:
    # The thread stayed in the parent, and the lock may be held by a thread that did too.
    global _current, _lock
    _current, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(close)


def _warn(text: str, *values: object) -> None:
    """Log a warning, each text at most every few seconds."""
    now = time.monotonic()
    if now - _warned.get(text, -WARN_SECONDS) >= WARN_SECONDS:
        _warned[text] = now
        logger.warning(text, *values)


class Inbox:
    """What was announced to some groups since the listening began."""

    def __init__(self, groups: tuple[str, ...]) -> None:
        self._groups = groups
        self._messages: asyncio.Queue[Message] = asyncio.Queue(maxsize=INBOX)
        self._has_tried = asyncio.Event()

    async def get(self, seconds: float) -> Message | None:
        """The next message, or None after so many seconds: time to read again anyway."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._messages.get()
        return None

    async def follow(self) -> None:
        """Keep the subscription until cancelled, through any outage of the broker."""
        while True:
            try:
                await self._receive()
            except Exception as error:
                _warn("the live bus cannot be heard, waiting callers only poll: %r", error)
                self._has_tried.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def opened(self) -> None:
        """Return when the subscription stands, or as soon as it is known that there is none for now."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SEND_SECONDS):
                await self._has_tried.wait()

    async def _receive(self) -> None:
        layer = get_channel_layer()
        if layer is None:
            self._has_tried.set()
            await asyncio.get_running_loop().create_future()
        # A subscription that fails leaves a queue behind in the layer, so ask first whether the broker is there.
        await asyncio.wait_for(layer.group_send("nobody", {"type": "hello"}), SEND_SECONDS)
        channel = await layer.new_channel()
        try:
            for group in self._groups:
                await layer.group_add(group, channel)
            self._has_tried.set()
            while True:
                self._keep(await layer.receive(channel))
        finally:
            for group in self._groups:
                with suppress(Exception):
                    await layer.group_discard(group, channel)

    def _keep(self, message: Message) -> None:
        if self._messages.full():
            self._messages.get_nowait()
        self._messages.put_nowait(message)


@asynccontextmanager
async def listening(*groups: str) -> AsyncIterator[Inbox]:
    """Hear what is announced to these groups from here on; without a broker it is merely silent."""
    inbox = Inbox(groups)
    following = asyncio.create_task(inbox.follow())
    try:
        await inbox.opened()
        yield inbox
    finally:
        following.cancel()
        _, still_leaving = await asyncio.wait({following}, timeout=SEND_SECONDS)
        for task in still_leaving:  # the broker does not answer: leave without saying so
            task.cancel()
