"""Telling the bus that a task changed, once the change is committed. Only ids and versions travel."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from tasks_app import bus
from tasks_app.domain.status import Status
from tasks_app.store.rows import Claim, Snapshot


def announce(task: Snapshot, *, questions: bool = False) -> None:
    """Tell who watches this task; `questions` says that what it asks changed too."""
    announce_change(_change(task, questions=questions))


def announce_start(claim: Claim) -> None:
    """Tell who watches that an attempt began; whoever claims is told of no more than that."""
    announce_change(bus.Change(claim.task_id, claim.owner_id, claim.version, Status.WORKING.value, questions=False))


def announce_change(change: bus.Change) -> None:
    """Tell who watches of a change for which there is no snapshot."""
    transaction.on_commit(partial(bus.announce, change), robust=True)


def announce_now(task: Snapshot, *, questions: bool = False) -> None:
    """The same for a change that is committed already, as that of a plan is once the pool has carried it out."""
    bus.announce(_change(task, questions=questions))


def _change(task: Snapshot, *, questions: bool) -> bus.Change:
    return bus.Change(task.id, task.owner_id, task.version, task.status.value, questions)
