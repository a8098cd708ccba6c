"""The log files of the embedded servers: appended to, kept small, and read back to explain a failure."""

from __future__ import annotations

from pathlib import Path
from typing import IO

LARGEST_BYTES = 10_000_000
TAIL_BYTES = 20_000
NO_SPACE = "No space left on device"


class ServerLog:
    """The log of one server; remembers where the current run began."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = 0

    def open(self) -> IO[bytes]:
        """The file to write to; the old one is put aside first when it has grown large."""
        if self.path.exists() and self.path.stat().st_size > LARGEST_BYTES:
            self.path.replace(self.path.with_suffix(".log.1"))
        file = self.path.open("ab")
        self._began = file.tell()
        return file

    def tail(self) -> str:
        """What the current run has written, or the end of it."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(self._began, size - TAIL_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""


def reason_in(text: str, *, words: tuple[str, ...]) -> str:
    """The line that most likely says why: the last with one of the words, else the last line of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in words)]
    return (telling or lines or ["it said nothing"])[-1]
