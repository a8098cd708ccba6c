"""One line on a terminal that says how far a long command has come. Nothing is shown where nobody watches."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

PATIENCE_SECONDS = 0.5
EVERY_SECONDS = 0.1
CELLS = 30
ERASE = "\r\x1b[K"


class Screen(Protocol):
    """Where the line is drawn."""

    def write(self, text: str, /, *, ending: str | None = None) -> object:
        """Show a text."""

    def isatty(self) -> bool:
        """Whether somebody watches."""

    def flush(self) -> None:
        """Show it now."""


class Progress:
    """A bar (or a count, when nobody knows how much there is), drawn once the work has taken a moment, then erased."""

    def __init__(self, screen: Screen, what: str, *, total: int | None = None) -> None:
        self._screen = screen
        self._what = what
        self._total = total
        self._watched = screen.isatty()
        self._next = time.monotonic() + PATIENCE_SECONDS
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._draw("")

    def show(self, done: int) -> None:
        """Say how many are done by now; drawn at most ten times a second."""
        now = time.monotonic()
        if not self._watched or now < self._next:
            return
        self._next = now + EVERY_SECONDS
        self._drawn = True
        self._draw(self._line(done))

    def _line(self, done: int) -> str:
        if not self._total:
            return f"{self._what} {done:,}"
        share = min(done / self._total, 1)
        bar = "█" * round(share * CELLS)
        return f"{self._what} {bar:░<{CELLS}} {share:4.0%} {done:,} of {self._total:,}"

    def _draw(self, line: str) -> None:
        self._screen.write(ERASE + line, ending="")
        self._screen.flush()
