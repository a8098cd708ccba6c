"""The end of the audit log's own time: whole batches leave, nothing else does, and the chain still verifies."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.utils import IntegrityError

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.policy import Rule
from tasks_app.models import Event, Expiration, Seal
from tasks_app.store import chain, policy
from tasks_app.store.events import record_event
from tasks_app.store.retire import retire
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import completed, sql

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
YEAR = timedelta(days=365)
SYSTEM = Actor.system(via="test", reason="a test")


def a_life(owner: Person, clock: DatabaseClock) -> None:
    """A task that ended, expired and was purged, with everything sealed."""
    completed(owner)
    clock.advance(DAY)
    store.expire()
    clock.advance(8 * DAY)
    store.purge()
    clock.advance(DAY)
    chain.seal()


def test_batches_leave_after_a_year_and_their_seals_stay(alice: Person, clock: DatabaseClock) -> None:
    """Events and records have a retention of their own, long after that of the task."""
    a_life(alice, clock)
    clock.advance(YEAR - 20 * DAY)
    early = retire()
    a_life(alice, clock)
    events = Event.objects.count()
    clock.advance(30 * DAY)

    left = [retire(), retire()]

    assert early == 0
    assert left[0] == Seal.objects.get(number=1).count
    assert left[1] == 0
    assert Event.objects.count() == events - left[0] + 1
    assert Expiration.objects.count() == 1
    assert (chain.verify().broken, chain.verify().batch) == (None, 2)
    assert bytes(Seal.objects.get(number=1).leaves) == b""
    assert Event.objects.get(kind="retired").detail == {
        "batch": 1, "first": Seal.objects.get(number=1).first_id, "last": Seal.objects.get(number=1).last_id,
        "events": left[0], "records": 1,
    }  # fmt: skip


def test_nothing_leaves_while_its_task_is_there(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    """A legal hold keeps the story of its task as well."""
    task_id = completed(alice)
    store.hold(task_id, held=True, owner_id=None, by=bo.operates(reason="case 7"))
    clock.advance(DAY)
    chain.seal()
    clock.advance(2 * YEAR)
    held = retire()
    store.hold(task_id, held=False, owner_id=None, by=bo.operates())
    store.expire()
    clock.advance(8 * DAY)
    store.purge()

    assert held == 0
    assert retire() > 0


def test_events_that_are_not_sealed_never_leave(clock: DatabaseClock, db: None) -> None:
    record_event("a", by=SYSTEM)
    clock.advance(2 * YEAR)

    assert retire() == 0
    assert Event.objects.count() == 1


def test_policy_decides_when_they_leave(clock: DatabaseClock, db: None) -> None:
    record_event("a", by=SYSTEM)
    clock.advance(DAY)
    chain.seal()
    policy.save([Rule(tool="*", record_retention=3600)], base=0, by=SYSTEM)

    assert retire() == 1


def test_what_was_tampered_with_stays(clock: DatabaseClock, db: None) -> None:
    record_event("a", by=SYSTEM)
    clock.advance(DAY)
    chain.seal()
    sql("SELECT set_config('session_replication_role', 'replica', false)")
    sql("UPDATE tasks_event SET kind = 'b'")
    sql("SELECT set_config('session_replication_role', 'origin', false)")
    chain.look_around()
    clock.advance(2 * YEAR)

    assert retire() == 0


def test_guard_is_back_in_place_after_a_batch_has_left(clock: DatabaseClock, db: None) -> None:
    record_event("a", by=SYSTEM)
    clock.advance(DAY)
    chain.seal()
    clock.advance(2 * YEAR)

    assert retire() == 1

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        sql("DELETE FROM tasks_event")


def test_an_event_in_the_place_of_those_that_left_is_found(clock: DatabaseClock, db: None) -> None:
    record_event("a", by=SYSTEM)
    clock.advance(DAY)
    chain.seal()
    clock.advance(2 * YEAR)
    retire()
    first = Seal.objects.get().first_id

    sql("INSERT INTO tasks_event (id, kind, actor) VALUES (%(id)s, 'forged', '{}')", id=first)

    assert chain.verify().broken == chain.Break(1, first, "an event of a batch that has left")
