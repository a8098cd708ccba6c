"""The end of a task's time: expiry with its record, extension, hold, and purge. Nothing is ever deleted silently."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError

from tasks_app.conf import conf
from tasks_app.domain.errors import NotAllowed, NotFound, TaskdeckError
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.policy import Policy
from tasks_app.store import codec
from tasks_app.store.announce import announce
from tasks_app.store.cancel import STOP_CHILDREN
from tasks_app.store.db import ACTOR, Atomic, Plan, Query, actor_json, atomic, row, rows, run
from tasks_app.store.locking import lock, lock_even_expired, require_reason
from tasks_app.store.policy import IS_KEPT, PURGE_AFTER, RULE_OF_TASK, current, rule_params
from tasks_app.store.rows import Snapshot, columns, snapshot

BATCH = 500
HOLD_AHEAD_SECONDS = 60
BY_POLICY = "policy"
EXPIRED = {"code": -32603, "message": "The task expired before it ended.", "data": {"reason": "expired"}}

logger = logging.getLogger(__name__)

_IS_DUE = "t.expires_at <= tasks_now() AND t.expired_at IS NULL AND NOT t.held"
# One record a task, in the statement that marks it: sizes, a digest, names and times, no payload. It reads what the task
# asks as it was before the same statement withdraws it. The digest is that of arguments, result, error and variables, and
# of the digests of each step and question after them. What a tool printed is counted only: to read it all again could
# take longer than a statement may.
_RECORD = """
INSERT INTO tasks_expiration (task_id, owner_id, credential_id, tool, client, status, outcome, was_live, status_then,
    created_at, finished_at, due_at, observed_at, ttl_fixed, ttl_changes, extended_times, cancelled_by, fetched_times,
    first_fetched_at, last_fetched_at, fetched_by, unanswered, payload_bytes, payload_sizes, payload_sha256, policy_version)
SELECT t.id, t.owner_id, t.credential_id, t.tool, t.client, t.status, t.outcome, t.outcome = 'expired',
    CASE WHEN t.outcome <> 'expired' THEN t.status WHEN asked.open IS NOT NULL THEN 'input_required' ELSE 'working' END,
    t.created_at, t.finished_at, t.expires_at, t.expired_at, t.ttl_fixed,
    (SELECT coalesce(jsonb_agg(e.detail || jsonb_build_object('at', e.at, 'by', e.actor) ORDER BY e.id), '[]')
       FROM tasks_event e WHERE e.task_id = t.id AND e.kind = 'ttl'),
    (SELECT count(*) FROM tasks_event e WHERE e.task_id = t.id AND e.kind = 'ttl' AND e.detail ->> 'why' = 'extended'),
    (SELECT e.actor FROM tasks_event e WHERE e.task_id = t.id AND e.to_status = 'cancelled'),
    coalesce(f.times, 0), f.first_at, f.last_at, f.credential_id,
    coalesce(asked.open, '[]'),
    octet_length(t.arguments) + coalesce(octet_length(t.result), 0) + coalesce(octet_length(t.error), 0)
        + octet_length(t.variables) + t.output_bytes + made.bytes + asked.bytes,
    jsonb_build_object('arguments', octet_length(t.arguments), 'result', coalesce(octet_length(t.result), 0),
        'error', coalesce(octet_length(t.error), 0), 'variables', octet_length(t.variables), 'output', t.output_bytes,
        'steps', made.bytes, 'questions', asked.bytes),
    sha256(convert_to(t.arguments || coalesce(t.result, '') || coalesce(t.error, '') || t.variables, 'UTF8')
        || made.digests || asked.digests), t.policy_version
  FROM ended t LEFT JOIN tasks_fetch f ON f.task_id = t.id
 CROSS JOIN LATERAL (
    SELECT coalesce(sum(octet_length(s.value)), 0)::bigint AS bytes,
           coalesce(string_agg(sha256(convert_to(s.value, 'UTF8')), '' ORDER BY s.position), '') AS digests
      FROM tasks_step s WHERE s.task_id = t.id) made
 CROSS JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('key', q.key, 'name', q.name, 'since', q.created_at) ORDER BY q.id)
               FILTER (WHERE q.state = 'open') AS open,
           coalesce(sum(octet_length(said.text)), 0)::bigint AS bytes,
           coalesce(string_agg(sha256(convert_to(said.text, 'UTF8')), '' ORDER BY q.id), '') AS digests
      FROM tasks_question q
     CROSS JOIN LATERAL (SELECT q.request || coalesce(q.default_answer, '') || coalesce(q.answer, '') AS text) said
     WHERE q.task_id = t.id) asked
