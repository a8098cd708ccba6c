"""The buckets in which durations are counted: wide enough for a blink and for a week of waiting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

BOUNDS_SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 21_600.0, 86_400.0, 604_800.0)
BUCKETS = len(BOUNDS_SECONDS) + 1


def bucket(seconds: float) -> int:
    """Which bucket a duration falls into: 0 is under the first bound, the last is over all of them."""
    return bisect_right(BOUNDS_SECONDS, seconds)


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The bound under which this share of the counted durations lies; None when nothing was counted."""
    total = sum(counts)
    if not total:
        return None
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= share * total:
            return BOUNDS_SECONDS[min(index, len(BOUNDS_SECONDS) - 1)]
    return BOUNDS_SECONDS[-1]
