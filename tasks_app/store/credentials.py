"""The tokens of an owner as a list shows them, and what became of the newest: read only, and never a digest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tasks_app.store import codec
from tasks_app.store.db import row, rows

MOST_TOKENS = 200
DEMO = "Demo client"
"""The name of the tokens that the demo client is given; nobody else may take it."""

_TOKENS = f"""
SELECT c.id, c.name, c.scopes, c.created_at, c.expires_at, c.used_at FROM tasks_credential c
 WHERE c.owner_id = %(owner)s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > tasks_now())
 ORDER BY c.id DESC LIMIT {MOST_TOKENS}
"""
# By the owner's own index, newest first: a call of a token is among the newest while somebody watches for it.
_FIRST_CALL = """
SELECT t.id, t.tool, t.client, t.client_capabilities, t.created_at, t.waiting FROM tasks_task t
 WHERE t.owner_id = %(owner)s AND t.credential_id = %(credential)s AND t.created_at >= %(since)s
 ORDER BY t.created_at DESC, t.id DESC LIMIT 1
"""
_DEMO = "SELECT c.id FROM tasks_credential c WHERE c.name = %(name)s AND c.revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token in force, as its owner sees it."""

    id: int
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CallView:
    """The latest task that was made with a token."""

    task_id: UUID
    tool: str
    client: str
    capabilities: Mapping[str, Any]
    at: datetime
    waits: bool
    """Whether the client waits for the result, and was given no task."""


def tokens(owner_id: int) -> list[TokenView]:
    """The tokens of an owner that are in force, the newest first."""
    found = rows(_TOKENS, {"owner": owner_id})
    return [TokenView(id_, name, tuple(scopes), *times) for id_, name, scopes, *times in found]


def latest_call(owner_id: int, token: TokenView) -> CallView | None:
    """The latest task that this token made; None before the first, or when it is gone already."""
    found = row(_FIRST_CALL, {"owner": owner_id, "credential": token.id, "since": token.created_at})
    if found is None:
        return None
    task_id, tool, client, capabilities, at, waits = found
    known = codec.decode(capabilities) if isinstance(capabilities, str) else capabilities
    return CallView(task_id, tool, client, known, at, waits)


def demo_tokens() -> list[int]:
    """The tokens that demo clients were given and that were not revoked: one that was killed leaves its own behind."""
    return [found[0] for found in rows(_DEMO, {"name": DEMO})]


def token_names(credential_ids: Collection[int]) -> Mapping[int, str]:
    """What these tokens are called, as far as they are still known."""
    if not credential_ids:
        return {}
    return dict(rows("SELECT id, name FROM tasks_credential WHERE id = ANY(%(ids)s)", {"ids": list(credential_ids)}))
