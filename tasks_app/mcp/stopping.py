"""That this process was told to stop: known as soon as the signal comes.

The server itself waits for open answers before it says so (lifespan shutdown), and a stream never ends by itself. So
the signal is heard here too, and handed on to whoever heard it before.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_current: asyncio.Event | None = None


def stopping() -> asyncio.Event:
    """Set once this process is to stop."""
    return _current or asyncio.Event()


@asynccontextmanager
async def heeding_signals() -> AsyncIterator[asyncio.Event]:
    """Listen for the stop signals while the block lasts; at its end the event is set in any case."""
    global _current  # noqa: PLW0603 - one a process
    event = asyncio.Event()
    before, _current = _current, event
    restore = _listen(event) if threading.current_thread() is threading.main_thread() else []
    try:
        yield event
    finally:
        event.set()
        _current = before
        for undo in restore:
            undo()


def _listen(event: asyncio.Event) -> list[Callable[[], Any]]:
    loop = asyncio.get_running_loop()

    def install(number: signal.Signals) -> Callable[[], Any]:
        before = signal.getsignal(number)

        def heard(received: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(event.set)
            if callable(before):
                before(received, frame)

        signal.signal(number, heard)

        def undo() -> None:
            if signal.getsignal(number) is heard:
                signal.signal(number, before)

        return undo

    # Where nobody listens yet, the default must stay: it is what ends the process.
    return [install(number) for number in SIGNALS if callable(signal.getsignal(number))]
