"""Not so fast: how many requests a credential, an address and the readers of one task may make.

Kept in each process, in bounded memory: when it is full, the party that has been quiet longest is forgotten, which only
makes the limit looser for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from uuid import UUID

from tasks_app.conf import Conf, conf
from tasks_app.mcp.errors import Refused

TOO_MANY_REQUESTS = 429
REMEMBERED = 10_000
SEEN_SECONDS = 1.0
"""For so long a task that was seen live is taken for live."""


class Buckets:
    """One bucket a key: it holds `burst` tokens and gains one each `interval`."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, size: int = REMEMBERED) -> None:
        self._clock = clock
        self._size = size
        # For each key the moment at which its bucket is full again: all that there is to know about it.
        self._full_at: dict[Hashable, float] = {}

    def take(self, key: Hashable, *, interval: float, burst: int) -> float:
        """Take one token and give 0; or, when there is none, the seconds until there is one."""
        now = self._clock()
        full_at = max(self._full_at.pop(key, now), now) + interval
        wait = full_at - now - burst * interval
        # Put last again, so that the first one is always the one that was quiet longest.
        self._full_at[key] = full_at if wait <= 0 else full_at - interval
        if len(self._full_at) > self._size:
            del self._full_at[next(iter(self._full_at))]
        return max(wait, 0.0)

    def wait(self, key: Hashable, *, interval: float, burst: int) -> float:
        """The seconds until there is a token; none is taken."""
        now = self._clock()
        return max(self._full_at.get(key, now) + interval - now - burst * interval, 0.0)

    def __len__(self) -> int:
        return len(self._full_at)


class Throttle:
    """The three limits of one process. Each raises Refused (429) with the time to wait."""

    def __init__(self, settings: Conf, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        # Who saw which task live, when last, and how often it wants to be polled.
        self._seen: dict[tuple[Hashable, UUID], tuple[float, float]] = {}
        self._credentials = Buckets(clock=clock)
        self._addresses = Buckets(clock=clock)
        self._tasks = Buckets(clock=clock)
        self._interval = 1 / settings.requests_per_second
        self._address_interval = 1 / settings.address_requests_per_second
        # An address may be a gateway for many: it may hurry as long as one credential may.
        seconds = settings.requests_burst / settings.requests_per_second
        self._address_burst = max(1, int(settings.address_requests_per_second * seconds))

    def address(self, address: str) -> None:
        """Count a request of an address."""
        _refuse(self._addresses.take(address, interval=self._address_interval, burst=self._address_burst))

    def credential(self, key: Hashable) -> None:
        """Count a request of a credential."""
        _refuse(self._credentials.take(key, interval=self._interval, burst=self.settings.requests_burst))

    def poll(self, task_id: UUID, *, poll_ms: int, reader: Hashable = None) -> None:
        """Count a poll of a live task. Who reads a finished one is never asked to wait: do not call this for it."""
        interval = poll_ms / 1000 / self.settings.polls_per_interval
        self._remember(reader, task_id, interval)
        _refuse(self._tasks.take(task_id, interval=interval, burst=self.settings.polls_burst))

    def before_poll(self, reader: Hashable, task_id: UUID) -> None:
        """Refuse a poll before anything is read, of who saw the task live a moment ago, when it was polled enough.

        Who did not see it is not told anything here: not even that there is such a task.
        """
        seen_at, interval = self._seen.get((reader, task_id), (-math.inf, 0.0))
        if self._clock() - seen_at < SEEN_SECONDS:
            _refuse(self._tasks.wait(task_id, interval=interval, burst=self.settings.polls_burst))

    def _remember(self, reader: Hashable, task_id: UUID, interval: float) -> None:
        self._seen.pop((reader, task_id), None)
        self._seen[reader, task_id] = self._clock(), interval
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]


def _refuse(wait: float) -> None:
    if wait > 0:
        seconds = max(1, math.ceil(wait))
        text = f"Too many requests. Try again in {seconds} s."
        raise Refused(TOO_MANY_REQUESTS, text, error="too_many_requests", headers={"Retry-After": str(seconds)})


_current: Throttle | None = None


def throttle() -> Throttle:
    """The limits of this process, by the settings in force."""
    global _current  # noqa: PLW0603 - one a process
    settings = conf()
    if _current is None or _current.settings is not settings:
        _current = Throttle(settings)
    return _current


def forget() -> None:
    """Start counting anew, with full buckets."""
    global _current  # noqa: PLW0603
    _current = None
