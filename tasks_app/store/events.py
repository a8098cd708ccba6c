"""Writing what no trigger sees to the audit log: sign-ins, tokens, exports, refusals. Names and numbers, no payload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tasks_app.domain.identity import Actor
from tasks_app.store import codec
from tasks_app.store.db import actor_json, affected

_RECORD = """
INSERT INTO tasks_event (task_id, owner_id, kind, actor, detail)
VALUES (%(task)s::uuid, %(owner)s::bigint, %(kind)s, %(actor)s::jsonb, %(detail)s::jsonb)
"""


def record_event(kind: str, *, by: Actor, owner_id: int | None = None, task_id: UUID | None = None,
                 detail: Mapping[str, Any] | None = None) -> None:  # fmt: skip
    """Add one entry to the audit log, in the caller's transaction if there is one."""
    params = {
        "task": task_id,
        "owner": owner_id,
        "kind": kind,
        "actor": actor_json(by),
        "detail": json.dumps(codec.storable(detail or {})),
    }
    affected(_RECORD, params)
