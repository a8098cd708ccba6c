"""Every limit with its default, and the functions that hold a value against them.

Where the numbers come from in a running server (settings) is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from tasks_app.domain.errors import (
    AnswerTooLarge,
    ArgumentsTooLarge,
    LimitExceeded,
    ResultTooLarge,
    TooDeep,
    TooManyEntries,
)
from tasks_app.domain.text import to_json_bytes

KIB = 1024
MIB = 1024 * KIB
MINUTE_SECONDS = 60
HOUR_SECONDS = 60 * MINUTE_SECONDS
DAY_SECONDS = 24 * HOUR_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All limits of one server; each is a positive number, in the unit that its name ends with."""

    default_ttl_ms: int = HOUR_SECONDS * 1000
    max_ttl_ms: int = DAY_SECONDS * 1000
    default_poll_interval_ms: int = 5_000
    minimum_retention_seconds: float = 5 * MINUTE_SECONDS
    max_keep_seconds: float = 30 * DAY_SECONDS
    purge_after_seconds: float = 7 * DAY_SECONDS
    record_retention_seconds: float = 365 * DAY_SECONDS
    question_ttl_seconds: float = 7 * DAY_SECONDS

    live_tasks: int = 100
    owner_bytes: int = 256 * MIB

    arguments_bytes: int = 256 * KIB
    result_bytes: int = 4 * MIB
    answer_bytes: int = 64 * KIB

    update_entries: int = 64
    update_bytes: int = 256 * KIB
    update_depth: int = 32

    variables_bytes: int = MIB
    variables_depth: int = 10
    variable_string_bytes: int = 64 * KIB

    request_body_bytes: int = MIB
    form_body_bytes: int = 64 * KIB
    list_page: int = 50
    idempotency_key_characters: int = 200
    sync_budget_seconds: float = 20.0
    round_trip_seconds: float = 10 * MINUTE_SECONDS

    requests_per_second: int = 100
    requests_burst: int = 400
    address_requests_per_second: int = 200
    logins_per_minute: int = 5
    polls_per_interval: int = 4
    polls_burst: int = 30

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ValueError(f"{field.name} must be a number above 0, not {value!r}.")
        if self.default_ttl_ms > self.max_ttl_ms:
            raise ValueError(
                f"default_ttl_ms ({self.default_ttl_ms}) must not be above max_ttl_ms ({self.max_ttl_ms})."
            )


def json_depth(value: object) -> int:
    """Count how many arrays and objects are nested in each other at the deepest place; a scalar has depth 0.

    Works level by level, so that no depth of nesting can exhaust the stack.
    """
    depth = 0
    level = [value]
    while containers := [item for item in level if isinstance(item, dict | list | tuple)]:
        depth += 1
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def check_size(value: object, *, limit: int, error: type[LimitExceeded]) -> int:
    """Give the number of bytes that the value takes as compact JSON; raises `error` above the limit."""
    size = len(to_json_bytes(value))
    if size > limit:
        raise error(limit)
    return size


def check_arguments(arguments: Mapping[str, object], *, limits: Limits) -> int:
    """Give the size of a call's arguments; raises ArgumentsTooLarge."""
    return check_size(arguments, limit=limits.arguments_bytes, error=ArgumentsTooLarge)


def check_result(result: object, *, limits: Limits) -> int:
    """Give the size of a tool's result; raises ResultTooLarge."""
    return check_size(result, limit=limits.result_bytes, error=ResultTooLarge)


def check_answer(answer: object, *, limits: Limits) -> int:
    """Give the size of one answer; raises AnswerTooLarge, or TooDeep for what no form could hold."""
    if json_depth(answer) > limits.update_depth:
        raise TooDeep(limits.update_depth)
    return check_size(answer, limit=limits.answer_bytes, error=AnswerTooLarge)


def check_update(answers: Mapping[str, object], *, limits: Limits) -> int:
    """Give the size of several answers sent at once; raises TooManyEntries, TooDeep or AnswerTooLarge."""
    if len(answers) > limits.update_entries:
        raise TooManyEntries(limits.update_entries)
    if json_depth(answers) > limits.update_depth:
        raise TooDeep(limits.update_depth)
    return check_size(answers, limit=limits.update_bytes, error=AnswerTooLarge)
