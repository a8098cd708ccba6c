"""The read side: by owner, by keyset, never a count over tasks. Everything here only reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tasks_app.domain.errors import NotFound, NotReady
from tasks_app.domain.identity import token_digest
from tasks_app.domain.status import Status
from tasks_app.store import codec
from tasks_app.store.db import Plan, Query, Row, row, rows, run
from tasks_app.store.fetch import AGAIN_SECONDS
from tasks_app.store.identity import IS_VALID, Caller
from tasks_app.store.locking import IS_LIVE
from tasks_app.store.rows import (
    PLANNED_STEPS,
    QUESTION_COLUMNS,
    QuestionView,
    Snapshot,
    columns,
    full_snapshot,
    planned_snapshot,
    planning,
    question,
    snapshot,
)

_OWNED = "(%(owner)s::bigint IS NULL OR t.owner_id = %(owner)s)"
_PAYLOAD = "t.result, t.error, t.variables"
_GET = f"""
SELECT {columns()}, {_PAYLOAD}, t.arguments, {PLANNED_STEPS} FROM tasks_task t WHERE t.id = %(task)s AND {_OWNED} AND {IS_LIVE}
"""
# For people who look into the past: also what has expired and is not yet purged, then without its payload.
_LOOK = f"SELECT {columns()}, {_PAYLOAD}, t.arguments, {IS_LIVE} FROM tasks_task t WHERE t.id = %(task)s AND {_OWNED}"
_OPEN = f"""
SELECT {QUESTION_COLUMNS} FROM tasks_question q
 WHERE q.task_id = %(task)s AND q.state = 'open' AND q.expires_at > tasks_now() ORDER BY q.id
"""
POLL_COLUMNS = f"""
       c.id, c.owner_id, c.scopes, c.used_at IS NULL OR c.used_at < tasks_now() - interval '1 minute',
       t.finished_at IS NOT NULL AND (f.last_at IS NULL OR f.last_at <= tasks_now() - interval '{AGAIN_SECONDS} seconds'),
       {columns()}, {_PAYLOAD}, {PLANNED_STEPS}
"""
# The hot path of a poll: who asks, and the task if it is theirs, in one statement.
_POLL = f"""
SELECT {POLL_COLUMNS}
  FROM tasks_credential c
  LEFT JOIN tasks_task t ON t.id = %(task)s AND t.owner_id = c.owner_id AND {IS_LIVE}
  LEFT JOIN tasks_fetch f ON f.task_id = t.id
 WHERE c.digest = %(digest)s AND {IS_VALID}
"""
_PAGE = f"""
SELECT {columns()} FROM tasks_task t
 WHERE {{scope}} AND {IS_LIVE} {{after}} {{status}} ORDER BY t.created_at DESC, t.id DESC LIMIT %(limit)s
"""
_AFTER = "AND (t.created_at, t.id) < (%(at)s, %(id)s)"
_STATUS = "AND t.status = ANY(%(statuses)s)"
_TIMELINE = """
SELECT id, kind, from_status, to_status, attempt, actor, detail, at FROM tasks_event
 WHERE task_id = %(task)s AND id > %(after)s ORDER BY id LIMIT %(limit)s
"""
_ATTEMPTS = """
SELECT number, worker, started_at, lease_until, stop_requested_at, stop_acknowledged_at, ended_at, outcome, detail,
       failed_step
  FROM tasks_attempt WHERE task_id = %(task)s ORDER BY number
"""
_QUESTIONS = f"SELECT {QUESTION_COLUMNS} FROM tasks_question q WHERE q.task_id = %(task)s ORDER BY q.id"
_OUTPUT = """
SELECT "offset", size, text, at FROM tasks_output WHERE task_id = %(task)s AND "offset" >= %(after)s ORDER BY "offset" LIMIT %(limit)s
"""
_TAIL = f"""
SELECT * FROM ({_OUTPUT.replace('ORDER BY "offset"', 'ORDER BY "offset" DESC')}) newest ORDER BY "offset"
"""
_READS = """
SELECT c.name, f.times, f.first_at, f.last_at, r.name FROM tasks_task t
  LEFT JOIN tasks_credential c ON c.id = t.credential_id
  LEFT JOIN tasks_fetch f ON f.task_id = t.id LEFT JOIN tasks_credential r ON r.id = f.credential_id
 WHERE t.id = %(task)s