"""
_EXPIRE_LIVE = f"""
WITH {STOP_CHILDREN},
ended AS (
    UPDATE tasks_task t SET status = 'failed', outcome = 'expired', error = %(error)s, finished_at = tasks_now(),
           expired_at = tasks_now(), active_attempt = NULL, wake_at = NULL, open_questions = 0, idempotency_key = NULL
     WHERE t.id = %(task)s AND {_IS_DUE} AND t.finished_at IS NULL RETURNING t.*),
record AS ({_RECORD})
SELECT {columns()} FROM ended t
"""
_EXPIRE_SOME = f"""
WITH {ACTOR},
due AS (SELECT t.id FROM tasks_task t, acting WHERE t.id = ANY(%(tasks)s) AND {{is_due}} AND t.finished_at IS NOT NULL
           FOR NO KEY UPDATE OF t SKIP LOCKED),
ended AS (UPDATE tasks_task t SET expired_at = tasks_now(), idempotency_key = NULL FROM due WHERE t.id = due.id RETURNING t.*),
record AS ({_RECORD})
SELECT {columns()} FROM ended t
"""
_EXPIRE_FINISHED = _EXPIRE_SOME.format(is_due=_IS_DUE)
_EXPIRE_EARLY = _EXPIRE_SOME.format(is_due="t.expired_at IS NULL AND NOT t.held")
_DUE_SOME = f"SELECT t.id, t.finished_at IS NULL FROM tasks_task t {{rule}} WHERE {_IS_DUE} {{but}} ORDER BY t.expires_at LIMIT {BATCH}"
_DUE = _DUE_SOME.format(rule="", but="")
# What a rule keeps is held before its time is over; where that failed, it is left until it does not.
_DUE_BY_RULE = _DUE_SOME.format(rule=RULE_OF_TASK, but=f"AND NOT {IS_KEPT}")
_EXTEND = f"""
UPDATE tasks_task t SET expires_at = least(t.created_at + %(keep)s::float8 * interval '1 second',
                                           t.expires_at + %(more)s::float8 * interval '1 second')
 WHERE t.id = %(task)s AND t.expires_at < t.created_at + %(keep)s::float8 * interval '1 second' RETURNING {columns()}
"""
_HOLD = f"UPDATE tasks_task t SET held = %(held)s WHERE t.id = %(task)s RETURNING {columns()}"
# Children first in the text, all in one statement: foreign keys are checked at its commit.
_PURGE_SOME = f"""
WITH {ACTOR},
doomed AS (
    SELECT t.id FROM tasks_task t {{rule}} CROSS JOIN acting WHERE {{is_over}} AND NOT t.held
       AND NOT EXISTS (SELECT 1 FROM tasks_attempt a WHERE a.task_id = t.id AND a.ended_at IS NULL)
     ORDER BY t.expired_at LIMIT {BATCH} FOR UPDATE OF t SKIP LOCKED),
