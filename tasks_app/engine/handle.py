"""The handle of a task that its tool handed over: signed, so that it can travel, and good in any process."""

from __future__ import annotations

from typing import Any

from django.core import signing

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.engine import hints
from tasks_app.engine.context import check_progress
from tasks_app.engine.forms import Acknowledge
from tasks_app.engine.leg import IllegalOrder
from tasks_app.engine.questions import Question
from tasks_app.engine.registry import registry
from tasks_app.engine.results import is_error, tool_error, tool_result
from tasks_app.store import queries

SALT = "taskdeck.handle"
HANDED_OVER = "@handed-over-"
"""Begins the names of questions that a handle asked: no part of a replay, and no name that a tool could use."""


class StoreHandle:
    """Carries one attempt. Every verb raises LeaseLost once the attempt no longer holds its task."""

    def __init__(self, claim: store.Claim) -> None:
        self._claim = claim

    def token(self) -> str:
        """The handle as text, for another process."""
        values = {"task": str(self._claim.task_id), "number": self._claim.number, "owner": self._claim.owner_id}
        return signing.dumps(values, salt=SALT)

    @classmethod
    def from_token(cls, token: str) -> StoreHandle:
        """The handle that a token stands for. Raises BadSignature for one that is not ours, NotFound for no task."""
        values: dict[str, Any] = signing.loads(token, salt=SALT)
        return cls(store.handed_over(values["task"], number=values["number"], owner_id=values["owner"]))

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is."""
        check_progress(done, total)
        store.set_progress(self._claim, done=done, total=total, message=message)

    def log(self, text: str) -> None:
        """Add a line to the output."""
        store.write_output(self._claim, f"{text}\n")

    def complete(self, result: object) -> None:
        """End the task with a result."""
        tool = registry.get(self._claim.tool)
        payload = tool_result(result, signature=tool.signature if tool else None, limits=conf().limits)
        store.complete(self._claim, result=payload, is_error=is_error(payload))

    def fail(self, message: str) -> None:
        """End the task with a tool error."""
        store.complete(self._claim, result=tool_error(message), is_error=True)

    def require_input(self, message: str) -> None:
        """Let the task wait for someone; only resume and cancel are left."""
        opened = Question(Acknowledge(), message).open("input")
        asked = store.NewQuestion(name=self._question, request=opened.request, kind=opened.kind)
        store.suspend(self._claim, [asked])

    def resume(self) -> None:
        """Accept what was waited for: the tool starts again from the top."""
        waiting = [asked for asked in queries.open_questions(self._claim.task_id) if asked.name == self._question]
        if not waiting:
            raise IllegalOrder("resume() is possible only while the task waits for this handle's require_input().")
        answers = {waiting[0].key: store.Answer(AnswerAction.ACCEPT, {})}
        by = Actor.worker(self._claim.worker)
        done = store.answer(self._claim.task_id, answers, owner_id=self._claim.owner_id, by=by, via=Via.WORKER)
        if not done.recorded:
            raise IllegalOrder("resume() came too late: what the task waited for was answered by somebody else.")
        hints.send()

    def cancel(self) -> None:
        """Cancel the task."""
        store.give_up(self._claim)

    @property
    def _question(self) -> str:
        return f"{HANDED_OVER}{self._claim.number}"
