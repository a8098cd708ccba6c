"""Noting that a result was read: "never fetched" is the auditor's question. At most every 10 s, beside the task row."""

from __future__ import annotations

from uuid import UUID

from tasks_app.store.db import Plan, Query, run

AGAIN_SECONDS = 10

# The first read leaves an event too; it names the owner of the credential, or the task's own owner.
_FETCH = f"""
WITH t AS (
    SELECT t.id, t.owner_id, t.request_id FROM tasks_task t
     WHERE t.id = %(task)s AND t.finished_at IS NOT NULL AND (t.expires_at > tasks_now() OR t.held) FOR KEY SHARE),
noted AS (
    INSERT INTO tasks_fetch AS f (task_id, first_at, last_at, credential_id)
    SELECT t.id, tasks_now(), tasks_now(), %(credential)s::bigint FROM t
    ON CONFLICT (task_id) DO UPDATE SET last_at = excluded.last_at, times = f.times + 1
     WHERE f.last_at <= excluded.last_at - interval '{AGAIN_SECONDS} seconds'
    RETURNING f.task_id, f.times),
event AS (
    INSERT INTO tasks_event (task_id, owner_id, kind, actor)
    SELECT t.id, t.owner_id, 'first_fetch', tasks_creator(t.owner_id, %(credential)s::bigint, %(request)s)
      FROM noted JOIN t ON t.id = noted.task_id WHERE noted.times = 1)
SELECT times FROM noted
"""


def record_fetch(task_id: UUID, *, credential_id: int | None, request_id: str = "") -> bool:
    """Note that a finished task's outcome was read. False when it was noted a moment ago, or there is no such task."""
    return run(fetch_plan(task_id, credential_id=credential_id, request_id=request_id))


def fetch_plan(task_id: UUID, *, credential_id: int | None, request_id: str = "") -> Plan[bool]:
    """The steps of `record_fetch`, for any connection."""
    noted = yield Query(_FETCH, {"task": task_id, "credential": credential_id, "request": request_id})
    return bool(noted)
