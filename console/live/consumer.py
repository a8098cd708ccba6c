"""One socket: who it is, what it hears, and when it has to end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import IntEnum
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from channels.exceptions import DenyConnection
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.core.exceptions import PermissionDenied
from pydantic import ValidationError

from console.access import Role
from console.live.news import next_news
from console.live.origin import is_from_our_pages
from console.live.pace import Pace
from console.live.session import principal_in, session_key_of
from console.live.watching import Wanted, Watching, resolve
from tasks_app import bus

T = TypeVar("T")

CHECK_SECONDS = 3.0
SEND_SECONDS = 10.0
MOST_CHARACTERS = 16_384
BURST = 20
PER_SECOND = 5.0
# What the server raises when the browser went away while we spoke.
GONE = (OSError, RuntimeError)

logger = logging.getLogger(__name__)

# Threads of their own: the looks of many sockets must not queue behind a page, nor take all connections.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="live")


class Ended(IntEnum):
    """Why we close a socket."""

    NOT_TEXT = 1003
    """It sent bytes."""

    NOT_UNDERSTOOD = 1007
    """It sent what is no message of ours."""

    TOO_FAST = 1008
    """It talks faster than it may."""

    TOO_LONG = 1009
    """It sent more than any message of ours needs."""

    FAULT = 1011
    """Something of ours went wrong; it may come again."""

    TOO_SLOW = 1013
    """It does not read what is sent to it."""

    SIGNED_OUT = 4401
    """There is no session behind it, or no active account."""

    ROLE_CHANGED = 4403
    """What it was allowed to hear, it no longer is."""


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """The socket of one tab."""

    # News comes through the bus, which outlives an outage of the broker; a channel of the socket's own would not.
    channel_layer_alias = "none"

    def __init__(self, *, check_seconds: float = CHECK_SECONDS, send_seconds: float = SEND_SECONDS) -> None:
        super().__init__()
        self._check_seconds = check_seconds
        self._send_seconds = send_seconds
        self._session = ""
        self._roles: frozenset[Role] = frozenset()
        self._pace = Pace(burst=BURST, per_second=PER_SECOND)
        self._following: asyncio.Task[None] | None = None
        self._guarding: asyncio.Task[None] | None = None
        self._has_ended = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket, and leave nothing running behind it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._has_ended = True
            await _stop(self._guarding, self._following)

    async def connect(self) -> None:
        """Refuse a page of another site; tell one without a session so in a way that it can read."""
        if not is_from_our_pages(self.scope["headers"]):
            raise DenyConnection
        await self.accept()
        self._session = session_key_of(self.scope["headers"])
        try:
            await _look(principal_in, self._session)
        except _Refused as refused:
            await self._end(refused.why)
            return
        self._guarding = asyncio.create_task(self._guard())

    async def receive(self, *, text_data: str | None = None, **_: Any) -> None:
        """Take in what the tab wants to hear; whatever is no such message ends the socket."""
        if self._has_ended:
            return
        try:
            watching = await _look(resolve, self._session, self._read(text_data))
        except _Refused as refused:
            await self._end(refused.why)
            return
        self._roles = watching.roles
        await _stop(self._following)
        self._following = asyncio.create_task(self._follow(watching))

    def _read(self, text: str | None) -> Wanted:
        if not self._pace.allows():
            raise _Refused(Ended.TOO_FAST)
        if text is None:
            raise _Refused(Ended.NOT_TEXT)
        if len(text) > MOST_CHARACTERS:
            raise _Refused(Ended.TOO_LONG)
        try:
            return Wanted.model_validate_json(text)
        except ValidationError:
            raise _Refused(Ended.NOT_UNDERSTOOD) from None

    async def _follow(self, watching: Watching) -> None:
        """Say what is heard, from the moment that the subscription stands."""
        scope = "all" if watching.is_everyones else "mine"
        try:
            async with bus.listening(*watching.groups.values()) as inbox:
                await self._say({"t": "watching", "watch": sorted(watching.groups), "scope": scope})
                while True:
                    await self._say(await next_news(inbox))
        except _Refused as refused:
            await self._end(refused.why)
        except GONE:
            self._has_ended = True

    async def _guard(self) -> None:
        """Look now and then whether the account may still hear what it hears."""
        try:
            while not self._has_ended:
                await asyncio.sleep(self._check_seconds)
                now = await _look(principal_in, self._session)
                if self._roles - now.roles:
                    raise _Refused(Ended.ROLE_CHANGED)
        except _Refused as refused:
            await self._end(refused.why)

    async def _say(self, message: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._send_seconds):
                await self.send_json(message)
        except TimeoutError:
            raise _Refused(Ended.TOO_SLOW) from None

    async def _end(self, why: Ended) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        with suppress(*GONE):
            await self.close(code=why)


class _Refused(Exception):
    """The socket has to end."""

    def __init__(self, why: Ended) -> None:
        super().__init__(why)
        self.why = why


async def _look(read: Callable[..., T], *values: Any) -> T:
    """Read in a thread; what cannot be read is not allowed."""
    try:
        result: T = await database_sync_to_async(read, thread_sensitive=False, executor=_threads)(*values)
    except PermissionDenied:
        raise _Refused(Ended.SIGNED_OUT) from None
    except Exception as error:
        logger.warning("a live socket could not be checked and is closed: %r", error)
        raise _Refused(Ended.FAULT) from error
    return result


async def _stop(*tasks: asyncio.Task[None] | None) -> None:
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
