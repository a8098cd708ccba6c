"""The time zone of an account: chosen in Settings, in force on its pages, taken along by the next session."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, create

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


def choose(someone: Someone, zone: str) -> int:
    return someone.browser.post("/account/zone/", {"time_zone": zone}).status_code


def test_times_are_shown_in_the_chosen_zone(clock: DatabaseClock) -> None:
    ana = Someone("ana")
    clock.set(NOON)
    task = create(ana)
    assert "12:00:00" in ana.page(f"/tasks/{task.id}/")

    choose(ana, "Asia/Tokyo")

    page = ana.page(f"/tasks/{task.id}/")
    assert "21:00:00" in page
    assert 'datetime="2026-01-15T12:00:00' in page
    assert "<option selected>Asia/Tokyo</option>" in ana.page("/settings/")


def test_the_zone_of_one_account_is_not_anothers(clock: DatabaseClock) -> None:
    ana, bo = Someone("ana"), Someone("bo")
    clock.set(NOON)
    task = create(bo)

    choose(ana, "Asia/Tokyo")

    assert "12:00:00" in bo.page(f"/tasks/{task.id}/")


def test_the_next_session_takes_the_zone_along(clock: DatabaseClock) -> None:
    ana = Someone("ana")
    clock.set(NOON)
    task = create(ana)
    choose(ana, "America/New_York")
    later = Client()

    later.post("/login/", {"username": "ana", "password": "a long password"})

    assert "07:00:00" in later.get(f"/tasks/{task.id}/").content.decode()


def test_an_unknown_zone_changes_nothing() -> None:
    ana = Someone("ana")
    choose(ana, "Asia/Tokyo")

    assert choose(ana, "../etc/passwd") == 400
    assert "<option selected>Asia/Tokyo</option>" in ana.page("/settings/")


def test_the_servers_zone_can_be_chosen_again() -> None:
    ana = Someone("ana")
    choose(ana, "Asia/Tokyo")

    assert choose(ana, "") == 302
    assert "selected>Asia/Tokyo" not in ana.page("/settings/")
