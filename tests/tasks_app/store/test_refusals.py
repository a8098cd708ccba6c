"""What was refused: one event for who, what and minute, with a count."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from pytest_django import Settings

from tasks_app import counters, store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.models import Event
from tasks_app.store.refusals import MOST_KNOWN, MOST_TASKS, Ledger
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import completed, created
from tests.waiting import until

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 6000.0

    def __call__(self) -> float:
        return self.now


def client(credential: int | None = None) -> Actor:
    return Actor(ActorKind.CLIENT, credential=credential, via="mcp")


def test_same_refusal_within_a_minute_is_one_event_with_a_count() -> None:
    clock = Clock()
    ledger = Ledger(clock=clock)
    for _ in range(50):
        ledger.note("tasks/get", by=client(7), owner_id=3, address="10.0.0.1", why="not_found", task="t1")
    ledger.note("tasks/cancel", by=client(7), owner_id=3)
    ledger.note("tasks/get", by=client(8), owner_id=3)
    clock.now += 60
    ledger.note("tasks/get", by=client(7), owner_id=3)

    assert ledger.flush() == 4

    first = Event.objects.order_by("id")[0]
    assert first.detail == {
        "action": "tasks/get",
        "address": "10.0.0.1",
        "why": "unknown",
        "count": 50,
        "tasks": ["t1"],
    }
    assert (first.kind, first.task_id, first.owner_id, first.actor["credential"]) == ("refused", None, 3, 7)
    assert ledger.flush() == 0


def test_those_without_a_credential_are_told_apart_by_their_address() -> None:
    ledger = Ledger(clock=Clock())
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1"):
        ledger.note("POST", by=client(), address=address)

    ledger.flush()

    counts = {event.detail["address"]: event.detail["count"] for event in Event.objects.all()}
    assert counts == {"10.0.0.1": 2, "10.0.0.2": 1}


def test_flood_of_names_stays_within_its_memory() -> None:
    ledger = Ledger(clock=Clock())
    for number in range(MOST_KNOWN + 10):
        ledger.note("POST", by=client(), address=str(number))
    for number in range(MOST_TASKS + 5):
        ledger.note("POST", by=client(), address="0", task=str(number))

    assert ledger.flush() == MOST_KNOWN
    assert len(Event.objects.get(detail__address="0").detail["tasks"]) == MOST_TASKS


def test_what_cannot_be_stored_does_not_spoil_the_rest() -> None:
    ledger = Ledger(clock=Clock())
    ledger.note("a\x00b\ud800", by=client(1), address="x", task="\x00")
    ledger.note("fine", by=client(1), address="x")

    assert ledger.flush() == 2


def test_forgotten_refusals_are_not_written() -> None:
    ledger = Ledger(clock=Clock())
    ledger.note("POST", by=client(), address="x")

    ledger.forget()

    assert ledger.flush() == 0


def test_denials_are_told_apart_on_record_and_in_the_numbers(alice: Person, eve: Person, clock: DatabaseClock) -> None:
    """section 2 item 16: another's, expired, purged and unknown; the gravest is the reason of the whole."""
    counters.reset()
    purged = completed(alice)
    clock.advance(timedelta(days=2))
    assert store.expire() == 1
    clock.advance(timedelta(days=8))
    assert store.purge() == 1
    over, foreign = created(alice, ttl_ms=1000), created(eve)
    clock.advance(timedelta(seconds=2))
    ledger = Ledger(clock=Clock())
    by = Actor(ActorKind.CLIENT, id=alice.id, credential=7, via="mcp")
    asked = {"a": [over.id], "b": [purged], "c": [uuid4()], "d": [foreign.id], "e": [uuid4(), over.id, foreign.id]}
    for action, tasks in asked.items():
        for task_id in tasks:
            ledger.note(action, by=by, owner_id=alice.id, why="not_found", task=str(task_id))
    ledger.note("c", by=by, owner_id=alice.id, why="not_found")

    ledger.flush()

    details = {event.detail["action"]: event.detail for event in Event.objects.filter(kind="refused")}
    whys = {action: detail["why"] for action, detail in details.items()}
    assert whys == {"a": "expired", "b": "expired", "c": "unknown", "d": "foreign", "e": "foreign"}
    assert details["e"]["reasons"] == {"foreign": 1, "expired": 1, "unknown": 1}
    assert "reasons" not in details["c"]
    assert counters.denials() == {"expired": 3, "unknown": 3, "foreign": 2}


def test_denials_beyond_those_that_are_remembered_are_counted_all_the_same(alice: Person) -> None:
    counters.reset()
    ledger = Ledger(clock=Clock())
    for _ in range(MOST_TASKS + 3):
        ledger.note("tasks/get", by=client(7), owner_id=alice.id, why="not_found", task=str(uuid4()))

    ledger.flush()

    assert counters.denials() == {"unknown": MOST_TASKS, "other": 3}


@pytest.mark.django_db(transaction=True)
def test_refusals_are_written_by_themselves_after_a_while(settings: Settings) -> None:
    settings.TASKDECK_REFUSALS_EVERY = 0.01
    ledger = Ledger()

    ledger.note("POST", by=client(), address="x")

    assert until(lambda: Event.objects.filter(kind="refused").first()).detail["count"] == 1
