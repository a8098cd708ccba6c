"""When an attempt is tried again, and after how long.

Counting retries and losses is the store's part.
"""

from __future__ import annotations

from random import Random, SystemRandom

from tasks_app.domain.errors import ControlFlow, Retryable

LONGEST_BACKOFF_SECONDS = 300

_LARGEST_EXPONENT = LONGEST_BACKOFF_SECONDS.bit_length()
_SYSTEM_RANDOM = SystemRandom()


def backoff_seconds(retry_number: int, rng: Random = _SYSTEM_RANDOM) -> float:
    """Give the pause before the n-th retry: doubling, at most 5 minutes, spread over its upper half."""
    # The exponent is bounded as well, so that a huge retry number costs nothing.
    exponent = min(max(retry_number, 0), _LARGEST_EXPONENT)
    return float(min(LONGEST_BACKOFF_SECONDS, 2**exponent) * rng.uniform(0.5, 1.0))


def should_retry(error: BaseException, retry_on: tuple[type[BaseException], ...] = ()) -> bool:
    """Say whether this error is one to try again: Retryable, or of a type that the tool lists."""
    if isinstance(error, ControlFlow):
        return False
    return isinstance(error, (Retryable, *retry_on))
