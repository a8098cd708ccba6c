"""Bringing tasks to a stage of their life, and looking at rows: what the tests of the store share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection, connections, transaction

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.store import queries
from tasks_app.store.db import actor_json
from tasks_app.store.questions import Answer, Answered, NewQuestion
from tasks_app.store.rows import columns, snapshot
from tests.conftest import Person

WORKER = store.Claimant("host:1:a")
OTHER_WORKER = store.Claimant("host:2:b")
DONE = {"content": [{"type": "text", "text": "done"}]}
BROKEN = {"code": -32000, "message": "broken", "data": {"why": ["x", None, 1.5]}}
PORT = {
    "mode": "form",
    "message": "Which port?",
    "requestedSchema": {
        "type": "object",
        "properties": {"port": {"type": "integer", "minimum": 1}},
        "required": ["port"],
    },
}
APPROVE = {"mode": "form", "message": "Deploy?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT = Answer(AnswerAction.ACCEPT, {"port": 80})
YES = Answer(AnswerAction.ACCEPT, {})
DECLINE = Answer(AnswerAction.DECLINE)
DISMISS = Answer(AnswerAction.CANCEL)
BARRIER_SECONDS = 20


def sql(text: str, **params: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement written by hand."""
    with connection.cursor() as cursor:
        cursor.execute(text, params or None)
        return cursor.fetchall() if cursor.description else []


def scalar(text: str, **params: Any) -> Any:
    """The one value that a statement gives."""
    [[value]] = sql(text, **params)
    return value


def as_read(task_id: UUID) -> store.Snapshot:
    """A task as a statement reads it that has nothing to do with what changed it."""
    [row] = sql(f"SELECT {columns()} FROM tasks_task t WHERE t.id = %(task)s", task=task_id)
    return snapshot(row)


def act_as(actor: Actor | None) -> None:
    """Name who makes the changes that follow in this transaction, or nobody."""
    text = actor_json(actor) if actor else ""
    sql("SELECT set_config('tasks.actor', %(actor)s, true)", actor=text)


@contextmanager
def rolled_back() -> Iterator[None]:
    """Whatever happens in the block leaves no trace."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def created(owner: Person, **values: Any) -> store.Snapshot:
    """A new task, which is due."""
    return store.create(store.NewTask(**{"owner_id": owner.id, "tool": "echo", **values})).task


def claimed(owner: Person, *, claimant: store.Claimant = WORKER, **values: Any) -> store.Claim:
    """A new task with its first attempt running."""
    task = created(owner, **values)
    claim = store.claim_next(claimant)
    assert claim is not None
    assert claim.task_id == task.id
    return claim


def completed(owner: Person, **values: Any) -> UUID:
    """A new task that has ended with a result."""
    claim = claimed(owner, **values)
    store.complete(claim, result=DONE)
    return claim.task_id


def ask(name: str = "port", **values: Any) -> NewQuestion:
    """A question for a port."""
    return NewQuestion(**{"name": name, "request": PORT, **values})


def asking(owner: Person, *questions: NewQuestion, **values: Any) -> UUID:
    """A new task that waits for answers: to one question unless told otherwise."""
    claim = claimed(owner, **values)
    store.suspend(claim, questions or [ask()])
    return claim.task_id


def gated(owner: Person, **values: Any) -> UUID:
    """A new task that waits for an operator's approval."""
    return created(owner, approval=APPROVE, **values).id


def key(task_id: UUID, name: str = "port") -> str:
    """The key under which a task asked this."""
    [found] = [asked.key for asked in queries.questions(task_id) if asked.name == name]
    return found


def answer(task_id: UUID, owner: Person, answers: dict[str, Answer] | None = None, **values: Any) -> Answered:
    """The owner answers in the console: the question for a port unless told otherwise."""
    given = {key(task_id): ACCEPT} if answers is None else answers
    how = {"owner_id": owner.id, "by": owner.acts(), "via": Via.CONSOLE, **values}
    return store.answer(task_id, given, **how)


def again(claimant: store.Claimant = WORKER) -> store.Claim:
    """The next claim, which must be there."""
    claim = store.claim_next(claimant)
    assert claim is not None
    return claim


def look(task_id: UUID) -> store.Snapshot:
    """The task as anyone may see it."""
    return queries.get(task_id, owner_id=None)


def kinds(task_id: UUID) -> list[str]:
    """What happened to a task, in one word each; a change of status names where it went."""
    return [f"to {event.to_status}" if event.kind == "status" else event.kind for event in queries.timeline(task_id)]


def last_event(task_id: UUID, kind: str) -> queries.EventView:
    """The latest entry of this kind in a timeline."""
    return [event for event in queries.timeline(task_id) if event.kind == kind][-1]


def together(*functions: Callable[[], Any]) -> list[Any]:
    """Run all at once, each on a connection of its own, and give what each returned or raised, in order."""
    barrier = threading.Barrier(len(functions))
    outcomes: list[Any] = [None] * len(functions)

    def run(index: int, function: Callable[[], Any]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait(BARRIER_SECONDS)
            outcomes[index] = function()
        except Exception as error:
            outcomes[index] = error
        finally:
            connections.close_all()

    _run_all([threading.Thread(target=run, args=pair) for pair in enumerate(functions)])
    return outcomes


def _run_all(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * BARRIER_SECONDS)
        assert not thread.is_alive()


@contextmanager
def locked_elsewhere(row_id: UUID | int, *, table: str = "tasks_task") -> Iterator[None]:
    """Somebody else works on this task, or whatever it is: its row is locked on another connection."""
    has_lock, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                sql(f"SELECT id FROM {table} WHERE id = %(row)s FOR UPDATE", row=row_id)
                has_lock.set()
                may_go.wait(BARRIER_SECONDS)
        finally:
            connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_lock.wait(BARRIER_SECONDS)
        yield
    finally:
        may_go.set()
        thread.join(BARRIER_SECONDS)
