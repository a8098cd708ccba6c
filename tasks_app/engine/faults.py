"""Named points at which a test can make a process die or wait; nothing happens unless the environment arms one.

`TASKDECK_FAULT=after_tool:exit` ends the process there; `after_tool:hold:/some/file` waits until the file is gone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

VARIABLE = "TASKDECK_FAULT"
HOLD_SECONDS = 30.0
EXIT_CODE = 77


def hit(point: str) -> None:
    """Mark a point that a test may want to stop at."""
    armed = os.environ.get(VARIABLE)
    if armed and armed.split(":", 1)[0] == point:
        _strike(armed)


def _strike(armed: str) -> None:
    _, what, *path = armed.split(":", 2)
    if what == "exit":
        os._exit(EXIT_CODE)
    deadline = time.monotonic() + HOLD_SECONDS
    while Path(path[0]).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
