"""Past its time a live task can only expire: no lost worker and no deadline ends it otherwise and so brings it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

import pytest

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.outcome import Outcome
from tasks_app.models import Task
from tasks_app.store.queries import get

pytestmark = pytest.mark.django_db

HOUR_MS = 3_600_000
FORM = {"message": "Run it?", "requestedSchema": {"type": "object", "properties": {}}}


class Clock(Protocol):
    """The database's clock, to move at will."""

    def advance(self, by: timedelta) -> object:
        """Move it on."""


class Person(Protocol):
    """An owner."""

    id: int


def test_lost_worker_does_not_bring_back_a_task_past_its_time(
    alice: Person, clock: Clock, check_invariants: Callable[[], None]
) -> None:
    """The last loss would end it, and with that raise its expiry."""
    task = store.create(store.NewTask(owner_id=alice.id, tool="plain", ttl_ms=HOUR_MS)).task
    clock.advance(timedelta(0))
    for _ in range(2):
        store.claim_next(store.Claimant("w1"))
        clock.advance(timedelta(minutes=1))
        assert store.reap() == 1
    store.claim_next(store.Claimant("w1"))
    clock.advance(timedelta(hours=1))

    reaped, expired = store.reap(), store.expire()

    assert (reaped, expired) == (0, 1)
    with pytest.raises(NotFound):
        get(task.id, owner_id=alice.id)
    assert Task.objects.get(pk=task.id).outcome == Outcome.EXPIRED
    assert store.reap() == 1
    check_invariants()


def test_missed_approval_does_not_bring_back_a_task_past_its_time(
    alice: Person, clock: Clock, check_invariants: Callable[[], None]
) -> None:
    """Its deadline would end it as not approved, and with that raise its expiry."""
    new = store.NewTask(owner_id=alice.id, tool="plain", ttl_ms=HOUR_MS, approval=FORM)
    task = store.create(new).task
    clock.advance(timedelta(days=30))

    lapsed, expired = store.expire_questions(), store.expire()

    assert (lapsed, expired) == (0, 1)
    with pytest.raises(NotFound):
        get(task.id, owner_id=alice.id)
    assert Task.objects.get(pk=task.id).outcome == Outcome.EXPIRED
    check_invariants()


def test_task_that_begins_with_an_approval_outlives_the_question(alice: Person) -> None:
    """As one that asks later does; otherwise it would expire before anybody need decide."""
    task = store.create(store.NewTask(owner_id=alice.id, tool="plain", approval=FORM)).task
    fixed = store.create(store.NewTask(owner_id=alice.id, tool="plain", approval=FORM, ttl_ms=HOUR_MS)).task

    deadline = Task.objects.get(pk=task.id).questions.get().expires_at
    assert task.expires_at - deadline == timedelta(hours=1)
    assert deadline - task.created_at == timedelta(days=7)
    assert fixed.expires_at - fixed.created_at == timedelta(hours=1)
    assert Task.objects.get(pk=fixed.id).questions.get().expires_at == fixed.expires_at
