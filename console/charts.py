"""The geometry of the charts: numbers in, SVG path data out. Pure; colours and words are not known here.

Everything is drawn into a box of WIDTH by HEIGHT that the page stretches; lines keep their width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 480.0
HEIGHT = 100.0
BAR_SHARE = 0.72
LEAST_BAR = 1.5
NICE = (1, 2, 4, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """The top of an axis, and the three numbers beside it."""

    top: float
    labels: tuple[str, ...]


def nice_scale(largest: float) -> Scale:
    """An axis from zero to a round number that is not below the largest value."""
    magnitude = 10.0 ** math.floor(math.log10(max(largest, 4) / 4))
    step = next(size for size in (*NICE, 20, 40) if size * magnitude * 4 >= max(largest, 4)) * magnitude
    top = 4 * step
    return Scale(top, (f"{top:,.0f}", f"{top / 2:,.0f}", "0"))


def bars(values: Sequence[float], *, below: Sequence[float], top: float) -> str:
    """Bars that stand on other bars; what is there at all is tall enough to be seen."""
    width = WIDTH / max(len(values), 1)
    parts = []
    for index, (value, under) in enumerate(zip(values, below, strict=True)):
        if value <= 0:
            continue
        height = max(HEIGHT * value / top, LEAST_BAR)
        base = HEIGHT - HEIGHT * under / top
        wide = _at(width * BAR_SHARE)
        parts.append(f"M{_at(index * width)} {_at(base - height)}h{wide}v{_at(height)}h-{wide}z")
    return "".join(parts)


def line(values: Sequence[float | None], *, top: float, width: float = WIDTH, height: float = HEIGHT) -> str:
    """A line through the middle of each slot; where nothing is known it is interrupted."""
    step = width / max(len(values), 1)
    parts, is_down = [], False
    for index, value in enumerate(values):
        if value is not None:
            parts.append(f"{'L' if is_down else 'M'}{_at(step * (index + 0.5))} {_at(height - height * value / top)}")
        is_down = value is not None
    return " ".join(parts)


def steps(values: Sequence[float | None], *, top: float) -> str:
    """A line that is level within each slot, so that a single one is seen, too; interrupted where nothing is known."""
    step = WIDTH / max(len(values), 1)
    parts, is_down = [], False
    for index, value in enumerate(values):
        if value is not None:
            begin = f"{'L' if is_down else 'M'}{_at(step * index)} {_at(HEIGHT - HEIGHT * value / top)}"
            parts.append(f"{begin}H{_at(step * (index + 1))}")
        is_down = value is not None
    return " ".join(parts)


def logarithmic(seconds: float | None, *, low: float, high: float) -> float | None:
    """Where a duration stands between two others, from 0 to 1, when each step is a factor."""
    if seconds is None:
        return None
    share = math.log(max(seconds, low) / low) / math.log(high / low)
    return min(share, 1.0)


def _at(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
