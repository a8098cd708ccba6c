"""What a tool can do while it runs: do steps once, ask, report, keep variables, and decide its own end.

A context talks to a journal and to nothing else, so the same tool runs on a worker, in the web process and in a test.
Async tools get an `AsyncContext` (in `async_context`) with the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar, overload

from pydantic import BaseModel

from tasks_app.domain.errors import Suspend, ToolError
from tasks_app.domain.questions import QuestionKind, QuestionState
from tasks_app.domain.text import is_storable
from tasks_app.engine.forms import Acknowledge, Root, Roots, Sample, Sampling, Visit, Wanted
from tasks_app.engine.journal import Entry, EntryKind, Handle
from tasks_app.engine.leg import IllegalOrder, Leg, Verb
from tasks_app.engine.questions import Answer, OpenQuestion, Question
from tasks_app.engine.values import NO_JSON, StepValue, plain_json

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

STEP_NAME_CHARACTERS = 200
DEFAULT_MAX_TOKENS = 1_000

Deadline = float | timedelta | None


class BegunStep(NamedTuple):
    """A step that has its place in the order; `recorded` is what is known of it when it was done before."""

    name: str
    position: int
    values: StepValue
    recorded: Entry | None


class Context:
    """The tool's side of its own task. Made for one run of the tool and of no use after it."""

    def __init__(self, leg: Leg) -> None:
        self._leg = leg
        self._facts = leg.journal.facts
        self._inputs = 0
        self._progress: tuple[float, float | None] | None = None

    @property
    def task_id(self) -> str:
        """The id of the task, or of the call when it is none."""
        return self._facts.task_id

    @property
    def owner(self) -> str:
        """Whose task this is."""
        return self._facts.owner

    @property
    def owner_id(self) -> int | None:
        """Whose task this is, as the store knows them; None where there is no store, as in a test."""
        return self._facts.owner_id

    @property
    def credential_id(self) -> int | None:
        """What the caller presented, for a tool in the web process; None on a worker and in a test."""
        return self._facts.credential_id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._facts.attempt

    @property
    def is_task(self) -> bool:
        """Say whether the caller asked for a task."""
        return self._facts.is_task

    @property
    def variables(self) -> Mapping[str, object]:
        """The task's variables, to read."""
        return self._leg.variables

    @property
    def should_stop(self) -> bool:
        """Say whether the tool should come to an end: its task was cancelled, or its worker is shutting down."""
        return self._leg.ending is not None or self._leg.journal.stop_signal() is not None

    def client_can(self, kind: QuestionKind | str) -> bool:
        """Say whether the client that made the call can answer this kind of question: form, url, sampling or roots."""
        return QuestionKind(kind) in self._facts.client_can

    def idempotency_key(self, step: str) -> str:
        """Give a key for an outside service that is the same in every attempt."""
        return f"{self._facts.task_id}:{step}"

    def check_cancelled(self) -> None:
        """End the run here if the task was cancelled; ask as often as you like."""
        self._leg.write("check_cancelled", self._leg.journal.check_cancelled)

    def step(self, name: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function once in the life of the task, and give its value; later runs give the recorded one."""
        begun = self._begin_step(name, function)
        if begun.recorded is None:
            with self._leg.running(name):
                value = function(*args, **kwargs)
            return self._end_step(begun, value)  # type: ignore[no-any-return]
        return begun.values.decode(begun.recorded.value)  # type: ignore[no-any-return]

    @overload
    def ask(
        self, name: str, form: type[M], *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[M]: ...

    @overload
    def ask(
        self,
        name: str,
        form: Wanted[T] | type[Wanted[T]],
        *,
        message: str,
        deadline: Deadline = None,
        default: object = None,
    ) -> Answer[T]: ...

    def ask(
        self, name: str, form: Any, *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[Any]:
        """Ask for a pydantic model, or with Confirm, Choice or Text, and give the answer.

        Without an answer the run ends here, and the tool starts again from the top once there is one. Raises
        QuestionExpired when the deadline passed and there is no default.
        """
        return self._ask({name: Question(form, message, deadline=deadline, default=default)})[name]

    def ask_all(self, **questions: Question[Any]) -> dict[str, Answer[Any]]:
        """Ask several questions at once, and give the answers by name once all are there."""
        return self._ask(questions)

    def ask_url(
        self, name: str, url: str, *, message: str, deadline: Deadline = None, default: object = None
    ) -> Answer[None]:
        """Ask the person to open an address; accepting means that they agreed to."""
        return self._ask({name: Question(Visit(url), message, deadline=deadline, default=default)})[name]

    def sample(
        self,
        name: str,
        messages: str | Iterable[Mapping[str, Any]],
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        deadline: Deadline = None,
        default: object = None,
        **settings: object,
    ) -> Answer[Sample]:
        """Ask the client's model; text stands for one message of the user, `settings` go along as they are."""
        form = Sampling(_conversation(messages), max_tokens, settings)
        return self._ask({name: Question(form, deadline=deadline, default=default)})[name]

    def roots(self, name: str = "roots", *, deadline: Deadline = None, default: object = None) -> Answer[list[Root]]:
        """Ask for the client's roots."""
        return self._ask({name: Question(Roots(), deadline=deadline, default=default)})[name]

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is; it never goes back while the total stays the same."""
        check_progress(done, total)
        if self._progress is not None and self._progress[1] == total:
            done = max(done, self._progress[0])
        self._progress = done, total
        self._leg.write("progress", lambda: self._leg.journal.save_progress(done, total=total, message=message))

    def message(self, text: str) -> None:
        """Say in one line what the tool is doing."""
        self._leg.write("message", lambda: self._leg.journal.save_message(text))

    def log(self, text: str) -> None:
        """Add a line to the output."""
        self._leg.write("log", lambda: self._leg.journal.save_log(text))

    def set_variable(self, name: str, value: object) -> None:
        """Set one variable; None deletes it. Raises LimitExceeded and changes nothing when it is too big."""
        self.set_variables({name: value})

    def set_variables(self, changes: Mapping[str, object]) -> None:
        """Merge into the variables; None deletes one. Raises LimitExceeded, changing nothing, when it gets too big."""
        try:
            plain = plain_json(dict(changes))
        except NO_JSON as error:
            raise ToolError(f"A variable cannot be kept as JSON: {error}") from error
        self._leg.save_variables(plain)

    def require_input(self, message: str) -> Answer[None]:
        """Wait until someone says that the task may go on, and give what they said."""
        self._leg.check_open("require_input")
        self._inputs += 1
        name = f"input-{self._inputs}"
        return self._ask({name: Question(Acknowledge(), message)})[name]

    def resume(self) -> NoReturn:
        """Never possible here: a tool that runs does not wait. A handle from `defer` can resume its task."""
        self._leg.check_open("resume")
        raise IllegalOrder("ctx.resume() is not possible: a tool that runs is not waiting. Only a handle can resume.")

    def complete(self, result: object = None) -> None:
        """End the task with this result once the function returns, which it should do now, with nothing."""
        self._leg.decide(Verb.COMPLETE, result)

    def fail(self, message: str) -> None:
        """End the task with a tool error once the function returns, which it should do now."""
        self._leg.decide(Verb.FAIL, message)

    def cancel(self) -> None:
        """Cancel the task once the function returns, which it should do now."""
        self._leg.decide(Verb.CANCEL)

    def defer(self, *, until: float | timedelta | datetime) -> Handle:
        """Hand the task over: the handle carries it on from any process until then, and the function returns now."""
        remaining = _remaining(until)
        handle = self._leg.write("defer", lambda: self._leg.journal.defer(until=remaining))
        self._leg.decide(Verb.DEFER, remaining)
        return handle

    def _begin_step(self, name: str, function: Callable[..., Any]) -> BegunStep:
        if not 0 < len(name) <= STEP_NAME_CHARACTERS or not is_storable(name):
            raise ToolError(f"A step needs a name of 1 to {STEP_NAME_CHARACTERS} characters, not {name!r}.")
        place = self._leg.visit(name, EntryKind.STEP)
        if place.entry is None:
            self._leg.stop_if_asked()
        return BegunStep(name, place.position, StepValue(name, function), place.entry)

    def _end_step(self, begun: BegunStep, value: object) -> Any:
        plain = begun.values.encode(value)
        self._leg.save_step(begun.name, position=begun.position, value=plain)
        return begun.values.decode(plain)

    def _ask(self, questions: Mapping[str, Question[Any]]) -> dict[str, Answer[Any]]:
        answered, unanswered = {}, []
        for name, question in questions.items():
            # Opened first: what cannot be asked takes no place in the order.
            opened = question.open(name)
            place = self._leg.visit(name, EntryKind.QUESTION)
            if place.entry is None or place.entry.state is QuestionState.OPEN:
                unanswered.append(replace(opened, position=place.position))
                continue
            if place.entry.message != question.message:
                self._leg.journal.question_changed(name, was=place.entry.message, now=question.message)
            answered[name] = place.entry
        if unanswered:
            self._leg.end(Suspend(unanswered))
        return {name: questions[name].read(entry) for name, entry in answered.items()}


def check_progress(done: float, total: float | None) -> None:
    """Raise ValueError for what is no progress."""
    if not all(math.isfinite(number) and number >= 0 for number in (done, total or 0)):
        raise ValueError(f"Progress is counted from 0 up, not {done} of {total}.")


def open_questions(suspend: Suspend) -> tuple[OpenQuestion, ...]:
    """Give the questions that a run ended with."""
    return tuple(question for question in suspend.questions if isinstance(question, OpenQuestion))


def _conversation(messages: str | Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    if isinstance(messages, str):
        return ({"role": "user", "content": {"type": "text", "text": messages}},)
    return tuple(dict(message) for message in messages)


def _remaining(until: float | timedelta | datetime) -> timedelta:
    if isinstance(until, datetime):
        until = until - datetime.now(UTC)
    remaining = until if isinstance(until, timedelta) else timedelta(seconds=until)
    if remaining <= timedelta(0):
        raise IllegalOrder(f"ctx.defer(until={until}) is in the past.")
    return remaining
