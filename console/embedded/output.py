"""What the person at the terminal sees: our own short lines, and the lines of the children with their names."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import IO

NAME_WIDTH = 6
LONGEST_LINE_BYTES = 65536


class Output:
    """Whole lines to one stream, from several threads; a closed stream never stops the supervisor."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._closed = False

    def say(self, text: str) -> None:
        """Write one line of our own."""
        self._write(text.encode(errors="replace") + b"\n")

    def relay(self, pipe: IO[bytes], *, name: str) -> threading.Thread:
        """Copy a child's output, line by line under its name, until it ends."""
        prefix = f"{name:<{NAME_WIDTH}} | ".encode()

        def copy() -> None:
            with pipe, contextlib.suppress(ValueError):
                while line := pipe.readline(LONGEST_LINE_BYTES):
                    self._write(prefix + line.rstrip(b"\r\n") + b"\n")

        thread = threading.Thread(target=copy, name=f"output of {name}", daemon=True)
        thread.start()
        return thread

    def _write(self, line: bytes) -> None:
        with self._lock:
            if self._closed:
                return
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):
                self._closed = True
                self._silence()

    def _silence(self) -> None:
        """Point the broken stream at nothing, or the interpreter complains about it once more when it exits."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
