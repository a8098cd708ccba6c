"""Reading the tables the way the model keeps them, the invariants in one statement, the clock, and empty tables."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from tasks_app.store import codec
from tasks_app.store.db import rows
from tasks_app.store.invariants import INVARIANTS
from tests.properties.model_rows import Task

BASE = datetime(2030, 1, 1, tzinfo=UTC)
"""Where the clock of the model stands at zero."""

_CHILDREN = "tasks_event, tasks_expiration, tasks_tally, tasks_count, tasks_minute"


def _ms(column: str) -> str:
    return f"(extract(epoch FROM {column} - '{BASE.isoformat()}'::timestamptz) * 1000)::bigint"


_OBSERVE = f"""
SELECT t.id, jsonb_build_object(
    'status', t.status, 'outcome', t.outcome, 'attempt', t.attempt, 'active', t.active_attempt,
    'wake', {_ms("t.wake_at")}, 'open', t.open_questions, 'losses', t.losses, 'retries', t.retries, 'held', t.held,
    'created', {_ms("t.created_at")}, 'expires', {_ms("t.expires_at")}, 'expired', {_ms("t.expired_at")},
    'key', t.idempotency_key, 'done', t.progress_done, 'total', t.progress_total, 'message', t.status_message,
    'bytes', t.output_bytes,
    'attempts', (SELECT coalesce(jsonb_agg(jsonb_build_array(a.outcome, {_ms("a.lease_until")},
        a.stop_requested_at IS NOT NULL, a.stop_acknowledged_at IS NOT NULL) ORDER BY a.number), '[]')
        FROM tasks_attempt a WHERE a.task_id = t.id),
    'questions', (SELECT coalesce(jsonb_object_agg(q.name,
        jsonb_build_array(q.state, q.action, {_ms("q.expires_at")})), '{{}}')
        FROM tasks_question q WHERE q.task_id = t.id),
    'steps', (SELECT coalesce(jsonb_object_agg(s.name, jsonb_build_array(s.attempt, s.value)), '{{}}')
        FROM tasks_step s WHERE s.task_id = t.id),
    'output', (SELECT coalesce(jsonb_agg(o.text ORDER BY o."offset"), '[]') FROM tasks_output o WHERE o.task_id = t.id)
    )::text, t.variables, CASE WHEN t.attempt > 0 THEN t.result END
  FROM tasks_task t
"""
_VIOLATED = " UNION ALL ".join(
    f"(SELECT '{name}' AS name, broken.id::text FROM ({text}) AS broken(id) LIMIT 1)"
    for name, text in INVARIANTS.items()
)


def observed() -> dict[UUID, dict[str, Any]]:
    """Every task in the tables, in the words of `expected`."""
    found = {}
    for task_id, text, variables, result in rows(_OBSERVE):
        payload = {"variables": codec.decode(variables), "result": result and codec.decode(result)}
        found[task_id] = {**codec.decode(text), **payload}
    return found


def expected(task: Task) -> dict[str, Any]:
    """What the row of a task and its children must hold."""
    kept = asdict(task)
    same = ("status", "outcome", "active", "wake", "losses", "retries", "held", "created", "expires", "expired", "key",
            "done", "total", "message", "output", "variables", "result")  # fmt: skip
    return {name: kept[name] for name in same} | {
        "attempt": len(task.attempts),
        "open": len(task.open_questions()),
        "bytes": sum(len(text.encode()) for text in task.output),
        "attempts": [[each.end, each.lease, each.told, each.heard] for each in task.attempts],
        "questions": {name: [q.state, q.action, q.deadline] for name, q in task.questions.items()},
        "steps": {name: [number, codec.encode(value)] for name, (number, value) in task.steps.items()},
    }


def violated() -> list[tuple[Any, ...]]:
    """Every invariant that does not hold with one example: one statement, planned once."""
    return rows(_VIOLATED)


def keys_of(task_id: UUID) -> dict[str, str]:
    """The key of each question of a task, by its name."""
    return dict(rows("SELECT name, key FROM tasks_question WHERE task_id = %(task)s", {"task": task_id}))


def set_clock(ms: int) -> None:
    """Freeze the database's clock of this connection, so many milliseconds after the base."""
    moment = BASE + timedelta(milliseconds=ms)
    rows("SELECT set_config('tasks.fake_now', %(at)s, false)", {"at": moment.isoformat()})


def release_clock() -> None:
    """Give this connection the real time again."""
    rows("SELECT set_config('tasks.fake_now', '', false)")


def empty_tables() -> None:
    """Remove every task and everything about tasks; owners stay."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE tasks_task, {_CHILDREN} CASCADE")
