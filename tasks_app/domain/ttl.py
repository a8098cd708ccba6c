"""How long a task is kept: what a caller may ask for, and when the server grants more.

Lifetimes count from creation. Comparing with the current time is the database's part, since its clock decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, Literal

from tasks_app.domain.errors import InvalidTtl

QUESTION_MARGIN = timedelta(hours=1)
"""How long a task outlives the deadline of a question that it waits for."""


class _NotAsked(Enum):
    NOT_ASKED = "not asked"


NOT_ASKED: Final = _NotAsked.NOT_ASKED
"""Says that the caller left the lifetime out, which is not the same as asking for null."""


@dataclass(frozen=True, slots=True)
class Ttl:
    """A decided lifetime; a fixed one was asked for explicitly and is not raised by asking a question."""

    ms: int
    fixed: bool


def decide_ttl(
    asked_ms: object = NOT_ASKED,
    *,
    default_ms: int,
    max_ms: int,
    overflow: Literal["clamp", "reject"] = "clamp",
) -> Ttl:
    """Decide a new task's lifetime; an explicit null means the maximum.

    Raises InvalidTtl for what is not a positive whole number and, on a strict server, for more than the maximum.
    """
    if asked_ms is NOT_ASKED:
        return Ttl(min(default_ms, max_ms), fixed=False)
    if asked_ms is None:
        return Ttl(max_ms, fixed=True)
    # True is an int to Python, but not a number to JSON.
    if isinstance(asked_ms, bool) or not isinstance(asked_ms, int) or asked_ms <= 0:
        raise InvalidTtl
    if asked_ms > max_ms and overflow == "reject":
        raise InvalidTtl(f"The lifetime may be at most {max_ms} milliseconds. Ask for less, or leave it out.")
    return Ttl(min(asked_ms, max_ms), fixed=True)


def raised_for_question(expires_at: datetime, *, deadline: datetime) -> datetime:
    """Give the expiry of a task that starts to wait: at least one hour after the question's deadline."""
    return max(expires_at, deadline + QUESTION_MARGIN)


def raised_for_retention(expires_at: datetime, *, now: datetime, minimum: timedelta) -> datetime:
    """Give the expiry of a task that just ended: its outcome stays readable for at least `minimum`."""
    return max(expires_at, now + minimum)
