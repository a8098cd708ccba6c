"""How often a client is asked to poll, and which task support suits a tool of a known duration.

Enforcing the interval is the endpoint's part.
"""

from __future__ import annotations

from typing import Literal

UNKNOWN_POLL_INTERVAL_MS = 5_000
LONGEST_POLL_INTERVAL_MS = 30_000

VERY_OLD_SECONDS = 3_600.0

FORBIDDEN_BELOW_SECONDS = 5.0
REQUIRED_ABOVE_SECONDS = 300.0


def poll_interval_ms(
    expected_seconds: float | None,
    age_seconds: float = 0.0,
    override_ms: int | None = None,
    *,
    unknown_ms: int = UNKNOWN_POLL_INTERVAL_MS,
) -> int:
    """Suggest a poll interval: the tool's own, or one that suits the expected duration.

    The suggestion is never shorter than what suits a task that has already run this long, and becomes 30 seconds for a
    task older than an hour: whoever outlived the estimate is not about to end in the next second.
    """
    if override_ms is not None:
        return override_ms
    suggested = unknown_ms if expected_seconds is None else _for_duration(expected_seconds)
    return max(suggested, _for_age(age_seconds))


def suggest_task_support(
    expected: float | None, timeout: float | None = None
) -> Literal["forbidden", "optional", "required"]:
    """Suggest a tool's task support from its expected duration and a client's time-out, in seconds.

    Under 5 s forbidden, above 5 min required, optional in between and where nothing is known. A client that gives up
    before the tool is expected to end makes a quick tool optional, since the plain call could not be waited for.
    """
    if expected is None:
        return "optional"
    if expected > REQUIRED_ABOVE_SECONDS:
        return "required"
    fits = timeout is None or expected < timeout
    return "forbidden" if expected < FORBIDDEN_BELOW_SECONDS and fits else "optional"


def _for_duration(seconds: float) -> int:
    if seconds < 10:
        return 1_000
    if seconds <= 60:
        return 3_000
    if seconds <= 600:
        return 5_000
    return 15_000


def _for_age(seconds: float) -> int:
    return LONGEST_POLL_INTERVAL_MS if seconds > VERY_OLD_SECONDS else _for_duration(seconds)
