"""A wrong clock: where this module is among the tools of a process, its clock is off by `CHAOS_SKEW` seconds.

What tells the time of day is replaced: `time.time`, and `datetime.now` wherever our own code has it. The monotonic
clock stays: it measures durations and cannot be set wrong.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timedelta, tzinfo
from typing import Any

_SKEW = float(os.environ.get("CHAOS_SKEW", "0"))
_REAL_TIME, _REAL_TIME_NS = time.time, time.time_ns


class _IsAnyTime(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, datetime)


class Skewed(datetime, metaclass=_IsAnyTime):
    """A time whose present is wrong."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        """The present, as the wrong clock has it."""
        return datetime.now(tz) + timedelta(seconds=_SKEW)


def _apply() -> None:
    time.time = lambda: _REAL_TIME() + _SKEW
    time.time_ns = lambda: _REAL_TIME_NS() + int(_SKEW * 1e9)
    for name, module in list(sys.modules.items()):
        if name.startswith(("tasks_app", "console", "django.utils")) and getattr(module, "datetime", None) is datetime:
            module.datetime = Skewed  # type: ignore[attr-defined]


if _SKEW:
    _apply()
