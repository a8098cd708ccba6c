"""What the model keeps: a task with its attempts and questions as plain values. The verbs are in `model`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.limits import Limits
from tasks_app.domain.outcome import AttemptEnd, Outcome
from tasks_app.domain.questions import AnswerAction, Audience, QuestionState
from tasks_app.domain.status import Status


@dataclass(frozen=True)
class Knobs:
    """The settings that the verbs depend on, in milliseconds where they are times."""

    lease: int
    retention: int
    question_ttl: int
    default_ttl: int
    purge_after: int
    max_keep: int
    live_tasks: int
    max_losses: int
    limits: Limits = field(default_factory=Limits)


@dataclass
class Attempt:
    """One run; `told` says that it was asked to stop, `heard` that it knows."""

    lease: int
    end: AttemptEnd | None = None
    told: bool = False
    heard: bool = False


@dataclass
class Question:
    """One prompt, by its name."""

    deadline: int
    default: AnswerAction | None = None
    audience: Audience = Audience.OWNER
    state: QuestionState = QuestionState.OPEN
    action: AnswerAction | None = None


@dataclass(frozen=True)
class Given:
    """What somebody says to a question, and whether it fits the form."""

    action: AnswerAction = AnswerAction.ACCEPT
    fits: bool = True


@dataclass
class Task:
    """Everything that is compared with the row and its children."""

    owner: int
    tool: str
    created: int
    expires: int
    key: str | None = None
    digest: object = None
    ttl_fixed: bool = False
    waiting: bool = False
    status: Status = Status.WORKING
    outcome: Outcome | None = None
    active: int | None = None
    wake: int | None = None
    losses: int = 0
    retries: int = 0
    held: bool = False
    expired: int | None = None
    done: float | None = None
    total: float | None = None
    message: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    attempts: list[Attempt] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    steps: dict[str, tuple[int, Any]] = field(default_factory=dict)
    output: list[str] = field(default_factory=list)

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return not self.status.is_terminal

    def open_questions(self) -> dict[str, Question]:
        """What it waits for."""
        return {name: asked for name, asked in self.questions.items() if asked.state is QuestionState.OPEN}

    def running(self) -> Attempt | None:
        """The attempt that has not ended, if there is one."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].end is None else None

    def move(self, status: Status) -> None:
        """Change the status, by an allowed move only."""
        assert self.status.can_transition_to(status), f"{self.status} to {status}"
        self.status = status
