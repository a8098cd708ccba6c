"""Cancel: immediate for the task, then the worker is told. And the end of an attempt that was told to stop."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.errors import LeaseLost, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.outcome import AttemptEnd
from tasks_app.domain.status import Status
from tasks_app.store.announce import announce
from tasks_app.store.db import ACTOR, Atomic, Plan, Query, actor_json, row, run
from tasks_app.store.locking import lock, require_reason
from tasks_app.store.policy import in_force
from tasks_app.store.rows import Claim, Snapshot, columns, snapshot

# Shared with expiry: what waits is withdrawn, what runs is told to stop. The task row is locked by the caller. An attempt
# that was handed over hears nothing and has a long lease: no longer than any other from now on, so that it is reaped.
STOP_CHILDREN = """
withdrawn AS (UPDATE tasks_question SET state = 'withdrawn', closed_at = tasks_now()
               WHERE task_id = %(task)s AND state = 'open'),
told AS (UPDATE tasks_attempt SET stop_requested_at = tasks_now(),
                lease_until = least(lease_until, tasks_now() + %(lease)s::float8 * interval '1 second')
          WHERE task_id = %(task)s AND ended_at IS NULL)
"""
_CANCEL = f"""
WITH {STOP_CHILDREN}
UPDATE tasks_task t SET status = 'cancelled', outcome = 'cancelled', finished_at = tasks_now(), active_attempt = NULL,
       wake_at = NULL, open_questions = 0, policy_version = %(policy)s::int, expires_at = greatest(expires_at, tasks_now() + %(keep)s::float8 * interval '1 second')
 WHERE t.id = %(task)s RETURNING {columns()}
"""
# The task first, as everywhere. Only its version rises: pages that show the worker as stopping read it again.
_END = f"""
WITH {ACTOR},
stopping AS (
    SELECT t.id FROM tasks_task t, acting
     WHERE t.id = %(task)s AND EXISTS (SELECT 1 FROM tasks_attempt o WHERE o.task_id = t.id AND o.number = %(number)s
                                          AND o.ended_at IS NULL AND o.stop_requested_at IS NOT NULL)
       FOR NO KEY UPDATE OF t),
ended AS (
    UPDATE tasks_attempt a SET ended_at = tasks_now(), outcome = %(how)s,
           stop_acknowledged_at = coalesce(a.stop_acknowledged_at, tasks_now())
      FROM stopping s
     WHERE a.task_id = s.id AND a.number = %(number)s AND a.ended_at IS NULL AND a.stop_requested_at IS NOT NULL
    RETURNING a.task_id)
UPDATE tasks_task t SET version = t.version + 1 FROM ended WHERE t.id = ended.task_id RETURNING {columns()}
"""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The task after a cancel; `happened` is false when it had already ended and nothing was changed."""

    task: Snapshot
    happened: bool


def cancel(task_id: UUID, *, owner_id: int | None, by: Actor) -> Cancelled:
    """End a task now, withdraw what it asks and tell its worker to stop. A finished task is left as it is.

    `owner_id` is whose task it must be, None for everyone's. Raises NotFound, or NotAllowed without a needed reason.
    """
    done = run(cancel_plan(task_id, owner_id=owner_id, by=by))
    if done.happened:
        announce(done.task, questions=True)
    return done


def cancel_plan(task_id: UUID, *, owner_id: int | None, by: Actor) -> Plan[Cancelled]:
    """The steps of `cancel`, for any connection. The caller announces."""
    return (yield Atomic(_cancel(task_id, owner_id, by)))  # type: ignore[no-any-return]


def _cancel(task_id: UUID, owner_id: int | None, by: Actor) -> Plan[Cancelled]:
    task = yield from lock(task_id, owner_id=owner_id, actor=by)
    if task is None:
        raise NotFound
    require_reason(by, owner_id=task.owner_id)
    if task.status.is_terminal:
        return Cancelled(task, happened=False)
    return Cancelled((yield from _end_task(task)), happened=True)


def _end_task(task: Snapshot) -> Plan[Snapshot]:
    terms = (yield from in_force()).terms(task.tool, task.owner_id)
    kept = {"keep": terms.minimum_retention, "policy": terms.version}
    [ended] = yield Query(_CANCEL, {"task": task.id, "lease": conf().lease, **kept})
    return snapshot(ended)


def give_up(held: Claim) -> Snapshot:
    """Cancel the task from within: its tool, or whoever carries its handle, decided so. Raises LeaseLost."""
    task = run(_giving_up(held))
    announce(task, questions=True)
    stopped(held)
    return task


def _giving_up(held: Claim) -> Plan[Snapshot]:
    return (yield Atomic(_give_up(held)))  # type: ignore[no-any-return]


def _give_up(held: Claim) -> Plan[Snapshot]:
    task = yield from lock(held.task_id, owner_id=held.owner_id, actor=Actor.worker(held.worker))
    if task is None or not _carries(held, task):
        raise LeaseLost
    return (yield from _end_task(task))


def _carries(held: Claim, task: Snapshot) -> bool:
    """Whether this attempt still speaks for the task: it runs, or it is the one whose question is open."""
    is_waiting = task.status is Status.INPUT_REQUIRED and task.attempt == held.number
    return task.active_attempt == held.number or is_waiting


def stopped(claim: Claim) -> bool:
    """Close an attempt that saw the request and ended by itself. False when it was closed already."""
    return _end(claim, AttemptEnd.STOPPED)


def killed(claim: Claim) -> bool:
    """Close an attempt whose process is ended because it did not stop in time."""
    return _end(claim, AttemptEnd.KILLED)


def _end(claim: Claim, how: AttemptEnd) -> bool:
    params = {"task": claim.task_id, "number": claim.number, "how": how.value}
    ended = row(_END, params | {"actor": actor_json(Actor.worker(claim.worker))})
    if ended is None:
        return False
    announce(snapshot(ended))
    return True
