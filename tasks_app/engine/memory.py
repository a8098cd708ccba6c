"""A journal in memory: for tests of tools, and for tools that run inside the web process and leave no row.

It keeps everything that it is told, in order. Nothing survives the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tasks_app.domain import variables as variable_rules
from tasks_app.domain.errors import ControlFlow, ToolError
from tasks_app.domain.identity import new_task_id
from tasks_app.domain.limits import Limits
from tasks_app.domain.questions import QuestionState
from tasks_app.engine.journal import ONLY_A_TASK, Entry, EntryKind, Facts, Handle
from tasks_app.engine.leg import IllegalOrder
from tasks_app.engine.questions import OpenQuestion, Reply
from tasks_app.engine.results import DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tool said it was."""

    done: float
    total: float | None = None
    message: str | None = None


class MemoryJournal:
    """Everything about one call, kept in lists and dicts."""

    def __init__(
        self,
        facts: Facts | None = None,
        *,
        entries: Iterable[Entry] = (),
        variables: Mapping[str, object] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.facts = facts or Facts(task_id=new_task_id().hex, owner="local", is_task=False)
        self.entries: dict[str, Entry] = {entry.name: entry for entry in entries}
        self.progress: list[Progress] = []
        self.messages: list[str] = []
        self.log: list[str] = []
        self.handle: MemoryHandle | None = None
        self.signal: ControlFlow | None = None
        self._variables = dict(variables or {})
        self._limits = limits

    def next_attempt(self) -> None:
        """Begin another run of the tool with everything recorded so far."""
        self.facts = replace(self.facts, attempt=self.facts.attempt + 1)

    def answer(self, question: OpenQuestion, reply: Reply) -> None:
        """Record the answer to a question."""
        self._close(
            question,
            Entry(
                position=question.position,
                name=question.name,
                kind=EntryKind.QUESTION,
                value=reply.content,
                state=QuestionState.ANSWERED,
                action=reply.action,
                message=question.message,
            ),
        )

    def expire(self, question: OpenQuestion) -> None:
        """Let the deadline of a question pass: its default is the answer, or there is none."""
        if question.default is not None:
            self.answer(question, question.default)
            return
        self._close(
            question,
            Entry(
                position=question.position,
                name=question.name,
                kind=EntryKind.QUESTION,
                state=QuestionState.EXPIRED,
                message=question.message,
            ),
        )

    def _close(self, question: OpenQuestion, entry: Entry) -> None:
        if question.name in self.entries:
            raise IllegalOrder(f"The question {question.name!r} was closed before.")
        self.entries[question.name] = entry

    def history(self) -> list[Entry]:
        """Give everything recorded so far."""
        return list(self.entries.values())

    def variables(self) -> dict[str, object]:
        """Give the variables."""
        return dict(self._variables)

    def save_step(self, name: str, *, position: int, value: Any) -> None:
        """Remember a step, once."""
        self.entries.setdefault(name, Entry(position=position, name=name, kind=EntryKind.STEP, value=value))

    def save_progress(self, done: float, *, total: float | None, message: str | None) -> None:
        """Keep the progress, and the message as a status message too."""
        self.progress.append(Progress(done, total, message))
        if message is not None:
            self.save_message(message)

    def save_message(self, text: str) -> None:
        """Keep a status message."""
        self.messages.append(text)

    def save_log(self, text: str) -> None:
        """Keep a line of output."""
        self.log.append(text)

    def save_variables(self, changes: Mapping[str, object]) -> dict[str, object]:
        """Merge into the variables, within the limits."""
        self._variables = variable_rules.merge(self._variables, changes, self._limits)
        return self.variables()

    def stop_signal(self) -> ControlFlow | None:
        """Give the signal that a test has set."""
        return self.signal

    def check_cancelled(self) -> None:
        """Raise the signal that a test has set."""
        if self.signal is not None:
            raise self.signal

    def defer(self, *, until: timedelta) -> Handle:
        """Make a handle that only remembers; a call that is no task has nothing to hand over."""
        if not self.facts.is_task:
            raise ToolError(ONLY_A_TASK)
        self.handle = MemoryHandle(self, until=until)
        return self.handle

    def question_changed(self, name: str, *, was: str, now: str) -> None:
        """Refuse it: an author should see in a test that the text depends on something that changes."""
        raise IllegalOrder(f"The question {name!r} was asked as {was!r} and is now asked as {now!r}.")


class MemoryHandle:
    """A handle that remembers how its task went on; `ended` names the verb that ended it, `value` what came with it."""

    def __init__(self, journal: MemoryJournal, *, until: timedelta) -> None:
        self._journal = journal
        self.until = until
        self.waiting_for: str | None = None
        self.ended: str | None = None
        self.value: object = None

    def token(self) -> str:
        """A text that stands for the handle; there is no other process to give it to."""
        return f"memory:{self._journal.facts.task_id}:{self._journal.facts.attempt}"

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Keep the progress."""
        self._check("progress")
        self._journal.save_progress(done, total=total, message=message)

    def log(self, text: str) -> None:
        """Keep a line of output."""
        self._check("log")
        self._journal.save_log(text)

    def complete(self, result: object) -> None:
        """End with a result."""
        self._end("complete", result)

    def fail(self, message: str) -> None:
        """End with a tool error."""
        self._end("fail", message)

    def require_input(self, message: str) -> None:
        """Wait; only resume and cancel are left."""
        self._check("require_input")
        self.waiting_for = message

    def resume(self) -> None:
        """Give up the handle: the tool starts again from the top."""
        if self.waiting_for is None:
            raise IllegalOrder("resume() came without require_input(): the task is not waiting.")
        self._check("resume", may_wait=True)
        self.ended = "resume"

    def cancel(self) -> None:
        """Cancel the task."""
        self._check("cancel", may_wait=True)
        self.ended = "cancel"

    def _end(self, verb: str, value: object) -> None:
        self._check(verb)
        self.ended, self.value = verb, value

    def _check(self, verb: str, *, may_wait: bool = False) -> None:
        if self.ended is not None:
            raise IllegalOrder(f"{verb}() came after {self.ended}(): this handle has done its work.")
        if self.waiting_for is not None and not may_wait:
            raise IllegalOrder(f"{verb}() is not possible while the task waits: only resume() and cancel() are.")
