"""What a worker's parent process and its children tell each other, in memory that they share.

The parent says that it is shutting down; each child says when its watch last ran. A tool that holds the interpreter
lock stops the watch too, so silence is how the parent finds it. The clock is monotonic and the same for all of them.
"""

from __future__ import annotations

import mmap
import struct
import time

CHILDREN = 256
_RECORD = struct.Struct("=qdq")
_HEADER = 8

# Made when the parent imports this module, and shared with every child that it forks afterwards.
_shared = mmap.mmap(-1, _HEADER + CHILDREN * _RECORD.size)


def shut_down() -> None:
    """Say that the worker takes no more work and gives back what it can."""
    _shared[0] = 1


def is_shutting_down() -> bool:
    """Whether the worker is going away; costs no system call."""
    return _shared[0] == 1


def tick(index: int, *, pid: int, is_busy: bool) -> None:
    """A child says that it can still run code, and whether it runs a tool."""
    _RECORD.pack_into(_shared, _place(index), pid, time.monotonic(), int(is_busy))


def silent(seconds: float) -> list[int]:
    """The process ids of children that run a tool and have not been heard for so long."""
    records = (_RECORD.unpack_from(_shared, _place(index)) for index in range(CHILDREN))
    now = time.monotonic()
    return [pid for pid, heard, is_busy in records if is_busy and now - heard > seconds]


def _place(index: int) -> int:
    return _HEADER + (index % CHILDREN) * _RECORD.size
