"""Asking and answering. Asking ends the attempt; the first valid answer to a question wins; the last wakes the task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.answers import validate_answer
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.limits import check_answer
from tasks_app.domain.outcome import AttemptEnd
from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState, Via, mint_key
from tasks_app.domain.results import tool_error
from tasks_app.domain.status import Status
from tasks_app.domain.text import is_storable
from tasks_app.store import codec, policy
from tasks_app.store.announce import announce
from tasks_app.store.db import Atomic, Plan, Query, actor_json, rows, run
from tasks_app.store.locking import IS_LIVE, lock, lock_unless_busy, require_reason
from tasks_app.store.rows import QUESTION_COLUMNS, Claim, QuestionView, Snapshot, columns, question, snapshot
from tasks_app.store.settle import END_ATTEMPT, Ending, record

MARGIN_SECONDS = 3600
SWEEP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """What an attempt asks before it ends. `default` is the answer that the deadline gives."""

    name: str
    request: Mapping[str, Any]
    kind: QuestionKind = QuestionKind.FORM
    position: int = 0
    seconds: float | None = None
    default: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What somebody says to a question."""

    action: AnswerAction
    content: Any = None

    def as_json(self) -> dict[str, Any]:
        """The answer as it is kept."""
        return (
            {"action": self.action.value}
            if self.content is None
            else {"action": self.action.value, "content": self.content}
        )


@dataclass(frozen=True, slots=True)
class Ignored:
    """An answer that came too late or to no question; `question` says who was first, when there is one."""

    key: str
    question: QuestionView | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of each answer, and the task after them."""

    task: Snapshot
    recorded: tuple[str, ...]
    ignored: tuple[Ignored, ...]


_SUSPEND = f"""
asking AS (
    SELECT a.*, tasks_now() + a.seconds * interval '1 second' AS until
      FROM unnest(%(keys)s::text[], %(names)s::text[], %(positions)s::int[], %(kinds)s::text[], %(requests)s::text[],
                  %(defaults)s::text[], %(seconds)s::float8[])
           AS a(key, name, position, kind, request, default_answer, seconds)),
settled AS (
    UPDATE tasks_task s SET active_attempt = NULL, status = 'input_required', open_questions = %(count)s::int,
           policy_version = %(policy)s::int, expires_at = CASE WHEN s.ttl_fixed OR s.waiting THEN s.expires_at
                             ELSE greatest(s.expires_at, tasks_now() + %(longest)s::float8 * interval '1 second') END
      FROM acting WHERE s.id = %(task)s AND s.active_attempt = %(number)s AND (s.expires_at > tasks_now() OR s.held)
     RETURNING {columns("s")}),
asked AS (
    INSERT INTO tasks_question (task_id, key, name, position, kind, request, default_answer, expires_at)
    SELECT s.id, a.key, a.name, a.position, a.kind, a.request, a.default_answer,
           CASE WHEN s.held THEN a.until ELSE least(s.expires_at, a.until) END FROM settled s, asking a)
"""
_READ = f"SELECT {QUESTION_COLUMNS} FROM tasks_question q WHERE q.task_id = %(task)s AND q.key = ANY(%(keys)s)"
_OWNER = f"""
SELECT t.owner_id FROM tasks_task t
 WHERE t.id = %(task)s AND (%(owner)s::bigint IS NULL OR t.owner_id = %(owner)s) AND {IS_LIVE}
"""
# After the lock: what is open now is what the writers before us left open.
_TAKE = """
WITH given AS (SELECT * FROM unnest(%(keys)s::text[], %(answers)s::text[], %(actions)s::text[]) AS g(key, answer, action))
UPDATE tasks_question q SET state = 'answered', answer = g.answer, action = g.action, answered_by = %(by)s::jsonb,
       answered_via = %(via)s, closed_at = tasks_now()
  FROM given g WHERE q.task_id = %(task)s AND q.key = g.key AND q.state = 'open' AND (q.expires_at > tasks_now() OR %(late)s)
RETURNING q.key
"""
_CLOSE = f"""
UPDATE tasks_task t SET open_questions = t.open_questions - %(count)s::int,
       status = CASE WHEN t.open_questions = %(count)s::int THEN 'working' ELSE t.status END,
       wake_at = CASE WHEN t.open_questions = %(count)s::int THEN tasks_now() END
 WHERE t.id = %(task)s RETURNING {columns()}
"""
_REFUSE = f"""
UPDATE tasks_task t SET open_questions = 0, status = 'completed', outcome = 'tool_error', result = %(result)s,
       finished_at = tasks_now(), policy_version = %(policy)s::int, expires_at = greatest(t.expires_at, tasks_now() + %(keep)s::float8 * interval '1 second')
 WHERE t.id = %(task)s RETURNING {columns()}
