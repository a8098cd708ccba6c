"""A question as a tool writes it, the open question that leaves the attempt, and the answer that comes back.

What can be asked for is in `forms`; where answers are stored is the journal's part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from tasks_app.domain.answers import validate_answer
from tasks_app.domain.errors import InvalidAnswer, QuestionExpired, ToolError
from tasks_app.domain.questions import AnswerAction, QuestionKind
from tasks_app.engine.flat import JSONObject
from tasks_app.engine.forms import Wanted, wanted
from tasks_app.engine.journal import Entry

T = TypeVar("T")

# A name becomes part of a key, which stands in addresses and in message ids.
QUESTION_NAME = re.compile(r"[A-Za-z0-9_.:#-]{1,100}")

_KINDS_WITH_MESSAGE = (QuestionKind.FORM, QuestionKind.URL)


class BadQuestion(ToolError):
    """The tool asked for something that cannot be asked."""

    reason = "bad_question"

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"The question {name!r} cannot be asked: {why}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the person or the client did with a question, and the value that they gave."""

    action: AnswerAction
    value: T | None = None

    @property
    def accepted(self) -> bool:
        """Say whether the answer is a yes: a form that was sent back, and not with a plain no in it."""
        return self.action is AnswerAction.ACCEPT and self.value is not False

    @classmethod
    def accept(cls, value: T | None = None) -> Answer[T]:
        """Make an answer that gives a value."""
        return cls(AnswerAction.ACCEPT, value)

    @classmethod
    def decline(cls) -> Answer[T]:
        """Make an answer that says no."""
        return cls(AnswerAction.DECLINE)

    @classmethod
    def cancel(cls) -> Answer[T]:
        """Make an answer that dismisses the question."""
        return cls(AnswerAction.CANCEL)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it is stored: the action, and the content that came with it."""

    action: AnswerAction
    content: JSONObject | None = None

    def as_json(self) -> JSONObject:
        """Give the answer as one JSON object."""
        return {"action": self.action.value} | ({} if self.content is None else {"content": self.content})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that nobody has answered: what ends an attempt and is stored.

    `deadline` is in seconds from now, by the clock of whoever stores it; `default` is the answer that it then gets.
    """

    name: str
    position: int
    kind: QuestionKind
    message: str
    request: JSONObject
    form: Wanted[Any] = field(repr=False, compare=False)
    deadline: float | None = None
    default: Reply | None = None

    def reply(self, value: object) -> Reply:
        """Give the stored form of an answer; raises ValueError or InvalidAnswer when it does not fit."""
        return reply(self.form, self.request, value)


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What to ask, in which words, until when (seconds), and which answer counts if nobody gives one.

    A default is an `Answer`, the action "decline" or "cancel", or the value to accept.
    """

    form: Any
    message: str = ""
    deadline: float | timedelta | None = None
    default: object = None

    def open(self, name: str) -> OpenQuestion:
        """Give the question as it leaves the attempt, its place in the order still to be set; raises BadQuestion."""
        form = self.wanted(name)
        try:
            request = form.request()
            if form.kind in _KINDS_WITH_MESSAGE:
                request |= {"message": self.message}
            default = None if self.default is None else reply(form, request, self.default)
            deadline = _seconds(self.deadline)
        except (ValueError, InvalidAnswer) as error:
            raise BadQuestion(name, error) from error
        return OpenQuestion(
            name=name,
            position=0,
            kind=form.kind,
            message=self.message,
            request=request,
            form=form,
            deadline=deadline,
            default=default,
        )

    def wanted(self, name: str) -> Wanted[Any]:
        """Give what the question asks for; raises BadQuestion, also for a name that cannot be one."""
        if not QUESTION_NAME.fullmatch(name):
            raise BadQuestion(name, "its name must be 1 to 100 of A-Z, a-z, 0-9, '_', '.', ':', '#' and '-'")
        try:
            return wanted(self.form)
        except ValueError as error:
            raise BadQuestion(name, error) from error

    def read(self, entry: Entry) -> Answer[Any]:
        """Give the recorded answer as the tool sees it; raises QuestionExpired, or ToolError when it does not fit."""
        if entry.action is None:
            raise QuestionExpired(entry.name)
        if entry.action is not AnswerAction.ACCEPT:
            return Answer(entry.action)
        try:
            return Answer(entry.action, self.wanted(entry.name).read(entry.value))
        except (ValueError, KeyError, TypeError) as error:
            raise ToolError(f"The answer to {entry.name!r} does not fit the question: {_said(error)}") from error


def reply(form: Wanted[Any], request: JSONObject, value: object) -> Reply:
    """Give the stored form of an answer: an `Answer`, an action by name, or the value to accept.

    Raises ValueError or InvalidAnswer when it does not fit the question.
    """
    if isinstance(value, Answer):
        action, content = value.action, value.value
    elif value in (AnswerAction.DECLINE, AnswerAction.CANCEL) and isinstance(value, str):
        action, content = AnswerAction(value), None
    else:
        action, content = AnswerAction.ACCEPT, value
    written = form.write(content) if action is AnswerAction.ACCEPT else None
    return Reply(action, validate_answer(request, action, written))


def _seconds(deadline: float | timedelta | None) -> float | None:
    if deadline is None:
        return None
    seconds = deadline.total_seconds() if isinstance(deadline, timedelta) else float(deadline)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"its deadline must be a number of seconds above 0, not {deadline!r}")
    return seconds


def _said(error: Exception) -> str:
    if isinstance(error, ValidationError):
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(": ".join([".".join(map(str, fault["loc"])), fault["msg"]]).lstrip(": ") for fault in faults)
    return str(error)
