"""Lengths of time as people write them: `90s`, `15 m`, `1h 30m`, `7d`, `1y`. Exact in both directions."""

from __future__ import annotations

import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
LONGEST_SECONDS = 100 * UNITS["y"]

_PART = re.compile(r"\s*(\d{1,9}(?:\.\d{1,3})?)\s*([smhdwy])(?:ec|in|ours?|ays?|eeks?|ears?)?", re.IGNORECASE)


def parse_duration(text: str) -> float:
    """So many seconds. Raises ValueError with what to write instead."""
    total, place = 0.0, 0
    while place < len(text.rstrip()):
        part = _PART.match(text, place)
        if part is None:
            raise ValueError("write a time such as 90s, 15m, 1h 30m, 7d or 1y")
        total += float(part[1]) * UNITS[part[2].lower()]
        place = part.end()
    if not 0 < total <= LONGEST_SECONDS:
        raise ValueError("write a time above zero and below 100 years, such as 15m or 7d")
    return total


def duration_words(seconds: float) -> str:
    """The same in the fewest words that are exact: `1 h 30 m`; weeks are told in days."""
    if seconds < 1 or seconds != int(seconds):
        return f"{seconds:g} s"
    left, said = int(seconds), []
    for unit in ("y", "d", "h", "m", "s"):
        count, left = divmod(left, UNITS[unit])
        if count:
            said.append(f"{count} {unit}")
    return " ".join(said)
