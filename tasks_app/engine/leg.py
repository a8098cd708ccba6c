"""One run of a tool from the top to its end, suspension or fault: what its context shares with whoever called the tool.

The signals that end a run are kept here: a tool that swallows one (a bare `except`, a `return` in `finally`) ends the
same way all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from tasks_app.domain.errors import ControlFlow, LeaseLost, Stop, ToolError
from tasks_app.engine.journal import Entry, EntryKind, Journal
from tasks_app.engine.replay import Place, Replay

R = TypeVar("R")

_running_step: ContextVar[str | None] = ContextVar("taskdeck_running_step", default=None)


class IllegalOrder(ToolError):
    """The tool did something that is not possible at this point of its run."""

    reason = "illegal_order"


class Verb(StrEnum):
    """How a tool can decide its own end, other than by returning or raising."""

    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    DEFER = "defer"


@dataclass(frozen=True, slots=True)
class Decision:
    """The end that a tool decided on, and what came with it."""

    verb: Verb
    value: object = None


class Leg:
    """The state of one run."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.replay = Replay(journal.history())
        self.ending: ControlFlow | None = None
        self.decision: Decision | None = None
        self.unfinished_step: str | None = None
        self._variables = journal.variables()

    @property
    def variables(self) -> Mapping[str, object]:
        """The task's variables as this run knows them."""
        return MappingProxyType(dict(self._variables))

    def end(self, signal: ControlFlow) -> NoReturn:
        """End the run with a signal, whatever the tool does with it."""
        self.ending = signal
        raise signal

    def check_open(self, verb: str) -> None:
        """Let nothing happen after the end: raises the signal again, or IllegalOrder after a decision."""
        if self.ending is not None:
            raise self.ending
        if self.decision is not None:
            raise IllegalOrder(f"ctx.{verb}() came after ctx.{self.decision.verb}(): nothing may follow that.")

    def decide(self, verb: Verb, value: object = None) -> None:
        """Fix the end of the run; it is recorded when the function returns."""
        self.check_open(verb)
        self.decision = Decision(verb, value)

    def write(self, verb: str, call: Callable[[], R]) -> R:
        """Do one write of the journal; a lost lease ends the run."""
        self.check_open(verb)
        return self.journal_call(call)

    def journal_call(self, call: Callable[[], R]) -> R:
        """Talk to the journal; a lost lease, or a signal that it raises, ends the run."""
        try:
            return call()
        except LeaseLost as lost:
            self.ending = Stop(str(lost))
            raise self.ending from lost
        except ControlFlow as signal:
            self.end(signal)

    def visit(self, name: str, kind: EntryKind) -> Place:
        """Take the place of a step or question in the order; raises ToolChanged, or IllegalOrder inside a step."""
        self.check_open("step" if kind is EntryKind.STEP else "ask")
        outer = _running_step.get()
        # What happens inside a recorded step does not happen on a replay, so it can have no place in the order.
        if outer is not None:
            raise IllegalOrder(f"{kind} {name!r} is inside step {outer!r}: do one after the other.")
        return self.replay.visit(name, kind)

    def stop_if_asked(self) -> None:
        """End the run here if the journal says so."""
        signal = self.journal.stop_signal()
        if signal is not None:
            self.end(signal)

    @contextmanager
    def running(self, step: str) -> Iterator[None]:
        """Mark that a step runs; its name stays as the unfinished one when it fails."""
        token = _running_step.set(step)
        self.unfinished_step = step
        try:
            yield
        finally:
            _running_step.reset(token)

    def save_step(self, name: str, *, position: int, value: Any) -> None:
        """Remember a step that has run, also when another part of the tool has ended the run meanwhile."""
        self.journal_call(lambda: self.journal.save_step(name, position=position, value=value))
        self.replay.record(Entry(position=position, name=name, kind=EntryKind.STEP, value=value))
        self.unfinished_step = None

    def save_variables(self, changes: Mapping[str, object]) -> None:
        """Merge into the variables."""
        self._variables = self.write("set_variables", lambda: self.journal.save_variables(changes))