a AS (DELETE FROM tasks_attempt WHERE task_id = ANY (ARRAY(SELECT id FROM doomed))),
q AS (DELETE FROM tasks_question WHERE task_id = ANY (ARRAY(SELECT id FROM doomed))),
s AS (DELETE FROM tasks_step WHERE task_id = ANY (ARRAY(SELECT id FROM doomed))),
o AS (DELETE FROM tasks_output WHERE task_id = ANY (ARRAY(SELECT id FROM doomed))),
f AS (DELETE FROM tasks_fetch WHERE task_id = ANY (ARRAY(SELECT id FROM doomed))),
gone AS (DELETE FROM tasks_task WHERE id = ANY (ARRAY(SELECT id FROM doomed)) RETURNING id)
SELECT count(*) FROM gone
"""
_PURGE = _PURGE_SOME.format(rule="", is_over="t.expired_at < tasks_now() - %(after)s::float8 * interval '1 second'")
# The soonest of all rules bounds the search in the index; the task's own rule decides.
_PURGE_BY_RULE = _PURGE_SOME.format(
    rule=RULE_OF_TASK,
    is_over=f"t.expired_at < tasks_now() - %(soonest)s::float8 * interval '1 second' "
    f"AND t.expired_at < tasks_now() - {PURGE_AFTER} AND NOT {IS_KEPT}",
)
_PURGE_EARLY = _PURGE_SOME.format(rule="", is_over="t.expired_at IS NOT NULL AND t.id = ANY(%(tasks)s)")
# Before their time is over, so that no reader ever finds one expired that is to be held. A hold that a person put on a
# task is only theirs to lift; one without an entry in the log came with the creation.
_HOLD_BY_RULE = f"""
WITH {ACTOR},
moved AS (
    SELECT t.id, {IS_KEPT} AS held FROM tasks_task t {RULE_OF_TASK} CROSS JOIN acting
     WHERE t.expired_at IS NULL AND t.expires_at <= tasks_now() + interval '{HOLD_AHEAD_SECONDS} seconds' AND t.held <> {IS_KEPT}
       AND (NOT t.held OR coalesce((SELECT e.actor ->> 'via' FROM tasks_event e WHERE e.task_id = t.id AND e.kind = 'held'
                                     ORDER BY e.id DESC LIMIT 1), '{BY_POLICY}') = '{BY_POLICY}')
     ORDER BY t.expires_at LIMIT {BATCH} FOR NO KEY UPDATE OF t SKIP LOCKED)