"""
_STEPS = """
SELECT name, position, attempt, octet_length(value), created_at FROM tasks_step WHERE task_id = %(task)s ORDER BY position
"""


class Cursor(NamedTuple):
    """Where a page ends: the next one begins after this task."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Page:
    """Tasks, newest first, and where the next page begins (None: this was the last)."""

    tasks: tuple[Snapshot, ...]
    following: Cursor | None


@dataclass(frozen=True, slots=True)
class Poll:
    """What one poll learned: who asks, the task if it is theirs, and what is to be noted off the hot path."""

    caller: Caller
    task: Snapshot | None
    notes_use: bool
    notes_fetch: bool


@dataclass(frozen=True, slots=True)
class EventView:
    """One entry of a timeline."""

    id: int
    kind: str
    from_status: str | None
    to_status: str | None
    attempt: int | None
    actor: Mapping[str, Any]
    detail: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One run of a task."""

    number: int
    worker: str
    started_at: datetime
    lease_until: datetime
    stop_requested_at: datetime | None
    stop_acknowledged_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    detail: str | None
    failed_step: str | None = None


@dataclass(frozen=True, slots=True)
class StepView:
    """A step that a task has done."""

    name: str
    position: int
    attempt: int
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class OutputView:
    """One chunk of a task's log."""

    offset: int
    size: int
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReadsView:
    """By which token a task was made, and how often and by which its outcome was read first."""

    token: str | None
    times: int
    first_at: datetime | None
    last_at: datetime | None
    by: str | None


def get(task_id: UUID, *, owner_id: int | None) -> Snapshot:
    """A task with its payload. Raises NotFound for one that is unknown, another's or expired: all the same."""
    return run(get_plan(task_id, owner_id=owner_id))


def get_plan(task_id: UUID, *, owner_id: int | None, planned: Sequence[str] = ()) -> Plan[Snapshot]:
    """The one statement of `get`, for any connection; with the steps of a task whose tool is one of the planned."""
    found = yield Query(_GET, {"task": task_id, "owner": owner_id, "planned": planning(tuple(planned))})
    if not found:
        raise NotFound
    return planned_snapshot(found[0])


def look(task_id: UUID, *, owner_id: int | None) -> Snapshot:
    """A task even after its time, then without its payload. Raises NotFound for one that is unknown, another's or purged."""
    found = row(_LOOK, {"task": task_id, "owner": owner_id})
    if found is None:
        raise NotFound
    *values, is_live = found
    task = full_snapshot(tuple(values))
    return task if is_live else replace(task, result=None, error=None, variables="{}", arguments="{}")


def result(task_id: UUID, *, owner_id: int | None) -> dict[str, Any]:
    """What the tool returned, or the protocol error that it ended with. Raises NotReady before the end, NotFound."""
    task = get(task_id, owner_id=owner_id)
    if not task.status.is_terminal:
        raise NotReady
    payload = task.result or task.error
    return {} if payload is None else codec.decode(payload)


def poll(token: str, task_id: UUID) -> Poll | None:
    """Who presents this token and the task if it is theirs; None for a token that is not in force."""
    return run(poll_plan(token, task_id))


def poll_plan(token: str, task_id: UUID, *, planned: Sequence[str] = ()) -> Plan[Poll | None]:
    """The one statement of `poll`, for any connection; `planned` as for `get_plan`."""
    found = yield Query(_POLL, {"digest": token_digest(token), "task": task_id, "planned": planning(tuple(planned))})
    return read_poll(found[0]) if found else None


