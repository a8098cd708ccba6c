"""Back-off and what is retried."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import Retryable, Stop, Suspend, ToolError
from tasks_app.domain.retry import backoff_seconds, should_retry


@given(number=st.integers(0, 10**6), seed=st.integers())
def test_backoff_lies_in_the_upper_half_of_its_window(number: int, seed: int) -> None:
    window = min(300, 2 ** min(number, 20))

    assert window / 2 <= backoff_seconds(number, Random(seed)) <= window


@pytest.mark.parametrize(("number", "window"), [(0, 1), (1, 2), (3, 8), (8, 256), (9, 300), (50, 300)])
def test_backoff_doubles_up_to_five_minutes(number: int, window: int) -> None:
    pauses = [backoff_seconds(number, Random(seed)) for seed in range(200)]

    assert min(pauses) < window * 0.55
    assert max(pauses) > window * 0.95


def test_backoff_spreads_without_a_given_source() -> None:
    assert len({backoff_seconds(3) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("error", "retry_on", "retried"),
    [
        (Retryable("busy"), (), True),
        (ConnectionResetError(), (ConnectionError,), True),
        (TimeoutError(), (TimeoutError, ValueError), True),
        (ValueError(), (), False),
        (ValueError(), (KeyError,), False),
        (ToolError("no"), (), False),
        (Suspend(), (BaseException,), False),
        (Stop(), (BaseException,), False),
    ],
)
def test_only_retryable_and_listed_errors_are_tried_again(
    error: BaseException, retry_on: tuple[type[BaseException], ...], retried: bool
) -> None:
    assert should_retry(error, retry_on) is retried
