"""Under which token the client that made a task wants to hear of its progress, for as long as the task lives.

It is kept beside what the client said that it can do, because only a client of 2025-11-25 has such a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tasks_app.store import codec
from tasks_app.store.db import Plan, Query

PROGRESS_TOKEN = "taskdeck/progressToken"  # noqa: S105 - the name of a member

_READ = "SELECT t.client_capabilities -> %(name)s FROM tasks_task t WHERE t.id = %(task)s AND t.owner_id = %(owner)s"


def with_progress_token(capabilities: Mapping[str, Any], token: str | int | None) -> dict[str, Any]:
    """The capabilities to store with a new task, and the token with them."""
    # A token that the database would have to change is of no use to the client.
    if token is None or codec.storable(token) != token:
        return dict(capabilities)
    return {**capabilities, PROGRESS_TOKEN: token}


def progress_token_plan(task_id: UUID, *, owner_id: int) -> Plan[str | int | None]:
    """The token that a task was made with; None when its client wanted no progress."""
    found = yield Query(_READ, {"task": task_id, "owner": owner_id, "name": PROGRESS_TOKEN})
    token = found[0][0] if found else None
    return token if isinstance(token, str | int) else None
