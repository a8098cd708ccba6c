"""Lifetimes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import InvalidTtl
from tasks_app.domain.ttl import NOT_ASKED, Ttl, decide_ttl, raised_for_question, raised_for_retention

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def decide(asked: object) -> Ttl:
    return decide_ttl(asked, default_ms=HOUR_MS, max_ms=DAY_MS)


def test_ttl_is_the_default_when_none_was_asked_for() -> None:
    """The rule of check 87."""
    assert decide(NOT_ASKED) == Ttl(HOUR_MS, fixed=False)
    assert decide_ttl(default_ms=HOUR_MS, max_ms=DAY_MS) == Ttl(HOUR_MS, fixed=False)


def test_ttl_is_the_maximum_when_null_was_asked_for() -> None:
    assert decide(None) == Ttl(DAY_MS, fixed=True)


@pytest.mark.parametrize(
    ("asked", "decided"),
    [
        (1, 1),
        (300_000, 300_000),
        (DAY_MS, DAY_MS),
        (DAY_MS + 1, DAY_MS),
        (2**63, DAY_MS),
        (2**63 - 1, DAY_MS),
        (10**400, DAY_MS),
    ],
)
def test_ttl_is_clamped_to_the_maximum_without_overflow(asked: int, decided: int) -> None:
    """check 88 and check 90."""
    assert decide(asked) == Ttl(decided, fixed=True)


@pytest.mark.parametrize("asked", [DAY_MS + 1, 2**63])
def test_ttl_above_the_maximum_is_refused_by_a_strict_server(asked: int) -> None:
    """check 88."""
    with pytest.raises(InvalidTtl, match=str(DAY_MS)):
        decide_ttl(asked, default_ms=HOUR_MS, max_ms=DAY_MS, overflow="reject")


def test_ttl_of_exactly_the_maximum_is_allowed_by_a_strict_server() -> None:
    """check 88."""
    assert decide_ttl(DAY_MS, default_ms=HOUR_MS, max_ms=DAY_MS, overflow="reject") == Ttl(DAY_MS, fixed=True)


@pytest.mark.parametrize("asked", [0, -1, True, False, 1.0, 1.5, float("nan"), "1000", [], {}])
def test_ttl_that_is_no_positive_whole_number_is_refused(asked: object) -> None:
    with pytest.raises(InvalidTtl, match="positive whole number"):
        decide(asked)


@given(st.integers())
def test_ttl_is_positive_and_within_the_maximum_or_refused(asked: int) -> None:
    if asked <= 0:
        with pytest.raises(InvalidTtl):
            decide(asked)
    else:
        assert decide(asked).ms == min(asked, DAY_MS)


@pytest.mark.parametrize(
    ("hours_left", "deadline_hours", "expected_hours"), [(1, 168, 169), (200, 168, 200), (168.5, 168, 169)]
)
def test_asking_raises_the_expiry_to_an_hour_past_the_deadline(
    hours_left: float, deadline_hours: float, expected_hours: float
) -> None:
    expires_at, deadline = NOW + timedelta(hours=hours_left), NOW + timedelta(hours=deadline_hours)

    assert raised_for_question(expires_at, deadline=deadline) == NOW + timedelta(hours=expected_hours)


@given(st.integers(-10_000, 10_000), st.integers(1, 10_000))
def test_ending_keeps_the_outcome_readable_for_the_minimum_and_never_shortens(left: int, minimum: int) -> None:
    expires_at = NOW + timedelta(seconds=left)

    raised = raised_for_retention(expires_at, now=NOW, minimum=timedelta(seconds=minimum))

    assert raised == NOW + timedelta(seconds=max(left, minimum))
