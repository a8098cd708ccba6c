"""The wish to stop: SIGINT, SIGTERM and SIGHUP are noted, and every wait of the supervisor ends early."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from types import FrameType

from console.embedded.errors import Stopped

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A terminal, make and timeout(1) may each deliver the same wish; only a later signal means "hurry".
SAME_WISH_SECONDS = 0.5


class Stop:
    """Notes stop signals while it is entered; nothing is ever raised from inside a signal handler."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._forced = False
        # A pipe rather than threading.Event: setting an Event from a handler can deadlock with a wait on it.
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Stop:
        for number in SIGNALS:
            # Under nohup the hang-up is ignored on purpose.
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def requested(self) -> bool:
        """Whether a stop signal has arrived."""
        return self._first is not None

    @property
    def forced(self) -> bool:
        """Whether another one followed, from somebody who does not want to wait."""
        return self._forced

    def check(self) -> None:
        """Raise Stopped when a stop signal has arrived: the checkpoint of every step of the start."""
        if self.requested:
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Wait that long, or until the next stop signal."""
        readable, _, _ = select.select([self._wake_read], [], [], seconds)
        if readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 1024)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
        elif now - self._first > SAME_WISH_SECONDS:
            self._forced = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"!")
