"""Noting that a result was read: "never fetched" is the auditor's question. At most every 10 s, beside the task row."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tasks_app.store.db import Plan, Query, run

AGAIN_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Fetched:
    """A task whose outcome was read, by which credential and in which request."""

    task_id: UUID
    credential_id: int | None
    request_id: str = ""


def fetching(given: str) -> str:
    """The statement that notes what is given as rows `g (task, credential, request)`, and gives the tasks it noted.

    The first read leaves an event too; it names the owner of the credential, or the task's own owner.
    """
    return f"""
WITH t AS (
    SELECT t.id, t.owner_id, g.credential, g.request FROM {given} JOIN tasks_task t ON t.id = g.task
     WHERE t.finished_at IS NOT NULL AND (t.expires_at > tasks_now() OR t.held) ORDER BY t.id FOR KEY SHARE OF t),
noted AS (
    INSERT INTO tasks_fetch AS f (task_id, first_at, last_at, credential_id)
    SELECT t.id, tasks_now(), tasks_now(), t.credential FROM t ORDER BY t.id
    ON CONFLICT (task_id) DO UPDATE SET last_at = excluded.last_at, times = f.times + 1
     WHERE f.last_at <= excluded.last_at - interval '{AGAIN_SECONDS} seconds'
    RETURNING f.task_id, f.times),
event AS (
    INSERT INTO tasks_event (task_id, owner_id, kind, actor)
    SELECT t.id, t.owner_id, 'first_fetch', tasks_creator(t.owner_id, t.credential, t.request)
      FROM noted JOIN t ON t.id = noted.task_id WHERE noted.times = 1)
SELECT task_id FROM noted
"""


_FETCH = fetching(
    "(SELECT %(task)s::uuid AS task, %(credential)s::bigint AS credential, %(request)s::text AS request) g"
)


def record_fetch(task_id: UUID, *, credential_id: int | None, request_id: str = "") -> bool:
    """Note that a finished task's outcome was read. False when it was noted a moment ago, or there is no such task."""
    return run(fetch_plan(Fetched(task_id, credential_id, request_id)))


def fetch_plan(fetched: Fetched) -> Plan[bool]:
    """The steps of `record_fetch`, for any connection."""
    given = {"task": fetched.task_id, "credential": fetched.credential_id, "request": fetched.request_id}
    noted = yield Query(_FETCH, given)
    return bool(noted)