"""
# Of tasks that are past their own time nothing lapses: expiry withdraws what they ask, and its record names it.
_LAPSED = f"""
SELECT q.task_id FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
 WHERE q.state = 'open' AND q.expires_at <= tasks_now() AND {IS_LIVE} ORDER BY q.expires_at LIMIT {SWEEP}
"""
_LAPSED_OF = f"""
SELECT {QUESTION_COLUMNS}, q.default_answer FROM tasks_question q
 WHERE q.task_id = %(task)s AND q.state = 'open' AND q.expires_at <= tasks_now()
"""
_LAPSE = "UPDATE tasks_question SET state = 'expired', closed_at = tasks_now() WHERE task_id = %(task)s AND key = ANY(%(keys)s)"


def suspension(held: Claim, questions: Sequence[NewQuestion]) -> Ending:
    """The attempt ends because the tool asked; the task waits, and holds no worker."""
    terms = policy.terms(held.tool, held.owner_id)
    seconds = [asked.seconds or terms.question_ttl for asked in questions]
    params = {
        "task": held.task_id,
        "number": held.number,
        "count": len(questions),
        "keys": [mint_key(asked.name) for asked in questions],
        "names": [asked.name for asked in questions],
        "positions": [asked.position for asked in questions],
        "kinds": [asked.kind.value for asked in questions],
        "requests": [codec.encode(asked.request) for asked in questions],
        "defaults": [None if asked.default is None else codec.encode(asked.default) for asked in questions],
        "seconds": seconds,
        "longest": max(seconds) + MARGIN_SECONDS,
        "policy": terms.version,
        "end": AttemptEnd.SUSPENDED.value,
        "detail": None,
    }
    return Ending(held, f"{_SUSPEND}, {END_ATTEMPT}", params, asks=True)


def suspend(held: Claim, questions: Sequence[NewQuestion]) -> Snapshot:
    """Open these questions and end the attempt, in one write. Raises LeaseLost, or DuplicateQuestion."""
    return record(suspension(held, questions))


def answer(task_id: UUID, answers: Mapping[str, Answer], *, owner_id: int | None, by: Actor, via: Via) -> Answered:
    """Record what is the first valid answer to each open question; tell of every other why it was not.

    Raises NotFound, InvalidAnswer (then no answer was recorded), AnswerTooLarge, or NotAllowed.
    """
    done = run(answer_plan(task_id, answers, owner_id=owner_id, by=by, via=via))
    if done.recorded:
        announce(done.task, questions=True)
    return done


def answer_plan(
    task_id: UUID, answers: Mapping[str, Answer], *, owner_id: int | None, by: Actor, via: Via
) -> Plan[Answered]:
    """The steps of `answer`, for any connection. The caller announces."""
    found = yield Query(_OWNER, {"task": task_id, "owner": owner_id})
    if not found:
        raise NotFound
    read = yield _reading(task_id, answers)
    known = [question(row) for row in read]
    # The approval gate does not exist for a client: its key is as unknown as any other.
    known = [asked for asked in known if via is not Via.MCP or asked.audience is Audience.OWNER]
    checked = {asked.key: _check(asked, answers[asked.key], by, found[0][0], via) for asked in known if _is_open(asked)}
    return (yield Atomic(_answer(task_id, checked, list(answers), owner_id=owner_id, by=by, via=via)))  # type: ignore[no-any-return]


def _reading(task_id: UUID, keys: Iterable[str]) -> Query:
    # A key comes from a client and may hold what no column can: then no question has it.
    return Query(_READ, {"task": task_id, "keys": [key for key in keys if is_storable(key)]})


def _is_open(asked: QuestionView) -> bool:
    return asked.state is QuestionState.OPEN


def _check(asked: QuestionView, given: Answer, by: Actor, owner_id: int, via: Via) -> Answer:
    """Before any lock: may this actor answer, and does the answer fit?"""
    _may_answer(asked, by, owner_id)
    check_answer(given.content, limits=conf().limits)
    content = validate_answer(
        asked.request, given.action, given.content, unknown="drop" if via is Via.MCP else "refuse"
    )
    return Answer(given.action, content)


def _may_answer(asked: QuestionView, by: Actor, owner_id: int) -> None:
    is_operator = by.kind in {ActorKind.OPERATOR, ActorKind.ADMIN}
    if asked.audience is Audience.OPERATOR:
        if not is_operator:
            raise NotAllowed("Only an operator may decide this, in the console.")
        if by.id == owner_id and not conf().self_approval:
            raise NotAllowed("Somebody else than the task's owner has to approve it.")
    elif by.kind in {ActorKind.OWNER, ActorKind.CLIENT} and by.id != owner_id:
        raise NotAllowed("Only the owner answers what a task asks.")
    elif is_operator and by.id != owner_id:
        if not conf().operators_answer:
            raise NotAllowed("On this server only the owner answers what a task asks.")
        require_reason(by, owner_id=owner_id)


def _answer(
    task_id: UUID, checked: Mapping[str, Answer], keys: list[str], *, owner_id: int | None, by: Actor, via: Via
) -> Plan[Answered]:
    task = yield from lock(task_id, owner_id=owner_id, actor=by)
    if task is None:
        raise NotFound
    taken: list[str] = []
    if checked and task.status is Status.INPUT_REQUIRED:
        taken = yield from _take(task_id, checked, by, via)
    if taken:
        task = yield from _close(task, {key: checked[key] for key in taken}, by)
    ignored = yield from _why(task_id, [key for key in keys if key not in taken], via)
    return Answered(task, tuple(taken), ignored)


def _take(task_id: UUID, checked: Mapping[str, Answer], by: Actor, via: Via, *, late: bool = False) -> Plan[list[str]]:
    taken = yield Query(
        _TAKE,
        {
            "task": task_id,
            "keys": list(checked),
            "answers": [codec.encode(given.as_json()) for given in checked.values()],
            "actions": [given.action.value for given in checked.values()],
            "by": actor_json(by),
            "via": via.value,
            "late": late,
        },
    )
    return [row[0] for row in taken]


def _close(task: Snapshot, closed: Mapping[str, Answer | None], by: Actor) -> Plan[Snapshot]:
    """So many questions less; the last one wakes the task. An approval that was not given ends it instead."""
    if task.attempt == 0 and any(given is None or given.action is not AnswerAction.ACCEPT for given in closed.values()):
        result = codec.encode(tool_error(_not_approved(by)))
        terms = (yield from policy.in_force()).terms(task.tool, task.owner_id)
        kept = {"keep": terms.minimum_retention, "policy": terms.version}
        [row] = yield Query(_REFUSE, {"task": task.id, "result": result, **kept})
    else:
        [row] = yield Query(_CLOSE, {"task": task.id, "count": len(closed)})
    return snapshot(row)


def _not_approved(by: Actor) -> str:
    if by.kind is ActorKind.ENGINE:
        return "Not approved: nobody decided in time."
    return f"Not approved by {by.role or by.kind.value} {by.id}" + (f": {by.reason}" if by.reason else ".")


def _why(task_id: UUID, keys: list[str], via: Via) -> Plan[tuple[Ignored, ...]]:
    if not keys:
        return ()
    read = yield _reading(task_id, keys)
    known = {
        asked.key: asked for asked in map(question, read) if via is not Via.MCP or asked.audience is Audience.OWNER
    }
    return tuple(Ignored(key, known.get(key)) for key in keys)


def expire_questions() -> int:
    """Close one batch of questions past their deadline, each with its default answer or as expired; one task at a time."""
    tasks = list(dict.fromkeys(row[0] for row in rows(_LAPSED)))
    return sum(_lapse(task_id) for task_id in tasks)


def _lapse(task_id: UUID) -> int:
    task, count = run(_atomically(_lapse_locked(task_id)))
    if task is not None:
        announce(task, questions=True)
    return count


def _atomically(plan: Plan[tuple[Snapshot | None, int]]) -> Plan[tuple[Snapshot | None, int]]:
    return (yield Atomic(plan))  # type: ignore[no-any-return]


def _lapse_locked(task_id: UUID) -> Plan[tuple[Snapshot | None, int]]:
    actor = Actor.engine()
    task = yield from lock_unless_busy(task_id, actor=actor)
    if task is None or task.status is not Status.INPUT_REQUIRED:
        return None, 0
    lapsed = yield Query(_LAPSED_OF, {"task": task_id})
    defaults = {row[2]: _default(row[-1]) for row in lapsed}
    given = {key: default for key, default in defaults.items() if default is not None}
    if given:
        yield from _take(task_id, given, actor, Via.DEADLINE, late=True)
    dead = [key for key, default in defaults.items() if default is None]
    if dead:
        yield Query(_LAPSE, {"task": task_id, "keys": dead})
    if not defaults:
        return None, 0
    return (yield from _close(task, defaults, actor)), len(defaults)


def _default(text: str | None) -> Answer | None:
    if text is None:
        return None
    value = json.loads(text)
    return Answer(AnswerAction(value["action"]), value.get("content"))
