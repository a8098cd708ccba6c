"""What the store hands out: frozen values, made from rows, never tied to a connection."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState
from tasks_app.domain.status import Status
from tasks_app.store import codec
from tasks_app.store.db import Row


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A task as one reading saw it, without its payload."""

    id: UUID
    owner_id: int
    credential_id: int | None
    tool: str
    tool_version: int
    status: Status
    outcome: Outcome | None
    status_message: str
    progress_done: float | None
    progress_total: float | None
    attempt: int
    active_attempt: int | None
    losses: int
    retries: int
    max_retries: int
    wake_at: datetime | None
    open_questions: int
    poll_ms: int
    created_at: datetime
    updated_at: datetime
    status_at: datetime
    finished_at: datetime | None
    expires_at: datetime
    ttl_fixed: bool
    expired_at: datetime | None
    held: bool
    waiting: bool
    client: str
    request_id: str
    output_bytes: int
    version: int
    result: str | None = None
    error: str | None = None
    variables: str = "{}"
    arguments: str = "{}"
    steps: str | None = None
    """What has been done and where the last attempt failed, for a tool that plans its steps."""

    def with_payload(self, *, result: str | None, error: str | None, variables: str, arguments: str = "{}") -> Snapshot:
        """The same reading with its payload beside it."""
        return replace(self, result=result, error=error, variables=variables, arguments=arguments)


_PAYLOAD = ("result", "error", "variables", "arguments", "steps")
COLUMNS = tuple(field.name for field in fields(Snapshot) if field.name not in _PAYLOAD)


def columns(alias: str = "t") -> str:
    """The columns of a snapshot, in its order, for a SELECT or a RETURNING."""
    return ", ".join(f"{alias}.{name}" for name in COLUMNS)


# Costs nothing for a tool that plans none: then no other table is looked at.
PLANNED_STEPS = """
CASE WHEN t.tool = ANY (%(planned)s::text[]) THEN jsonb_build_object(
    'done', (SELECT coalesce(jsonb_agg(s.name ORDER BY s.position), '[]') FROM tasks_step s WHERE s.task_id = t.id),
    'failed', (SELECT a.failed_step FROM tasks_attempt a WHERE a.task_id = t.id AND a.number = t.attempt))::text END
"""


@lru_cache(maxsize=64)
def planning(tools: tuple[str, ...]) -> str:
    """What `PLANNED_STEPS` reads: the tools as Postgres reads an array, made once and not for each poll."""
    quoted = (tool.replace("\\", "\\\\").replace('"', '\\"') for tool in tools)
    return "{" + ",".join(f'"{tool}"' for tool in quoted) + "}"


_STATUS_AT = COLUMNS.index("status")
_OUTCOME_AT = COLUMNS.index("outcome")


def snapshot(row: Row) -> Snapshot:
    """A snapshot from the row of a statement that selected `columns()` first."""
    return Snapshot(*_values(row))


def full_snapshot(row: Row) -> Snapshot:
    """The same with its payload, from a statement that then selected result, error, variables and maybe arguments."""
    return Snapshot(*_values(row), *row[len(COLUMNS) :])


def _values(row: Row) -> list[Any]:
    values = list(row[: len(COLUMNS)])
    values[_STATUS_AT] = Status(values[_STATUS_AT])
    values[_OUTCOME_AT] = values[_OUTCOME_AT] and Outcome(values[_OUTCOME_AT])
    return values


def planned_snapshot(row: Row) -> Snapshot:
    """The same from a statement that selected `PLANNED_STEPS` at the end."""
    task = full_snapshot(row[:-1])
    return task if row[-1] is None else replace(task, steps=row[-1])


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question as one reading saw it."""

    id: int
    task_id: UUID
    key: str
    name: str
    position: int
    kind: QuestionKind
    audience: Audience
    request: dict[str, Any]
    state: QuestionState
    action: AnswerAction | None
    answer: dict[str, Any] | None
    answered_by: dict[str, Any] | None
    answered_via: str | None
    created_at: datetime
    closed_at: datetime | None
    expires_at: datetime


QUESTION_COLUMNS = ", ".join(f"q.{field.name}" for field in fields(QuestionView))


def question(row: Row) -> QuestionView:
    """A question from the row of a statement that selected `QUESTION_COLUMNS`."""
    (id_, task_id, key, name, position, kind, audience, request, state, action, answer, by, via, made, closed, due) = (
        row
    )
    return QuestionView(
        id_,
        task_id,
        key,
        name,
        position,
        QuestionKind(kind),
        Audience(audience),
        codec.decode(request),
        QuestionState(state),
        action and AnswerAction(action),
        answer and codec.decode(answer),
        _json(by),
        via,
        made,
        closed,
        due,
    )


def _json(value: Any) -> Any:
    # Django's connection hands jsonb out as text, the pool as a value.
    return codec.decode(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Claim:
    """The lease on one attempt: everything a worker needs to run it, and the token that its writes carry."""

    task_id: UUID
    number: int
    owner_id: int
    tool: str
    tool_version: int
    arguments: str
    variables: str
    client_capabilities: dict[str, Any]
    retries: int
    max_retries: int
    waiting: bool
    request_id: str
    created_at: datetime
    version: int
    owner: str
    worker: str


CLAIM_COLUMNS = (
    "t.id, t.attempt, t.owner_id, t.tool, t.tool_version, t.arguments, t.variables, t.client_capabilities, "
    "t.retries, t.max_retries, t.waiting, t.request_id, t.created_at, t.version, "
    "(SELECT concat_ws(':', o.kind, nullif(o.issuer, ''), o.subject) FROM tasks_owner o WHERE o.id = t.owner_id) AS owner"
)


def claim(row: Row, *, worker: str) -> Claim:
    """A claim from the row of a statement that selected `CLAIM_COLUMNS`."""
    values = [*row, worker]
    values[7] = _json(values[7])
    return Claim(*values)
