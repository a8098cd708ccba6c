"""What the acceptance tests do with tasks: call a tool, wait for what becomes of it, answer, look at its attempts."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from tasks_app import store
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.domain.status import Status
from tasks_app.engine import hints
from tasks_app.engine.registry import tool_of
from tasks_app.engine.schema import Function
from tasks_app.store import queries
from tests.conftest import Person
from tests.ledger import Line, read
from tests.waiting import until


def call(owner: Person, tool: Function, *, waiting: bool = False, key: str | None = None, version: int | None = None,
         request_id: str = "", **arguments: Any) -> UUID:  # fmt: skip
    """Make a call of the tool a task, and hint at it, as the endpoint does."""
    made = tool_of(tool)
    new = store.NewTask(
        owner_id=owner.id,
        tool=made.name,
        arguments=arguments,
        tool_version=version or made.version,
        request_id=request_id,
        max_retries=made.retries,
        waiting=waiting,
        key=key,
        approval={"mode": "form", "message": "May it run?", "requestedSchema": {"type": "object", "properties": {}}}
        if made.approval
        else None,
    )
    task = store.create(new).task
    hints.send()
    return task.id


def look(task_id: UUID) -> store.Snapshot:
    """The task as anyone may see it."""
    return queries.get(task_id, owner_id=None)


def ended(task_id: UUID, seconds: float = 20.0) -> store.Snapshot:
    """The task once it has ended."""
    return until(lambda: task if (task := look(task_id)).status.is_terminal else None, seconds)


def waits(task_id: UUID, seconds: float = 20.0) -> store.QuestionView:
    """The first question of the task, once it waits for an answer."""
    until(lambda: look(task_id).status is Status.INPUT_REQUIRED, seconds)
    return queries.open_questions(task_id)[0]


def answer(
    owner: Person, asked: store.QuestionView, content: Any, *, action: AnswerAction = AnswerAction.ACCEPT
) -> None:
    """The owner answers in the console, and the workers are hinted."""
    given = {asked.key: store.Answer(action, content)}
    done = store.answer(asked.task_id, given, owner_id=owner.id, by=owner.acts(), via=Via.CONSOLE)
    assert done.recorded == (asked.key,)
    hints.send()


def attempts(task_id: UUID) -> list[str | None]:
    """How each attempt of the task ended, first to last; None for one that is open."""
    return [attempt.outcome for attempt in queries.attempts(task_id)]


def text(task: store.Snapshot) -> str:
    """What the tool said, in words."""
    return "\n".join(block["text"] for block in payload(task)["content"])


def payload(task: store.Snapshot) -> dict[str, Any]:
    """The result of the task, or its protocol error."""
    return json.loads(task.result or task.error or "null")  # type: ignore[no-any-return]


def cancel(owner: Person, task_id: UUID) -> None:
    """The owner cancels the task in the console."""
    assert store.cancel(task_id, owner_id=owner.id, by=owner.acts()).happened


def line_of(ledger: str, what: str, *, attempt: int = 1) -> Line:
    """The line of the ledger that says that this attempt did this, once it is there."""
    return until(lambda: next((line for line in read(ledger) if (line.what, line.attempt) == (what, attempt)), None))
