"""Progress and log lines as notifications on the stream of the request that wanted them, and of no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tasks_app.mcp.call import Call, Message
from tasks_app.mcp.negotiation import LOG_LEVELS
from tasks_app.store.rows import Snapshot

LEVEL = "info"
"""The level of every line that a tool writes."""


class Notices:
    """Makes the notifications of one call: nothing that it did not ask for, and progress that only rises."""

    def __init__(self, call: Call, *, meta: Mapping[str, Any] | None = None) -> None:
        self._call = call
        self._meta: dict[str, Any] = {"_meta": dict(meta)} if meta else {}
        self._logs = call.log_level is not None and LOG_LEVELS.index(call.log_level) <= LOG_LEVELS.index(LEVEL)
        self._done: float | None = None
        self._line = ""

    def progress(self, done: float, total: float | None, message: str | None) -> Iterator[Message]:
        """The notification of how far a tool is, if there is a token for it and it is farther than before."""
        if self._call.progress_token is None or (self._done is not None and done <= self._done):
            return
        self._done = done
        optional = {"total": total, "message": message or None}
        shown = {name: value for name, value in optional.items() if value is not None}
        params = {"progressToken": self._call.progress_token, "progress": done, **shown, **self._meta}
        yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}

    def log(self, text: str, *, logger: str) -> Iterator[Message]:
        """The notification of a line that a tool wrote, if lines of that level are wanted."""
        if self._logs:
            params = {"level": LEVEL, "logger": logger, "data": text, **self._meta}
            yield {"jsonrpc": "2.0", "method": "notifications/message", "params": params}

    def row(self, task: Snapshot) -> Iterator[Message]:
        """The same for a task on a worker: the newest state of its row, whatever came in between."""
        if task.progress_done is not None:
            yield from self.progress(task.progress_done, task.progress_total, task.status_message)
        if task.status_message and task.status_message != self._line:
            self._line = task.status_message
            yield from self.log(task.status_message, logger=task.tool)
