"""A tool's workflow at a glance: its planned steps and what has become of each.

A plan is what `@tool(steps=…)` names; steps that were not planned follow those that were. Pure: it reads names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tasks_app.engine.journal import Entry, EntryKind


class StepState(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    """It has not been done."""

    DONE = "done"
    """It was done, and its value is recorded."""

    FAILED = "failed"
    """It was tried and failed; the next attempt goes on from here."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step of a workflow and its state."""

    name: str
    state: StepState


def workflow(planned: Sequence[str], done: Sequence[str], *, failed: str | None = None) -> list[PlannedStep]:
    """Give every planned step in its order, then what else was done; `failed` is where the last attempt failed."""
    names = dict.fromkeys([*planned, *done, *([failed] if failed else [])])
    return [PlannedStep(name, _state(name, done, failed)) for name in names]


def done_in(history: Iterable[Entry]) -> list[str]:
    """Give the names of the steps that a history holds, in their order."""
    steps = [entry for entry in history if entry.kind is EntryKind.STEP]
    return [entry.name for entry in sorted(steps, key=lambda entry: entry.position or 0)]


def _state(name: str, done: Sequence[str], failed: str | None) -> StepState:
    if name in done:
        return StepState.DONE
    return StepState.FAILED if name == failed else StepState.PENDING
