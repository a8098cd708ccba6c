"""Poll intervals and task support by duration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.polling import poll_interval_ms, suggest_task_support

SECONDS = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("expected", "interval"),
    [
        (0, 1_000),
        (9.9, 1_000),
        (10, 3_000),
        (60, 3_000),
        (61, 5_000),
        (600, 5_000),
        (601, 15_000),
        (86_400, 15_000),
        (None, 5_000),
    ],
)
def test_poll_interval_follows_the_expected_duration(expected: float | None, interval: int) -> None:
    """check 94."""
    assert poll_interval_ms(expected) == interval


@pytest.mark.parametrize(
    ("age", "interval"), [(0, 1_000), (9, 1_000), (30, 3_000), (300, 5_000), (1_000, 15_000), (4_000, 30_000)]
)
def test_poll_interval_grows_with_the_age_of_the_task(age: float, interval: int) -> None:
    """check 94."""
    assert poll_interval_ms(5, age) == interval


def test_poll_interval_of_a_tool_overrides_everything() -> None:
    """check 93."""
    assert poll_interval_ms(5, 4_000, override_ms=3_000) == 3_000
    assert poll_interval_ms(None, override_ms=250) == 250


def test_poll_interval_where_nothing_is_known_can_be_configured() -> None:
    """check 93."""
    assert poll_interval_ms(None, unknown_ms=7_000) == 7_000
    assert poll_interval_ms(5, unknown_ms=7_000) == 1_000


@given(expected=st.none() | SECONDS, age=SECONDS, older=SECONDS)
def test_poll_interval_never_shrinks_with_age_and_is_bounded(expected: float | None, age: float, older: float) -> None:
    younger, elder = sorted((age, older))

    assert 1_000 <= poll_interval_ms(expected, younger) <= poll_interval_ms(expected, elder) <= 30_000


@pytest.mark.parametrize(
    ("expected", "timeout", "support"),
    [
        (1, 30, "forbidden"),
        (4.9, None, "forbidden"),
        (5, None, "optional"),
        (20, 30, "optional"),
        (30, 30, "optional"),
        (300, 60, "optional"),
        (301, None, "required"),
        (3_600, 30, "required"),
        (None, None, "optional"),
        (None, 30, "optional"),
        (4, 2, "optional"),
    ],
)
def test_task_support_is_suggested_by_duration_and_time_out(
    expected: float | None, timeout: float | None, support: str
) -> None:
    """check 30."""
    assert suggest_task_support(expected, timeout) == support
