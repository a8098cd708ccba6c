"""Sessions of the 2025-11-25 protocol: kept here so that any process can serve them, and bound to their owner.

A session id is no credential: it is looked up together with the owner, and only its digest is stored. What a request
asks for is a plan (`tasks_app.store.db`). An owner has so many open sessions at most, and what has ended or was not
used for a week is deleted: to its client both look as if the session never was, and it begins a new one.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tasks_app.domain.text import digest
from tasks_app.store import codec
from tasks_app.store.db import Plan, Query, Row, affected

ID_BYTES = 32
LOG_LEVEL = "logLevel"
MOST_OPEN = 1_000
"""So many sessions an owner may have; one more ends the one that was quiet longest."""
IDLE = timedelta(days=7)
BATCH = 500

# Whatever somebody else is ending at this moment is left to them, so that nobody waits for another.
_OPEN = """
WITH gone AS (
    UPDATE tasks_session SET ended_at = tasks_now() WHERE digest IN (
        SELECT s.digest FROM tasks_session s WHERE s.digest IN (
            SELECT o.digest FROM tasks_session o WHERE o.owner_id = %(owner)s AND o.ended_at IS NULL
             ORDER BY o.seen_at DESC, o.created_at DESC OFFSET %(others)s)
           FOR UPDATE SKIP LOCKED))
INSERT INTO tasks_session (digest, owner_id, version, capabilities, client)
VALUES (%(digest)s, %(owner)s, %(version)s, %(capabilities)s::jsonb, %(client)s::jsonb)
"""
SESSION_COLUMNS = "s.version, s.capabilities, s.client, s.seen_at < tasks_now() - interval '1 minute'"
_FIND = f"""
SELECT {SESSION_COLUMNS}
  FROM tasks_session s WHERE s.digest = %(digest)s AND s.owner_id = %(owner)s AND s.ended_at IS NULL
"""
_SEEN = """
UPDATE tasks_session SET seen_at = tasks_now()
 WHERE digest = %(digest)s AND seen_at < tasks_now() - interval '1 minute'
"""
_END = """
UPDATE tasks_session SET ended_at = tasks_now()
 WHERE digest = %(digest)s AND owner_id = %(owner)s AND ended_at IS NULL RETURNING true
"""
_FORGET = f"""
DELETE FROM tasks_session WHERE digest IN (
    SELECT s.digest FROM tasks_session s
     WHERE s.ended_at IS NOT NULL OR s.seen_at < tasks_now() - %(idle)s::interval LIMIT {BATCH} FOR UPDATE SKIP LOCKED)
"""
_SET_LEVEL = """
UPDATE tasks_session SET client = client || jsonb_build_object('logLevel', %(level)s::text)
 WHERE digest = %(digest)s AND owner_id = %(owner)s AND ended_at IS NULL RETURNING true
"""


@dataclass(frozen=True, slots=True)
class SessionView:
    """What one client agreed on when it connected."""

    id: str
    owner_id: int
    version: str
    capabilities: dict[str, Any]
    client: dict[str, Any]
    """What the client said of itself: `name`, `version` and more."""
    log_level: str | None = None
    """From which level on the client wants log lines; None until it said so."""


def open_session(
    owner_id: int, *, version: str, capabilities: Mapping[str, Any], client: Mapping[str, Any]
) -> Plan[str]:
    """Begin a session and give its id: the one moment in which it can be read."""
    id_ = secrets.token_urlsafe(ID_BYTES)
    said = {name: value for name, value in client.items() if name != LOG_LEVEL}
    yield Query(
        _OPEN,
        {
            "digest": session_digest(id_),
            "owner": owner_id,
            "others": MOST_OPEN - 1,
            "version": version,
            "capabilities": codec.encode(codec.storable(capabilities)),
            "client": codec.encode(codec.storable(said)),
        },
    )
    return id_


def find_session(id_: str, *, owner_id: int) -> Plan[SessionView | None]:
    """The session of this owner; None for one that is unknown, ended or another's. Its use is noted once a minute."""
    found = yield Query(_FIND, {"digest": session_digest(id_), "owner": owner_id})
    return (yield from read_session(found[0], id_=id_, owner_id=owner_id)) if found else None


def read_session(row: Row, *, id_: str, owner_id: int) -> Plan[SessionView]:
    """The session that a statement which selected `SESSION_COLUMNS` found; its use is noted."""
    version, capabilities, client, is_stale = row
    if is_stale:
        yield Query(_SEEN, {"digest": session_digest(id_)})
    said = dict(_json(client))
    level = said.pop(LOG_LEVEL, None)
    return SessionView(id_, owner_id, version, _json(capabilities), said, level)


def end_session(id_: str, *, owner_id: int) -> Plan[bool]:
    """End a session; says whether the owner had one of this id that was still open."""
    found = yield Query(_END, {"digest": session_digest(id_), "owner": owner_id})
    return bool(found)


def forget_sessions() -> int:
    """Delete one batch of sessions that have ended or were not used for a week; gives how many those were."""
    return affected(_FORGET, {"idle": IDLE})


def set_log_level(id_: str, *, owner_id: int, level: str) -> Plan[bool]:
    """Remember from which level on the client of a session wants log lines; says whether there is such a session."""
    found = yield Query(_SET_LEVEL, {"digest": session_digest(id_), "owner": owner_id, "level": level})
    return bool(found)


def session_digest(id_: str) -> bytes:
    """What is kept of a session id."""
    # It comes from a request header, so it may hold anything at all.
    return digest(id_.encode("utf-8", "surrogatepass"))


def _json(value: Any) -> Any:
    # Django's connection hands jsonb out as text, the pool as a value.
    return codec.decode(value) if isinstance(value, str) else value
