"""The seam between a running tool and what remembers it: what was done before, and the small writes of an attempt.

The context of a tool talks to a journal and to nothing else. The store has one on Postgres, fenced by the attempt's
number; `memory` has one for tests and for tools that are never tasks. How an attempt ends (its result, its questions)
is not written through the journal: `call` returns it, so that whoever runs the tool can settle it in one statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol

from tasks_app.domain.errors import ControlFlow
from tasks_app.domain.questions import AnswerAction, QuestionKind, QuestionState

ONLY_A_TASK = 'Only a task can be handed over: this tool needs task="required", or a caller that asks.'


class Release(ControlFlow):
    """The attempt ends here because its worker is shutting down; the task is given back and nothing is lost."""

    reason = "release"


class EntryKind(StrEnum):
    """What a tool can do that is remembered."""

    STEP = "step"
    """It ran a function once."""

    QUESTION = "question"
    """It asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that an earlier attempt did or asked, with its value or the content of its answer, as plain JSON.

    A question without an action is open or expired, as its state says. A position of None is not held against the
    order: for answers that came without one.
    """

    position: int | None
    name: str
    kind: EntryKind
    value: Any = None
    state: QuestionState | None = None
    action: AnswerAction | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a tool may know about its call: none of it changes during an attempt."""

    task_id: str
    owner: str
    attempt: int = 1
    is_task: bool = True
    client_can: frozenset[QuestionKind] = frozenset()
    owner_id: int | None = None
    """Whose task this is, as the store knows them; None where there is no store."""
    credential_id: int | None = None
    """What the caller presented, for tools in the web process."""


class Handle(Protocol):
    """What carries a task that its tool handed over; it works in any process until the time that was given."""

    def token(self) -> str:
        """The handle as text, for another process."""

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the work is."""

    def log(self, text: str) -> None:
        """Add text to the output."""

    def complete(self, result: object) -> None:
        """End the task with a result."""

    def fail(self, message: str) -> None:
        """End the task with a tool error."""

    def require_input(self, message: str) -> None:
        """Let the task wait for someone; only resume and cancel are left."""

    def resume(self) -> None:
        """Accept what was waited for, so that the tool starts again."""

    def cancel(self) -> None:
        """Cancel the task."""


class Journal(Protocol):
    """What a context needs. Every write raises LeaseLost once the attempt no longer holds its task.

    Calls come one at a time for a sync tool; for an async one they may come from several threads at once.
    """

    @property
    def facts(self) -> Facts:
        """The call that runs."""

    def history(self) -> Sequence[Entry]:
        """Give everything that earlier attempts recorded, steps and questions. Read once, at the start."""

    def variables(self) -> Mapping[str, object]:
        """Give the task's variables. Read once, at the start."""

    def save_step(self, name: str, *, position: int, value: Any) -> None:
        """Remember the value of a step, which is plain JSON. A name that is taken keeps what it has."""

    def save_progress(self, done: float, *, total: float | None, message: str | None) -> None:
        """Replace the progress, and the status message too if there is one."""

    def save_message(self, text: str) -> None:
        """Replace the status message."""

    def save_log(self, text: str) -> None:
        """Append to the output."""

    def save_variables(self, changes: Mapping[str, object]) -> Mapping[str, object]:
        """Merge into the variables, null deleting one, and give them all; raises LimitExceeded and changes nothing."""

    def stop_signal(self) -> ControlFlow | None:
        """Give the signal to end with, if there is one: Stop or Release. Must not wait for anything."""

    def check_cancelled(self) -> None:
        """Raise Stop if the task was cancelled or lost. May look it up, at most once a second."""

    def defer(self, *, until: timedelta) -> Handle:
        """Keep the attempt open for so long without this process, and make the handle that carries it."""

    def question_changed(self, name: str, *, was: str, now: str) -> None:
        """Hear that a recorded question is asked again with another text. May raise."""
