"""What every test may use: three people (alice owns, bo operates, eve has no right), a clock, and the invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind, OwnerKind
from tasks_app.store import policy, room
from tasks_app.store.invariants import violations
from tests.processes import broker_url, hint_through


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers last: their event loop stays in the process, and no asynchronous test can begin another after it."""
    items.sort(key=lambda item: "playwright" in getattr(item, "fixturenames", ()))


@dataclass(frozen=True)
class Person:
    """An owner and how they act."""

    id: int
    name: str

    def acts(self, *, reason: str | None = None) -> Actor:
        """As the owner, in the console."""
        return Actor(ActorKind.OWNER, id=self.id, via="console", reason=reason)

    def operates(self, *, reason: str | None = "on call") -> Actor:
        """As an operator, in the console."""
        return Actor(ActorKind.OPERATOR, id=self.id, role="operator", via="console", reason=reason)


def _person(name: str) -> Person:
    return Person(store.find_or_make_owner(OwnerKind.USER, subject=name), name)


@pytest.fixture(scope="session", autouse=True)
def _hints_go_to_the_broker_of_this_process() -> None:
    hint_through(broker_url())


@pytest.fixture(scope="session", autouse=True)
def _nobody_is_left_at_the_end(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A thread that ends with its process may hold a connection yet, and the database of the tests is to be dropped."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(autouse=True)
def _nothing_is_remembered_of_another_test() -> Iterator[None]:
    """This process remembers the policy, and who had room, for seconds: one test's must not count in the next."""
    policy.remember_none()
    room.forget()
    yield
    policy.remember_none()


@pytest.fixture
def alice(db: None) -> Person:
    """Owns tasks."""
    return _person("alice")


@pytest.fixture
def bo(db: None) -> Person:
    """Operates."""
    return _person("bo")


@pytest.fixture
def eve(db: None) -> Person:
    """Has no right to alice's tasks."""
    return _person("eve")


class DatabaseClock:
    """The database's clock as this test's connection sees it: real until it is moved, then frozen where it was put."""

    def now(self) -> datetime:
        """What the database thinks the time is."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT tasks_now()")
            return cursor.fetchone()[0]  # type: ignore[no-any-return]

    def set(self, moment: datetime) -> None:
        """Freeze the clock here."""
        self._write(moment.isoformat())

    def advance(self, by: timedelta) -> datetime:
        """Move the clock on from what it shows, and freeze it there."""
        moment = self.now() + by
        self.set(moment)
        return moment

    def release(self) -> None:
        """Back to the real time."""
        self._write("")

    def _write(self, text: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('tasks.fake_now', %s, false)", [text])


@pytest.fixture
def clock(db: None) -> Iterator[DatabaseClock]:
    """The database's clock, to move at will; released at the end."""
    clock = DatabaseClock()
    yield clock
    clock.release()


@pytest.fixture
def check_invariants(db: None) -> Callable[[], None]:
    """Fails when something is not true of the tables that always must be."""

    def check() -> None:
        assert violations() == []

    return check
