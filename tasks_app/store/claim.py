"""Taking due work: a claim gives one attempt its lease. Fair between owners, within the caps of owners and tools.

The same statement may first settle the attempt that the worker has just finished (`tasks_app.store.settle`): one round
trip and one commit for both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor
from tasks_app.store.announce import announce, announce_start
from tasks_app.store.db import ACTOR, Row, actor_json, affected, row
from tasks_app.store.rows import CLAIM_COLUMNS, Claim, claim, columns, snapshot


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims, and how many attempts of each tool may run at once."""

    worker: str
    caps: Mapping[str, int] = field(default_factory=dict)


# A task `d` whose owner and tool have room, with `running` as what runs now: not read where there is no cap.
WITHIN_CAPS = """
d.tool <> ALL (ARRAY(SELECT r.tool FROM running r JOIN jsonb_each_text(%(caps)s::jsonb) c ON c.key = r.tool
                      WHERE %(caps)s::jsonb <> '{}' GROUP BY r.tool, c.value HAVING count(*) >= c.value::int))
       AND d.owner_id <> ALL (ARRAY(SELECT r.owner_id FROM running r WHERE %(owner_cap)s::bigint IS NOT NULL
                                     GROUP BY r.owner_id HAVING count(*) >= %(owner_cap)s::bigint))
"""
# The first hundred due tasks, less those whose owner or tool is at its cap; of these one of the owner with the fewest
# running attempts, looked up by its id until one is not locked. What runs is read only to choose between owners. LIMIT is a
# literal: as a parameter it would be planned without knowing how small it is; IS TRUE keeps the planner from the index of
# what is due, which it would read each time. The clock is read once, not for each of the hundred.
_CLAIM = """
running AS MATERIALIZED (
    SELECT r.owner_id, r.tool FROM tasks_attempt a JOIN tasks_task r ON r.id = a.task_id
     WHERE a.ended_at IS NULL AND a.task_id IS DISTINCT FROM %(settling)s::uuid),
due AS MATERIALIZED (
    SELECT d.id, d.owner_id, d.wake_at FROM tasks_task d
     WHERE d.wake_at <= (SELECT tasks_now()) AND (d.expires_at > (SELECT tasks_now()) OR d.held)
       AND {within_caps}
     ORDER BY d.wake_at LIMIT 100),
picked AS (
    SELECT free.id FROM (
        SELECT due.id FROM due
          LEFT JOIN (SELECT owner_id, count(*) AS attempts FROM running
                      WHERE (SELECT min(owner_id) < max(owner_id) FROM due) GROUP BY owner_id) load USING (owner_id)
         ORDER BY coalesce(load.attempts, 0), due.wake_at) o
     CROSS JOIN LATERAL (
        SELECT p.id FROM tasks_task p WHERE p.id = o.id AND (p.wake_at <= tasks_now()) IS TRUE
           FOR UPDATE SKIP LOCKED) free LIMIT 1),
t AS (
    UPDATE tasks_task t SET attempt = t.attempt + 1, active_attempt = t.attempt + 1, wake_at = NULL,
           progress_done = NULL, progress_total = NULL
      FROM acting WHERE t.id = (SELECT id FROM picked) RETURNING {claimed}),
started AS (
    INSERT INTO tasks_attempt (task_id, number, worker, lease_until)
    SELECT t.id, t.attempt, %(worker)s, tasks_now() + %(lease)s::float8 * interval '1 second' FROM t)
"""
# Most workers know no cap: then not even the plan holds one.
_CLAIMS = {
    is_capped: _CLAIM.format(within_caps=WITHIN_CAPS if is_capped else "true", claimed=CLAIM_COLUMNS)
    for is_capped in (False, True)
}
# Beside itself as it was before, to tell the heartbeat that is the first to see the request.
_BEAT = """
UPDATE tasks_attempt a SET lease_until = greatest(a.lease_until, tasks_now() + %(lease)s::float8 * interval '1 second'),
       stop_acknowledged_at = CASE WHEN a.stop_requested_at IS NOT NULL THEN coalesce(a.stop_acknowledged_at, tasks_now()) END
  FROM tasks_attempt b
 WHERE a.task_id = %(task)s AND a.number = %(number)s AND a.ended_at IS NULL AND b.task_id = a.task_id AND b.number = a.number
RETURNING a.stop_requested_at IS NOT NULL, b.stop_acknowledged_at IS NULL
"""
_SEEN = f"SELECT {columns()} FROM tasks_task t WHERE t.id = %(task)s"
# No longer counted among what the worker runs: its slot is free. The task first: a cancel on its way fences this, too.
_LEASE_FOR = """
WITH t AS (
    SELECT t.id FROM tasks_task t
     WHERE t.id = %(task)s AND t.active_attempt = %(number)s AND (t.expires_at > tasks_now() OR t.held) FOR NO KEY UPDATE)
UPDATE tasks_attempt a SET lease_until = tasks_now() + %(seconds)s::float8 * interval '1 second',
       worker = 'handed over by ' || a.worker FROM t
 WHERE a.task_id = t.id AND a.number = %(number)s AND a.ended_at IS NULL
"""
_HANDED_OVER = f"""
SELECT {CLAIM_COLUMNS}, a.worker FROM tasks_task t JOIN tasks_attempt a ON a.task_id = t.id
 WHERE t.id = %(task)s AND a.number = %(number)s AND t.owner_id = %(owner)s
"""


