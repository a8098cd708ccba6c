"""Which owners had room for more bytes a moment ago, in this process: then what they keep is not added up again.

The sum of what an owner keeps lags behind by the time until it is folded; this lets it lag by a second more, and spares
most creates the look at every tool that the owner ever used.
"""

from __future__ import annotations

import time

SECONDS = 1.0
MOST = 10_000

_until: dict[int, float] = {}


def had_room(owner_id: int) -> bool:
    """Whether a create of this owner found room less than a second ago."""
    return _until.get(owner_id, 0.0) > time.monotonic()


def found_room(owner_id: int) -> None:
    """A create of this owner looked, and there was room."""
    if len(_until) >= MOST:
        _until.clear()
    _until[owner_id] = time.monotonic() + SECONDS


def forget() -> None:
    """Look again: the sums are others now."""
    _until.clear()
