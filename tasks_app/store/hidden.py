"""Hidden tasks: those of a call whose caller waits for the result and was given no id. They end with the wait, or are shown.

Nothing else about such a task is special: it runs, asks and ends as any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.ttl import QUESTION_MARGIN
from tasks_app.store.cancel import cancel
from tasks_app.store.db import Atomic, Plan, Query, rows
from tasks_app.store.locking import IS_LIVE, lock
from tasks_app.store.policy import in_force
from tasks_app.store.rows import Snapshot, columns, snapshot

BATCH = 100
NO_NEXT_ROUND = "no next round came"
ON_STREAM = "taskdeck/stream"
"""Kept beside what the client can do: its questions go out on a stream, which is not a round that has to come."""

# What it asks was capped by a short life, because it was hidden; from now on it is asked as any task asks.
_REVEAL = f"""
WITH before AS (SELECT expires_at FROM tasks_task WHERE id = %(task)s),
longer AS (
    UPDATE tasks_question q SET expires_at = greatest(q.expires_at, tasks_now() + %(ttl)s::float8 * interval '1 second')
      FROM before WHERE q.task_id = %(task)s AND q.state = 'open' AND q.expires_at = before.expires_at AND %(raises)s)
UPDATE tasks_task t SET waiting = false,
       expires_at = CASE WHEN %(raises)s THEN greatest(t.expires_at, tasks_now() + %(keep)s::float8 * interval '1 second')
                         ELSE t.expires_at END
 WHERE t.id = %(task)s RETURNING {columns()}
"""
_ABANDONED = f"""
SELECT t.id FROM tasks_task t
 WHERE t.status = 'input_required' AND t.finished_at IS NULL AND t.waiting AND {IS_LIVE}
   AND NOT jsonb_exists(t.client_capabilities, '{ON_STREAM}')
   AND t.status_at <= tasks_now() - %(after)s::float8 * interval '1 second' ORDER BY t.status_at LIMIT {BATCH}
"""


def on_stream(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The capabilities to store with the hidden task of a call that is asked on its stream (2025-11-25).

    Losing that stream is no cancellation, so the task lives as long as its own time.
    """
    return {**capabilities, ON_STREAM: True}


def reveal_plan(task_id: UUID, *, owner_id: int, by: Actor) -> Plan[Snapshot]:
    """Make a hidden task an ordinary one, because its caller is given the id. Raises NotFound. The caller announces."""
    return (yield Atomic(_reveal(task_id, owner_id, by)))  # type: ignore[no-any-return]


def _reveal(task_id: UUID, owner_id: int, by: Actor) -> Plan[Snapshot]:
    task = yield from lock(task_id, owner_id=owner_id, actor=by)
    if task is None:
        raise NotFound
    if not task.waiting:
        return task
    ttl = (yield from in_force()).terms(task.tool, task.owner_id).question_ttl
    raises = task.open_questions > 0 and not task.ttl_fixed
    params = {"task": task_id, "raises": raises, "ttl": ttl, "keep": ttl + QUESTION_MARGIN.total_seconds()}
    [row] = yield Query(_REVEAL, params)
    return snapshot(row)


def cancel_abandoned() -> int:
    """Cancel one batch of hidden tasks that asked by a round trip and heard nothing more; gives how many were found."""
    found = rows(_ABANDONED, {"after": conf().round_trip})
    by = Actor(Actor.engine().kind, via="engine", reason=NO_NEXT_ROUND)
    for [task_id] in found:
        _cancel_if_still_there(task_id, by)
    return len(found)


def _cancel_if_still_there(task_id: UUID, by: Actor) -> None:
    try:
        cancel(task_id, owner_id=None, by=by)
    except NotFound:
        return
