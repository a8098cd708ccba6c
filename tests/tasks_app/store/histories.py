"""Random lives of tasks, through the store and nothing else, and the replay of what they left in the log."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from tasks_app import store
from tasks_app.domain.errors import TaskdeckError
from tasks_app.domain.questions import Via
from tasks_app.store import queries
from tests.conftest import Person
from tests.tasks_app.store.life import ACCEPT, BROKEN, DECLINE, DONE, WORKER, ask, sql


@dataclass
class Life:
    """One task on its way."""

    owner: Person
    task_id: UUID
    claim: store.Claim | None = None


def _start(life: Life) -> None:
    life.claim = store.claim_next(WORKER)


def _end(how: Callable[[store.Claim], object]) -> Callable[[Life], None]:
    def end(life: Life) -> None:
        if life.claim is not None:
            how(life.claim)
            life.claim = None

    return end


def _answer(life: Life) -> None:
    asked = queries.open_questions(life.task_id)
    answers = {each.key: random.choice([ACCEPT, DECLINE]) for each in asked}
    if answers:
        store.answer(life.task_id, answers, owner_id=life.owner.id, by=life.owner.acts(), via=Via.CONSOLE)


def _extend(life: Life) -> None:
    store.extend(life.task_id, more=timedelta(minutes=5), owner_id=life.owner.id, by=life.owner.acts())


def _cancel(life: Life) -> None:
    store.cancel(life.task_id, owner_id=life.owner.id, by=life.owner.acts())
    if life.claim is not None:
        store.stopped(life.claim)
        life.claim = None


MOVES: list[Callable[[Life], None]] = [
    _start, _start, _answer, _extend, _cancel,
    _end(lambda claim: store.complete(claim, result=DONE)),
    _end(lambda claim: store.complete(claim, result=DONE, is_error=True)),
    _end(lambda claim: store.fail(claim, error=BROKEN)),
    _end(lambda claim: store.retry(claim, delay=0)),
    _end(lambda claim: store.suspend(claim, [ask(f"q{claim.number}")])),
]  # fmt: skip


def live(owner: Person, *, moves: int, ttl_ms: int) -> UUID:
    """A task that a few random things happen to, one after the other; what is refused does not happen."""
    task = store.create(store.NewTask(owner_id=owner.id, tool="echo", ttl_ms=ttl_ms)).task
    life = Life(owner, task.id)
    for _ in range(moves):
        try:
            random.choice(MOVES)(life)
        except TaskdeckError:
            continue
    # Out of the way: the next life claims its own task.
    _end(lambda claim: store.complete(claim, result=DONE))(life)
    if queries.get(task.id, owner_id=None).wake_at is not None:
        _cancel(life)
    return task.id


def replayed(events: list[tuple[Any, ...]]) -> dict[str, Any]:
    """What the log of one task says that its row must be."""
    state: dict[str, Any] = {"status": None, "outcome": None, "attempt": 0, "held": False, "expired": False, "open": 0}
    for kind, to_status, attempt, detail in events:
        if to_status is not None:
            state["status"] = to_status
            state["outcome"] = detail.get("outcome", state["outcome"])
        if kind == "attempt_started":
            state["attempt"] = attempt
        state["open"] += {"asked": 1, "answered": -1, "withdrawn": -1, "question_expired": -1}.get(kind, 0)
        state["held"] = {"held": True, "hold_lifted": False}.get(kind, state["held"])
        state["expired"] = state["expired"] or kind == "expired"
        if kind == "ttl":
            state["expires"] = detail["to"]
    return state


def histories() -> Mapping[UUID, list[tuple[Any, ...]]]:
    """The log of every task, in order."""
    found: dict[UUID, list[tuple[Any, ...]]] = {}
    for task_id, *event in sql(
        "SELECT task_id, kind, to_status, attempt, detail::text FROM tasks_event WHERE task_id IS NOT NULL ORDER BY id"
    ):
        kind, to_status, attempt, detail = event
        found.setdefault(task_id, []).append((kind, to_status, attempt, store.codec.decode(detail)))
    return found


def rows() -> Mapping[UUID, dict[str, Any]]:
    """Every task row, in the words of `replayed`."""
    text = """SELECT id, status, outcome, attempt, held, expired_at IS NOT NULL, open_questions,
                     CASE WHEN EXISTS (SELECT 1 FROM tasks_event e WHERE e.task_id = t.id AND e.kind = 'ttl')
                          THEN to_jsonb(t.expires_at) #>> '{}' END FROM tasks_task t"""
    names = ("status", "outcome", "attempt", "held", "expired", "open", "expires")
    return {
        task_id: {name: value for name, value in zip(names, values, strict=True) if name != "expires" or value}
        for task_id, *values in sql(text)
    }
