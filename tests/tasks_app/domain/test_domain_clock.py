"""Clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tasks_app.domain.clock import Clock, FrozenClock, SystemClock


def test_system_clock_is_aware_and_never_goes_back() -> None:
    clock: Clock = SystemClock()

    first, second = clock.monotonic(), clock.monotonic()

    assert clock.now().utcoffset() == timedelta(0)
    assert second >= first


def test_frozen_clock_stands_still_until_advanced() -> None:
    clock = FrozenClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    before = clock.now(), clock.monotonic()

    assert (clock.now(), clock.monotonic()) == before

    clock.advance(90.5)

    assert clock.now() == datetime(2026, 3, 1, 12, 1, 30, 500_000, tzinfo=UTC)
    assert clock.monotonic() == 90.5


def test_frozen_clock_tells_utc_whatever_zone_it_was_set_in() -> None:
    clock = FrozenClock(datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))))

    assert clock.now().isoformat() == "2026-03-01T10:00:00+00:00"


def test_frozen_clock_refuses_to_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        FrozenClock().advance(-1)


def test_frozen_clock_refuses_a_time_without_a_zone() -> None:
    with pytest.raises(ValueError, match="with a zone"):
        FrozenClock(datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None))