def read_poll(row: Row) -> Poll:
    """What a statement that selected `POLL_COLUMNS` found."""
    credential_id, owner_id, scopes, notes_use, notes_fetch, *values = row
    caller = Caller(owner_id, credential_id, frozenset(scopes))
    if values[0] is None:
        return Poll(caller, None, notes_use, notes_fetch=False)
    return Poll(caller, planned_snapshot(tuple(values)), notes_use, bool(notes_fetch))


def open_questions(task_id: UUID) -> list[QuestionView]:
    """What a task asks now, of everyone; the caller has made sure that the task is theirs."""
    return run(open_questions_plan(task_id))


def open_questions_plan(task_id: UUID) -> Plan[list[QuestionView]]:
    """The one statement of `open_questions`, for any connection."""
    found = yield Query(_OPEN, {"task": task_id})
    return [question(each) for each in found]


def page(*, owner_id: int | None, after: Cursor | None = None, limit: int, statuses: Sequence[Status] = ()) -> Page:
    """Tasks that have not expired, newest first, from a place that stays the same while new ones arrive."""
    return run(page_plan(owner_id=owner_id, after=after, limit=limit, statuses=statuses))


def page_plan(
    *, owner_id: int | None, after: Cursor | None = None, limit: int, statuses: Sequence[Status] = ()
) -> Plan[Page]:
    """The steps of `page`, for any connection."""
    # One text for each shape of the question, so that each has the plan of its own index.
    text = _PAGE.format(
        scope="true" if owner_id is None else "t.owner_id = %(owner)s",
        after=_AFTER if after else "",
        status=_STATUS if statuses else "",
    )
    place = {"at": after.created_at, "id": after.id} if after else {}
    params = {"owner": owner_id, "limit": limit + 1, "statuses": [status.value for status in statuses], **place}
    tasks = tuple(snapshot(found) for found in (yield Query(text, params)))
    last = tasks[limit - 1] if len(tasks) > limit else None
    return Page(tasks[:limit], Cursor(last.created_at, last.id) if last else None)


def timeline(task_id: UUID, *, after: int = 0, limit: int = 1000) -> list[EventView]:
    """What happened to a task, oldest first; it outlives the task."""
    found = rows(_TIMELINE, {"task": task_id, "after": after, "limit": limit})
    return [EventView(*(*each[:5], _json(each[5]), _json(each[6]), each[7])) for each in found]


def attempts(task_id: UUID) -> list[AttemptView]:
    """The runs of a task, first to last."""
    return [AttemptView(*each) for each in rows(_ATTEMPTS, {"task": task_id})]


def questions(task_id: UUID) -> list[QuestionView]:
    """Everything a task has asked, open or not."""
    return [question(each) for each in rows(_QUESTIONS, {"task": task_id})]


def output(task_id: UUID, *, after: int = 0, limit: int = 1000) -> list[OutputView]:
    """The log of a task from this offset on."""
    return [OutputView(*each) for each in rows(_OUTPUT, {"task": task_id, "after": after, "limit": limit})]


def output_tail(task_id: UUID, *, limit: int) -> list[OutputView]:
    """The newest chunks of a task's log, oldest first."""
    return [OutputView(*each) for each in rows(_TAIL, {"task": task_id, "after": 0, "limit": limit})]


def reads(task_id: UUID) -> ReadsView:
    """Who made a task and whether its outcome was ever read over the protocol."""
    token, times, first_at, last_at, by = row(_READS, {"task": task_id}) or (None,) * 5
    return ReadsView(token, times or 0, first_at, last_at, by)


def _json(value: Any) -> Any:
    return codec.decode(value) if isinstance(value, str) else value


def now() -> datetime:
    """What the database's clock shows: what ages and countdowns are counted from."""
    [at] = row("SELECT tasks_now()") or (None,)
    assert isinstance(at, datetime)
    return at


def steps(task_id: UUID) -> list[StepView]:
    """The steps that a task has recorded, in their order, without their values."""
    return [StepView(*each) for each in rows(_STEPS, {"task": task_id})]
