"""Where the time comes from, so that tests can hold it still.

Times that are compared between processes come from the database, never from here.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Give the present as an aware time in UTC."""
        ...

    def monotonic(self) -> float:
        """Give seconds that never go back, for measuring durations."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Give the present as an aware time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give seconds that never go back, for measuring durations."""
        return time.monotonic()


class FrozenClock:
    """A clock that stands still until it is told to advance."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError("A clock needs a time with a zone, such as datetime(2026, 1, 1, tzinfo=UTC).")
        self._now = start.astimezone(UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        """Give the time at which the clock stands."""
        return self._now

    def monotonic(self) -> float:
        """Give the seconds by which the clock was advanced so far."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move the clock on; raises ValueError when asked to go back."""
        if seconds < 0:
            raise ValueError("A clock cannot go back.")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
