"""Waiting for something that another process or thread does: until it holds, and never for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LOOK_EVERY = 0.02


def until(condition: Callable[[], T | None], seconds: float = 20.0) -> T:
    """The first true value of the condition; fails the test when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(LOOK_EVERY)
    return found