class Beat(Enum):
    """What a heartbeat learns."""

    HELD = "held"
    """The lease is renewed."""

    STOP = "stop"
    """The task was cancelled or has expired: stop."""

    LOST = "lost"
    """The attempt was closed: record nothing more."""


def claim_params(claimant: Claimant) -> dict[str, Any]:
    """What the claim's part of a statement needs."""
    return {
        "actor": actor_json(Actor.worker(claimant.worker)),
        "worker": claimant.worker,
        "lease": conf().lease,
        "settling": None,
        **cap_params(claimant.caps),
    }


def claiming(claimant: Claimant) -> str:
    """The part of a statement, after `ACTOR`, that claims: its `t` is the task, if there is one."""
    return _CLAIMS[bool(claimant.caps) or conf().owner_concurrency is not None]


def cap_params(caps: Mapping[str, int]) -> dict[str, Any]:
    """What `WITHIN_CAPS` reads."""
    return {"caps": json.dumps(dict(caps)), "owner_cap": conf().owner_concurrency or None}


def claim_next(claimant: Claimant) -> Claim | None:
    """Take the lease on one due task. None means that nothing is due, or all of it is at a cap."""
    found = row(f"WITH {ACTOR}, {claiming(claimant)} SELECT * FROM t", claim_params(claimant))
    return begun(found, claimant) if found else None


def begun(found: Row, claimant: Claimant) -> Claim:
    """The claim that a statement gave; whoever watches the task is told that it runs."""
    taken = claim(found, worker=claimant.worker)
    announce_start(taken)
    return taken


def heartbeat(held: Claim) -> Beat:
    """Renew the lease, and learn whether to stop. Touches only the attempt, so it never waits for the task."""
    found = row(_BEAT, {"task": held.task_id, "number": held.number, "lease": conf().lease})
    if found is None:
        return Beat.LOST
    is_told, is_news = found
    if is_told and is_news:
        _announce_stopping(held)
    return Beat.STOP if is_told else Beat.HELD


def _announce_stopping(held: Claim) -> None:
    """Whoever looks at the task sees now that its worker knows; its version stays, as nothing of the row changed."""
    if (found := row(_SEEN, {"task": held.task_id})) is not None:
        announce(snapshot(found))


def lease_for(held: Claim, time: timedelta) -> bool:
    """Let a handed-over attempt run for so long without a heartbeat. False when it no longer holds the task."""
    params = {"task": held.task_id, "number": held.number, "seconds": time.total_seconds()}
    return affected(_LEASE_FOR, params) == 1


def handed_over(task_id: UUID, *, number: int, owner_id: int) -> Claim:
    """The claim of an attempt that another process began. Raises NotFound when there is no such attempt."""
    found = row(_HANDED_OVER, {"task": task_id, "number": number, "owner": owner_id})
    if found is None:
        raise NotFound
    return claim((found[0], number, *found[2:-1]), worker=found[-1])
