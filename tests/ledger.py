"""The side-effect ledger: what tools under test really did, written to a file that survives any crash of theirs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a tool did: for which task, in which attempt, what, in which process, and when (monotonic)."""

    task_id: str
    attempt: int
    what: str
    pid: int
    at: float


def note(path: str, *, task_id: str, attempt: int, what: str) -> str:
    """Append a line, on disk before this returns; gives what was done, so that it can be the value of a step."""
    line = f"{task_id} {attempt} {what} {os.getpid()} {time.monotonic()}\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, line.encode())
        os.fsync(file)
    finally:
        os.close(file)
    return what


def read(path: Path | str) -> list[Line]:
    """Everything that was done so far, in order."""
    try:
        text = Path(path).read_text()
    except FileNotFoundError:
        return []
    return [_line(text) for text in text.splitlines()]


def _line(text: str) -> Line:
    task_id, attempt, what, pid, at = text.split(" ")
    return Line(task_id, int(attempt), what, int(pid), float(at))
