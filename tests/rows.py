"""Rows written straight into the tables, for tests of what reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import connection, transaction

from tasks_app.models.attempt import Attempt
from tasks_app.models.owner import Owner
from tasks_app.models.task import Task

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def set_clock(moment: datetime) -> None:
    """Make the database believe that it is this moment, until the test's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('tasks.fake_now', %s, true)", [moment.isoformat()])


def make_due_task(*, wake_at: datetime, **values: Any) -> Task:
    """A task that waits to be claimed; it lives for an hour unless told otherwise."""
    defaults = {"expires_at": wake_at + timedelta(hours=1)}
    return _make_task(created_at=wake_at, wake_at=wake_at, **(defaults | values))


def make_running_task(*, worker: str, since: datetime) -> Task:
    """A task with an open attempt on this worker."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("""SELECT set_config('tasks.actor', '{"kind": "system", "id": "test"}', true)""")
        task = _make_task(created_at=since, expires_at=since + timedelta(hours=1), attempt=1, active_attempt=1)
        Attempt.objects.create(task=task, number=1, worker=worker, lease_until=since + timedelta(seconds=30))
    return task


def end_attempt(task: Task, *, at: datetime) -> None:
    """Close the attempt of a running task and make the task due again."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("""SELECT set_config('tasks.actor', '{"kind": "system", "id": "test"}', true)""")
        Attempt.objects.filter(task=task, number=1).update(ended_at=at, outcome="released")
        Task.objects.filter(pk=task.pk).update(active_attempt=None, wake_at=at)


def _make_task(*, created_at: datetime, **values: Any) -> Task:
    owner, _ = Owner.objects.get_or_create(kind="user", issuer="", subject="alice")
    slot = Task.objects.filter(owner=owner).count() + 1
    times = {"created_at": created_at, "updated_at": created_at, "status_at": created_at}
    return Task.objects.create(id=uuid4(), owner=owner, slot=slot, **({"tool": "echo"} | times | values))
