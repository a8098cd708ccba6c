"""Testing a tool in three lines, in memory: no database, no broker, no Django settings.

    run = run_tool(deploy_service, service="web", version="1.2", answers={"approve": True})

    assert run.value == Deployed(done=True)

The tool runs as it would on a worker: it starts again from the top after every answer and every retry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from tasks_app.domain.errors import InvalidAnswer
from tasks_app.domain.identity import new_task_id
from tasks_app.domain.limits import Limits
from tasks_app.domain.questions import QuestionKind
from tasks_app.engine.call import Ended, How, call_tool
from tasks_app.engine.journal import EntryKind, Facts
from tasks_app.engine.memory import MemoryHandle, MemoryJournal, Progress
from tasks_app.engine.questions import OpenQuestion
from tasks_app.engine.registry import Tool, tool_of
from tasks_app.engine.results import DEFAULT_LIMITS, error_text

__all__ = ["EXPIRED", "ScriptError", "ToolRun", "run_tool"]


class _Scripted(Enum):
    EXPIRED = "expired"


EXPIRED: Final = _Scripted.EXPIRED
"""An answer that nobody gives: the question's deadline passes."""


class ScriptError(AssertionError):
    """The answers of a test do not cover or do not fit what the tool asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """Everything that a tool did until it ended."""

    how: How
    result: dict[str, Any] | None
    """The result as clients get it, also for a tool error."""
    value: object
    """What the function returned."""
    error: str | None
    """The text of a tool error or of a protocol error."""
    rpc_error: dict[str, Any] | None
    steps: dict[str, Any]
    """The value of every recorded step, as plain JSON, in order."""
    questions: list[OpenQuestion]
    progress: list[Progress]
    messages: list[str]
    log: list[str]
    variables: dict[str, object]
    attempts: int
    """How often the function ran: once, and once more for every round of answers and every retry."""
    handle: MemoryHandle | None
    traceback: str

    @property
    def is_error(self) -> bool:
        """Say whether the tool ended with a tool error or a protocol error."""
        return self.error is not None


def run_tool(
    tool: Callable[..., Any] | Tool,
    /,
    *,
    answers: Mapping[str, object] | None = None,
    owner: str = "alice",
    task_id: str | None = None,
    is_task: bool = True,
    client_capabilities: Iterable[QuestionKind | str] = tuple(QuestionKind),
    variables: Mapping[str, object] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    arguments: Mapping[str, object] | None = None,
    **more_arguments: object,
) -> ToolRun:
    """Run a tool with scripted answers until it ends, and give everything that it did.

    An answer is a value (a bool, a text, a model, a dict of its fields), an `Answer`, "decline", "cancel", or EXPIRED.
    Arguments that share a name with a parameter of this function go into `arguments`. Raises ScriptError for a question
    without an answer and for an answer that does not fit.
    """
    facts = Facts(
        task_id=task_id or new_task_id().hex,
        owner=owner,
        is_task=is_task,
        client_can=frozenset(QuestionKind(kind) for kind in client_capabilities),
    )
    journal = MemoryJournal(facts, variables=variables, limits=limits)
    script = _Script(journal, answers or {})
    ended = script.play(tool_of(tool), {**(arguments or {}), **more_arguments}, limits=limits)
    return _report(ended, journal, script.questions)


class _Script:
    """Runs a tool again and again, answering what it asks."""

    def __init__(self, journal: MemoryJournal, answers: Mapping[str, object]) -> None:
        self._journal = journal
        self._answers = answers
        self.questions: list[OpenQuestion] = []

    def play(self, tool: Tool, arguments: Mapping[str, object], *, limits: Limits) -> Ended:
        """Run until the tool ends; retries are taken at once, as many as the tool allows."""
        retries_left = tool.retries
        while True:
            ended = call_tool(tool, arguments, self._journal, limits=limits)
            if ended.how is How.SUSPENDED:
                self._answer(ended.questions)
            elif ended.how is How.RETRY and retries_left > 0:
                retries_left -= 1
            else:
                return ended
            self._journal.next_attempt()

    def _answer(self, questions: Iterable[OpenQuestion]) -> None:
        for question in questions:
            self.questions.append(question)
            if question.name not in self._answers:
                said = question.message or question.kind
                raise ScriptError(
                    f"The tool asked {question.name!r} ({said}) and the test has no answer: "
                    f"add answers={{{question.name!r}: …}}."
                )
            value = self._answers[question.name]
            if value is EXPIRED:
                self._journal.expire(question)
                continue
            try:
                self._journal.answer(question, question.reply(value))
            except (ValueError, InvalidAnswer) as error:
                raise ScriptError(f"The test's answer to {question.name!r} does not fit: {error}") from error


def _report(ended: Ended, journal: MemoryJournal, questions: list[OpenQuestion]) -> ToolRun:
    # A retry that is left over here is one too many: its payload is the tool error that the task ends with.
    failed = ended.how in (How.TOOL_ERROR, How.RETRY)
    protocol_error = ended.payload if ended.how is How.RPC_ERROR else None
    result = ended.payload if protocol_error is None else None
    steps = [entry for entry in journal.history() if entry.kind is EntryKind.STEP]
    return ToolRun(
        how=How.TOOL_ERROR if failed else ended.how,
        result=result,
        value=ended.value,
        error=_error(ended, failed=failed),
        rpc_error=protocol_error,
        steps={entry.name: entry.value for entry in steps},
        questions=questions,
        progress=journal.progress,
        messages=journal.messages,
        log=journal.log,
        variables=journal.variables(),
        attempts=journal.facts.attempt,
        handle=journal.handle,
        traceback=ended.traceback,
    )


def _error(ended: Ended, *, failed: bool) -> str | None:
    if ended.payload is None:
        return None
    if ended.how is How.RPC_ERROR:
        return str(ended.payload["message"])
    return error_text(ended.payload) if failed else None
