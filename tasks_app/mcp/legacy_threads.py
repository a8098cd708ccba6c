"""The thread of a legacy stream: which answer it carries, so that a client that lost it finds it again anywhere.

The id of every event names the task, the request that is answered and a number. Nothing else has to be remembered: the
answer is in the store, and whoever asks for it again must own the task.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, replace
from uuid import UUID

from tasks_app.domain.errors import NotFound
from tasks_app.mcp.call import Id
from tasks_app.mcp.polls import to_task_id

_RESULT, _CALL = "r", "c"
_PARTS = 4
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Thread:
    """One stream of a request that waits for a task; `number` is that of its last event."""

    task_id: UUID
    request_id: Id
    is_call: bool
    """Whether the request is the tool call itself, whose client knows of no task, or a `tasks/result`."""
    number: int = 0

    @property
    def event_id(self) -> str:
        """The id of the last event: ASCII, and of one line."""
        request = base64.urlsafe_b64encode(json.dumps(self.request_id).encode("ascii")).decode("ascii")
        return f"{self.task_id}.{_CALL if self.is_call else _RESULT}.{self.number}.{request}"

    def next(self) -> Thread:
        """The same after one more event."""
        return replace(self, number=self.number + 1)


def read_event_id(text: str) -> Thread:
    """The thread that an event id names. Raises NotFound for any text that is not one of ours."""
    parts = text.split(".")
    if len(parts) != _PARTS or parts[1] not in (_RESULT, _CALL) or not _NUMBER.fullmatch(parts[2]):
        raise NotFound
    return Thread(to_task_id(parts[0]), _request_id(parts[3]), parts[1] == _CALL, int(parts[2]))


def _request_id(encoded: str) -> Id:
    try:
        found = json.loads(base64.urlsafe_b64decode(encoded.encode("ascii")))
    except (binascii.Error, ValueError, RecursionError):
        raise NotFound from None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise NotFound
    return found
