"""Finding attempts whose worker has gone: a lease that ran out is a loss, and the third loss ends the task."""

from __future__ import annotations

from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.identity import Actor
from tasks_app.store import codec
from tasks_app.store.announce import announce
from tasks_app.store.db import Atomic, Plan, Query, rows, run
from tasks_app.store.locking import lock_unless_busy
from tasks_app.store.policy import in_force
from tasks_app.store.rows import Snapshot, columns, snapshot

BATCH = 100
LOST = {"code": -32603, "message": "The worker was lost too often.", "data": {"reason": "lost"}}

_LAPSED = (
    f"SELECT task_id, number FROM tasks_attempt WHERE ended_at IS NULL AND lease_until < tasks_now() LIMIT {BATCH}"
)
# Looks at the lease again under the lock: a heartbeat may have renewed it since it was found.
_LOSE = """
UPDATE tasks_attempt SET ended_at = tasks_now(), outcome = 'lost'
 WHERE task_id = %(task)s AND number = %(number)s AND ended_at IS NULL AND lease_until < tasks_now() RETURNING 1
"""
# So that pages that show the worker as stopping read the task again.
_SEEN = f"UPDATE tasks_task t SET version = t.version + 1 WHERE t.id = %(task)s RETURNING {columns()}"
_WAKE = f"""
UPDATE tasks_task t SET active_attempt = NULL, losses = t.losses + 1, wake_at = tasks_now()
 WHERE t.id = %(task)s AND t.active_attempt = %(number)s RETURNING {columns()}
"""
_FAIL = f"""
UPDATE tasks_task t SET active_attempt = NULL, losses = t.losses + 1, status = 'failed', outcome = 'rpc_error',
       error = %(error)s, finished_at = tasks_now(), policy_version = %(policy)s::int,
       expires_at = greatest(t.expires_at, tasks_now() + %(keep)s::float8 * interval '1 second')
 WHERE t.id = %(task)s AND t.active_attempt = %(number)s RETURNING {columns()}
"""


def reap() -> int:
    """Close one batch of attempts whose lease ran out, one task a transaction, and give how many."""
    return sum(_reap(task_id, number) for task_id, number in rows(_LAPSED))


def _reap(task_id: UUID, number: int) -> int:
    closed, task = run(_reaping(task_id, number))
    if task is not None:
        announce(task)
    return closed


def _reaping(task_id: UUID, number: int) -> Plan[tuple[int, Snapshot | None]]:
    return (yield Atomic(_reap_locked(task_id, number)))  # type: ignore[no-any-return]


def _reap_locked(task_id: UUID, number: int) -> Plan[tuple[int, Snapshot | None]]:
    task = yield from lock_unless_busy(task_id, actor=Actor.engine())
    if task is None:
        return 0, None
    params = {"task": task_id, "number": number}
    lost = yield Query(_LOSE, params)
    if not lost:
        return 0, None
    if task.active_attempt != number:
        # It was told to stop and its worker went without a word; the task has ended already.
        [seen] = yield Query(_SEEN, params)
        return 1, snapshot(seen)
    if task.losses + 1 >= conf().max_losses:
        terms = (yield from in_force()).terms(task.tool, task.owner_id)
        ending = {"error": codec.encode(LOST), "keep": terms.minimum_retention, "policy": terms.version}
        [row] = yield Query(_FAIL, {**params, **ending})
    else:
        [row] = yield Query(_WAKE, params)
    return 1, snapshot(row)
