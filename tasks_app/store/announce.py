"""Telling the bus that a task changed, once the change is committed. Only ids and versions travel."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from tasks_app import bus
from tasks_app.store.rows import Snapshot


def announce(task: Snapshot, *, questions: bool = False) -> None:
    """Tell who watches this task; `questions` says that what it asks changed too."""
    transaction.on_commit(partial(announce_now, task, questions=questions), robust=True)


def announce_now(task: Snapshot, *, questions: bool = False) -> None:
    """The same for a change that is committed already, as that of a plan is once the pool has carried it out."""
    bus.announce(bus.Change(task.id, task.owner_id, task.version, task.status.value, questions))
