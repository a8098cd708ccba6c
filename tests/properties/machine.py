"""What every rule of the state machine needs: store and model side by side, the clock, the comparison after a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import TaskdeckError
from tasks_app.domain.identity import Actor, ActorKind
from tests.properties.model import Model
from tests.properties.model_rows import Knobs, Task
from tests.properties.observing import empty_tables, expected, observed, set_clock, violated

T = TypeVar("T")
PICK = st.integers(0, 11)
"""Which of the candidates a rule takes: the remainder, so that any number is one."""


def knobs() -> Knobs:
    """The settings in force, as the model wants them."""
    set_ = conf()
    return Knobs(
        lease=int(set_.lease * 1000),
        retention=int(set_.minimum_retention * 1000),
        question_ttl=int(set_.question_ttl * 1000),
        default_ttl=int(set_.default_ttl * 1000),
        purge_after=int(set_.purge_after * 1000),
        max_keep=int(set_.max_keep * 1000),
        live_tasks=set_.live_tasks,
        max_losses=set_.max_losses,
        limits=set_.limits,
    )


@contextmanager
def _refusal() -> Iterator[list[type[TaskdeckError]]]:
    noted: list[type[TaskdeckError]] = []
    try:
        yield noted
    except TaskdeckError as error:
        noted.append(type(error))


def both(real: Callable[[], Any], modelled: Callable[[], Any]) -> Any:
    """Do it in the store and in the model: both refuse alike, or both give the same."""
    got = wanted = None
    with _refusal() as refused:
        got = real()
    with _refusal() as should_refuse:
        wanted = modelled()
    assert refused == should_refuse
    assert got == wanted
    return got


def only_when(condition: Callable[[Any], object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A rule that does nothing unless this holds.

    Not a precondition: which of two equal tasks is claimed is up to the database, and what hypothesis draws must not
    depend on that.
    """

    def conditional(rule: Callable[..., None]) -> Callable[..., None]:
        @wraps(rule)
        def taken(machine: Any, **drawn: Any) -> None:
            if condition(machine):
                rule(machine, **drawn)

        return taken

    return conditional


class ComparedMachine(RuleBasedStateMachine):
    """The store and its model side by side, on tables that were empty at the start."""

    def __init__(self, *, owners: tuple[int, ...], operator: int, taken: Counter[str]) -> None:
        super().__init__()
        self.owners = owners
        self.operator = Actor(ActorKind.OPERATOR, id=operator, role="operator", via="console", reason="on call")
        self.model = Model(knobs())
        self.claims: list[store.Claim] = []
        self.taken = taken
        self.serial = 0
        empty_tables()
        self.at(0)

    def at(self, now: int) -> None:
        """Move both clocks there; neither ever goes back."""
        self.model.now = max(self.model.now, now)
        set_clock(self.model.now)

    def fresh(self) -> int:
        """A number that no step of this run has used."""
        self.serial += 1
        return self.serial

    def count(self, what: str) -> None:
        """Note that a rule was taken."""
        self.taken[what] += 1

    def acts(self, task_id: UUID) -> Actor:
        """The owner of a task, in the console."""
        return Actor(ActorKind.OWNER, id=self.model.tasks[task_id].owner, via="console")

    def holding(self) -> list[store.Claim]:
        """The claims that may still record something."""
        return [claim for claim in self.claims if self.is_holding(claim)]

    def is_holding(self, claim: store.Claim) -> bool:
        """Whether the model says that this claim holds its task."""
        task = self.model.tasks.get(claim.task_id)
        return task is not None and task.active == claim.number and not self.model.is_past(task)

    def where(self, condition: Callable[[Task], bool]) -> list[UUID]:
        """The tasks of which this is true, the oldest first."""
        return [task_id for task_id, task in self.model.tasks.items() if condition(task)]

    @invariant()
    def rows_equal_the_model(self) -> None:
        """After every step: each row is what the model says, and no invariant is broken."""
        assert observed() == {task_id: expected(task) for task_id, task in self.model.tasks.items()}
        assert violated() == []


def pick(candidates: list[T], which: int) -> T:
    """One of the candidates."""
    return candidates[which % len(candidates)]