UPDATE tasks_task t SET held = moved.held FROM moved WHERE t.id = moved.id RETURNING {columns()}
"""


def expire(*, by: Actor | None = None) -> int:
    """Expire one batch of what is past its time and give how many: live tasks one by one, finished ones together."""
    actor = by or Actor.engine()
    policy = current()
    _hold_all_by_policy()
    due = rows(_DUE_BY_RULE, _holds(policy)) if policy.rules else rows(_DUE)
    live = sum(_expire_live(task_id, actor) for task_id, is_live in due if is_live)
    finished = [task_id for task_id, is_live in due if not is_live]
    return live + (_expire_finished(_EXPIRE_FINISHED, finished, actor) if finished else 0)


def _expire_finished(text: str, task_ids: Sequence[UUID], actor: Actor) -> int:
    ended = rows(text, {"tasks": list(task_ids), "actor": actor_json(actor)})
    for each in ended:
        announce(snapshot(each))
    return len(ended)


def _hold_all_by_policy() -> None:
    """A fault here must not keep everything else from its expiry; what is to be held is not expired by it either."""
    try:
        while hold_by_policy() == BATCH:
            pass
    except (DatabaseError, TaskdeckError):
        logger.exception("what the policy keeps could not be held")


def hold_by_policy() -> int:
    """Hold one batch of tasks near their end that the policy keeps, let go of those that it kept; gives how many."""
    policy = current()
    if not policy.version:
        return 0
    by = Actor(ActorKind.ENGINE, via=BY_POLICY, reason=f"policy version {policy.version}")
    changed = [snapshot(each) for each in rows(_HOLD_BY_RULE, {**_holds(policy), "actor": actor_json(by)})]
    for task in changed:
        announce(task)
    return len(changed)


def _holds(policy: Policy) -> dict[str, Any]:
    return {
        name: value for name, value in rule_params(policy).items() if name in {"owners", "tools", "purges", "holds"}
    }


def _expire_live(task_id: UUID, actor: Actor) -> int:
    ended = run(_atomically(_expire_locked(task_id, actor, waits=False)))
    if ended is None:
        return 0
    announce(ended, questions=True)
    return 1


def expire_one(task_id: UUID) -> Plan[Snapshot | None]:
    """Expire this task now, when it is past its time; for callers that it stands in the way of."""
    found = yield Query("SELECT finished_at IS NOT NULL FROM tasks_task WHERE id = %(task)s", {"task": task_id})
    if found and found[0][0]:
        ended = yield Query(_EXPIRE_FINISHED, {"tasks": [task_id], "actor": actor_json(Actor.engine())})
        return snapshot(ended[0]) if ended else None
    return (yield Atomic(_expire_locked(task_id, Actor.engine(), waits=True)))  # type: ignore[no-any-return]


def _expire_locked(task_id: UUID, actor: Actor, *, waits: bool) -> Plan[Snapshot | None]:
    task = yield from lock_even_expired(task_id, actor=actor, waits=waits)
    if task is None or task.status.is_terminal:
        return None
    ended = yield Query(_EXPIRE_LIVE, {"task": task_id, "error": codec.encode(EXPIRED), "lease": conf().lease})
    return snapshot(ended[0]) if ended else None


def _atomically(plan: Plan[Snapshot | None]) -> Plan[Snapshot | None]:
    return (yield Atomic(plan))  # type: ignore[no-any-return]


def extend(task_id: UUID, *, more: timedelta, owner_id: int | None, by: Actor) -> Snapshot:
    """Keep a task for longer, up to the longest that the server keeps one. Never brings an expired task back.

    Raises NotFound, or NotAllowed when it is kept as long as possible already or a needed reason is missing.
    """
    if more <= timedelta(0):
        raise NotAllowed("Extend by a positive time.")
    keep = conf().max_keep
    # More than that would not be granted anyway, and an interval does not hold every number.
    longer = Query(_EXTEND, {"more": min(more.total_seconds(), keep), "keep": keep})
    task = run(_atomically(_change(task_id, owner_id, by, longer)))
    if task is None:
        raise NotAllowed("This task is already kept for as long as this server keeps one.")
    announce(task)
    return task


def hold(task_id: UUID, *, held: bool, owner_id: int | None, by: Actor) -> Snapshot:
    """Put a legal hold on a task, or lift it: while held it neither expires nor is purged. Raises NotFound."""
    task = run(_atomically(_change(task_id, owner_id, by, Query(_HOLD, {"held": held}))))
    if task is None:
        raise NotFound
    announce(task)
    return task


def hold_expired(task_id: UUID, *, held: bool, by: Actor) -> None:
    """The same for a task whose expiry is recorded: it stays expired, but while held it is not purged. Raises NotFound."""
    task = run(_atomically(_hold_expired(task_id, by, held)))
    if task is None:
        raise NotFound
    announce(task)


def _hold_expired(task_id: UUID, by: Actor, held: bool) -> Plan[Snapshot | None]:
    task = yield from lock_even_expired(task_id, actor=by, waits=True)
    # What is past its time but not yet seen would be brought back.
    if task is None or task.expired_at is None:
        return None
    require_reason(by, owner_id=task.owner_id)
    changed = yield Query(_HOLD, {"task": task_id, "held": held})
    return snapshot(changed[0]) if changed else None


def _change(task_id: UUID, owner_id: int | None, by: Actor, query: Query) -> Plan[Snapshot | None]:
    task = yield from lock(task_id, owner_id=owner_id, actor=by)
    if task is None:
        raise NotFound
    require_reason(by, owner_id=task.owner_id)
    changed = yield Query(query.text, {**query.params, "task": task_id})
    return snapshot(changed[0]) if changed else None


def purge(*, by: Actor | None = None) -> int:
    """Delete one batch of tasks whose retention is over, with their children, and give how many. Records and events stay."""
    policy = current()
    actor = {"actor": actor_json(by or Actor.engine())}
    if policy.rules:
        done = row(_PURGE_BY_RULE, {**rule_params(policy), **actor})
    else:
        done = row(_PURGE, {"after": policy.settings.purge_after, **actor})
    return int(done[0]) if done else 0


def purge_now(task_ids: Sequence[UUID], *, by: Actor) -> int:
    """Expire these finished tasks before their time and delete them at once, and give how many are gone.

    What is live, held, or has a worker that still stops is left. Records and events stay.
    """
    gone = 0
    for start in range(0, len(task_ids), BATCH):
        some = task_ids[start : start + BATCH]
        with atomic():
            _expire_finished(_EXPIRE_EARLY, some, by)
            done = row(_PURGE_EARLY, {"tasks": list(some), "actor": actor_json(by)})
        gone += int(done[0]) if done else 0
    return gone
