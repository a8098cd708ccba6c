"""Reading an asynchronous iterator with patience: one may stop waiting for the next item without losing it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from enum import Enum
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pause(Enum):
    """Why there is no item."""

    END = "end"
    """There will be none."""

    WAITING = "waiting"
    """There is none yet."""


class Feed(Generic[T]):
    """The items of an iterator, one after the other."""

    def __init__(self, source: AsyncIterator[T]) -> None:
        self._source = source
        self._pending: asyncio.Task[T | Pause] | None = None

    async def next(self, *, seconds: float | None = None, unless: tuple[asyncio.Event, ...] = ()) -> T | Pause:
        """The next item; WAITING after so many seconds, or at once when one of the events is set."""
        pending = self._pending = self._pending or asyncio.create_task(self._item())
        signals = [asyncio.create_task(event.wait()) for event in unless]
        try:
            await asyncio.wait([pending, *signals], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for signal in signals:
                signal.cancel()
        if not pending.done():
            return Pause.WAITING
        self._pending = None
        return pending.result()

    async def _item(self) -> T | Pause:
        try:
            return await anext(self._source)
        except StopAsyncIteration:
            return Pause.END

    async def close(self) -> None:
        """Stop reading and close the iterator: what it awaits is cancelled, and its `finally` has run on return."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await pending
        close: Any = getattr(self._source, "aclose", None)
        if close is not None:
            with suppress(Exception):
                await close()
