"""How often somebody may try: so many times within so many seconds, counted in this process and nowhere else.

Several web processes each allow as much, which is still far too little for guessing.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

MOST_KNOWN = 10_000


class Throttle:
    """The latest tries of everybody who has made one, the least recent forgotten when there are too many."""

    def __init__(self, *, tries: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._tries = tries
        self._seconds = seconds
        self._clock = clock
        self._made: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, who: Hashable) -> int | None:
        """For how many seconds there is no further try; None when there is one now."""
        with self._lock:
            made = self._made.get(who)
            if made is None or len(made) < self._tries:
                return None
            left = made[0] + self._seconds - self._clock()
            return math.ceil(left) if left > 0 else None

    def count(self, who: Hashable) -> None:
        """Count one try."""
        with self._lock:
            self._made.setdefault(who, deque(maxlen=self._tries)).append(self._clock())
            self._made.move_to_end(who)
            if len(self._made) > MOST_KNOWN:
                self._made.popitem(last=False)

    def forget(self, who: Hashable) -> None:
        """Start anew for somebody who got in."""
        with self._lock:
            self._made.pop(who, None)

    def clear(self) -> None:
        """Start anew for everybody."""
        with self._lock:
            self._made.clear()
