"""Hints: how many messages they become, on the broker and the wake list of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from console.celery import app
from tasks_app import store
from tasks_app.engine import drain, hints, loop, wake
from tasks_app.store import workers
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import claimed, created
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

PARK_SECONDS = 20.0


@pytest.fixture(autouse=True)
def queue() -> Iterator[Any]:
    """The queue of hints, empty before and after; nothing waits on the wake list either."""
    with app.connection_for_write() as connection:
        found = app.amqp.queues["taskdeck"](connection.default_channel)
        found.declare()
        _clear(found)
        yield found
        _clear(found)


def _clear(queue: Any) -> None:
    queue.purge()
    wake._line().trip([("DEL", wake._list(), wake._mark())])


def messages(queue: Any) -> int:
    """How many wait."""
    return int(queue.queue_declare().message_count)


def test_first_hint_sends_a_message_for_each_task(queue: Any) -> None:
    hints.publish(3, is_first=True)

    assert messages(queue) == 3


def test_hint_sends_nothing_while_a_message_waits(queue: Any) -> None:
    for _ in range(50):
        hints.publish(1, is_first=True)

    assert messages(queue) == 1


def test_hint_sends_again_once_a_child_took_the_message(queue: Any) -> None:
    hints.publish(1, is_first=True)
    drain.drain("test")

    hints.publish(1, is_first=True)

    assert messages(queue) == 2


def test_loop_sends_whatever_waits_because_that_may_be_lost(queue: Any) -> None:
    hints.publish(1, is_first=True)

    hints.publish(2)

    assert messages(queue) == 3


@pytest.mark.parametrize(
    ("worker", "expected"), [((2, False), 1), ((1, False), 1), ((1, True), 0), (None, 0)],
    ids=["room", "full", "leaving", "none"],
)  # fmt: skip
def test_loop_hints_at_what_is_due_where_a_worker_lives_though_its_slots_seem_taken(
    queue: Any, alice: Person, clock: DatabaseClock, worker: tuple[int, bool] | None, expected: int
) -> None:
    """A child that died holds its slot until its lease is over; the one that replaced it waits for work."""
    claimed(alice, claimant=store.Claimant("host:1:a/7"))
    created(alice)
    clock.advance(timedelta(seconds=1))
    if worker:
        workers.beat("host:1:a", slots=worker[0], draining=worker[1])

    assert [loop.dispatch(), messages(queue)] == [expected, expected]


def test_loop_sends_one_hint_at_a_time_where_the_slots_seem_taken(
    queue: Any, alice: Person, clock: DatabaseClock
) -> None:
    """They would pile up for as long as the slots are really taken."""
    claimed(alice, claimant=store.Claimant("host:1:a/7"))
    created(alice)
    clock.advance(timedelta(seconds=1))
    workers.beat("host:1:a", slots=1, draining=False)

    for _ in range(5):
        loop.dispatch()

    assert messages(queue) == 1


def test_child_that_waits_is_woken_without_a_message(queue: Any) -> None:
    woken: list[bool] = []
    child = threading.Thread(target=lambda: woken.append(wake.park(PARK_SECONDS)))
    child.start()
    until(lambda: b"blocked_clients:0" not in wake._line().trip([("INFO", "clients")])[0])

    hints.publish(1, is_first=True)

    child.join(PARK_SECONDS)
    assert (woken, messages(queue)) == ([True], 0)
