"""What an attempt writes while it runs: steps, output, progress, message, variables. Each write carries its token.

Each is fenced by the task row, which it locks: an insert into a child alone would not see that the lease is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.conf import conf
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.text import clean_text
from tasks_app.domain.variables import merge
from tasks_app.store import codec
from tasks_app.store.announce import announce
from tasks_app.store.db import Atomic, Plan, Query, row, rows, run
from tasks_app.store.rows import QUESTION_COLUMNS, Claim, QuestionView, Snapshot, columns, question, snapshot
from tasks_app.store.settle import MESSAGE_CHARACTERS

LINE_CHARACTERS = 65_536

_FENCE = "t.id = %(task)s AND t.active_attempt = %(number)s AND (t.expires_at > tasks_now() OR t.held)"
_STEP = f"""
WITH t AS (SELECT {columns()} FROM tasks_task t WHERE {_FENCE} FOR NO KEY UPDATE),
step AS (
    INSERT INTO tasks_step (task_id, name, position, attempt, value)
    SELECT t.id, %(name)s, %(position)s::int, %(number)s, %(value)s FROM t ON CONFLICT (task_id, name) DO NOTHING)
SELECT {columns()} FROM t
"""
# The counter on the task gives each chunk its place, so that two writers of one attempt cannot take the same.
_OUTPUT = f"""
WITH t AS (UPDATE tasks_task t SET output_bytes = t.output_bytes + %(size)s::bigint WHERE {_FENCE} RETURNING {columns()}),
chunk AS (
    INSERT INTO tasks_output (task_id, "offset", size, attempt, text)
    SELECT t.id, t.output_bytes - %(size)s::bigint, %(size)s::int, %(number)s, %(text)s FROM t)
SELECT {columns()} FROM t
"""
# Monotonic while the total stays the same.
_PROGRESS = f"""
UPDATE tasks_task t SET
       progress_done = CASE WHEN %(total)s::float8 IS DISTINCT FROM t.progress_total THEN %(done)s::float8
                            ELSE greatest(t.progress_done, %(done)s::float8) END,
       progress_total = %(total)s::float8, status_message = coalesce(%(message)s, t.status_message)
 WHERE {_FENCE} RETURNING {columns()}
"""
_MESSAGE = f"UPDATE tasks_task t SET status_message = %(message)s WHERE {_FENCE} RETURNING {columns()}"
_READ_VARIABLES = f"SELECT t.variables FROM tasks_task t WHERE {_FENCE} FOR NO KEY UPDATE"
_WRITE_VARIABLES = f"UPDATE tasks_task t SET variables = %(variables)s WHERE {_FENCE} RETURNING {columns()}"
_HOLDS = f"SELECT 1 FROM tasks_task t WHERE {_FENCE}"
_STEPS = "SELECT name, position, attempt, value FROM tasks_step WHERE task_id = %(task)s ORDER BY position"
_ASKED = f"""
SELECT {QUESTION_COLUMNS} FROM tasks_question q WHERE q.task_id = %(task)s AND q.audience = 'owner' ORDER BY q.position, q.id
"""


@dataclass(frozen=True, slots=True)
class StepView:
    """A step that was recorded."""

    name: str
    position: int
    attempt: int
    value: Any


@dataclass(frozen=True, slots=True)
class History:
    """What earlier attempts left: the steps and questions that a replay finds in place."""

    steps: tuple[StepView, ...]
    questions: tuple[QuestionView, ...]


def save_step(held: Claim, *, name: str, position: int, value: Any) -> None:
    """Remember a step's value. A step of this name that is there already stays. Raises LeaseLost."""
    params = {**_fence(held), "name": name, "position": position, "value": codec.encode(value)}
    _changed(_STEP, params)


def write_output(held: Claim, text: str) -> Snapshot:
    """Append to the task's log. Raises LeaseLost."""
    clean = clean_text(text, LINE_CHARACTERS)
    return _changed(_OUTPUT, {**_fence(held), "text": clean, "size": len(clean.encode())})


def set_progress(held: Claim, *, done: float, total: float | None = None, message: str | None = None) -> Snapshot:
    """Say how far the tool has come; within an attempt it never goes back. Raises LeaseLost."""
    text = None if message is None else clean_text(message, MESSAGE_CHARACTERS)
    return _changed(_PROGRESS, {**_fence(held), "done": done, "total": total, "message": text})


def set_message(held: Claim, message: str) -> Snapshot:
    """Say in words what the tool is doing. Raises LeaseLost."""
    return _changed(_MESSAGE, {**_fence(held), "message": clean_text(message, MESSAGE_CHARACTERS)})


def set_variables(held: Claim, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge into the task's variables; null deletes. Raises LeaseLost, or a limit, with nothing changed."""
    task, merged = run(_merging(held, changes))
    announce(task)
    return merged


def _merging(held: Claim, changes: Mapping[str, Any]) -> Plan[tuple[Snapshot, dict[str, Any]]]:
    return (yield Atomic(_merge(held, changes)))  # type: ignore[no-any-return]


def _merge(held: Claim, changes: Mapping[str, Any]) -> Plan[tuple[Snapshot, dict[str, Any]]]:
    found = yield Query(_READ_VARIABLES, _fence(held))
    if not found:
        raise LeaseLost
    merged = merge(codec.decode(found[0][0]), changes, conf().limits)
    [changed] = yield Query(_WRITE_VARIABLES, {**_fence(held), "variables": codec.encode(merged)})
    return snapshot(changed), merged


def holds(held: Claim) -> bool:
    """Whether the attempt may still record something."""
    return row(_HOLDS, _fence(held)) is not None


def history(held: Claim) -> History:
    """What a replay finds in place. An operator's approval is not part of it: the tool never asked for it."""
    steps = tuple(
        StepView(name, at, number, codec.decode(value)) for name, at, number, value in rows(_STEPS, _fence(held))
    )
    return History(steps, tuple(question(found) for found in rows(_ASKED, _fence(held))))


def _fence(held: Claim) -> dict[str, Any]:
    return {"task": held.task_id, "number": held.number}


def _changed(text: str, params: Mapping[str, Any]) -> Snapshot:
    found = row(text, params)
    if found is None:
        raise LeaseLost
    task = snapshot(found)
    announce(task)
    return task
