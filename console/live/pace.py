"""How fast a browser may talk: a bucket that fills again with time."""

from __future__ import annotations

import time


class Pace:
    """So many messages at once, and so many a second after that."""

    def __init__(self, *, burst: int, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._left = float(burst)
        self._at = time.monotonic()

    def allows(self) -> bool:
        """Whether one more is allowed now; it then counts."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
