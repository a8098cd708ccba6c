"""Outcomes, and what each dialect shows for them."""

from __future__ import annotations

import pytest

from tasks_app.domain.outcome import AttemptEnd, Dialect, Outcome, wire_status
from tasks_app.domain.status import Status


@pytest.mark.parametrize(
    ("outcome", "stored", "legacy", "modern"),
    [
        (Outcome.RESULT, "completed", "completed", "completed"),
        (Outcome.TOOL_ERROR, "completed", "failed", "completed"),
        (Outcome.RPC_ERROR, "failed", "failed", "failed"),
        (Outcome.CANCELLED, "cancelled", "cancelled", "cancelled"),
        (Outcome.EXPIRED, "failed", "failed", "failed"),
    ],
)
def test_outcome_is_stored_once_and_shown_by_dialect(outcome: Outcome, stored: str, legacy: str, modern: str) -> None:
    assert outcome.status == stored
    assert outcome.status.is_terminal
    assert wire_status(outcome.status, outcome, Dialect.LEGACY) == legacy
    assert wire_status(outcome.status, outcome, Dialect.MODERN) == modern


@pytest.mark.parametrize("status", [Status.WORKING, Status.INPUT_REQUIRED])
@pytest.mark.parametrize("dialect", Dialect)
def test_live_status_is_shown_as_it_is(status: Status, dialect: Dialect) -> None:
    shown = wire_status(status, None, dialect)

    assert shown == status.value
    assert type(shown) is str


def test_dialects_are_named_by_their_version() -> None:
    assert Dialect("2025-11-25") is Dialect.LEGACY
    assert Dialect("2026-07-28") is Dialect.MODERN


def test_outcomes_and_attempt_ends_are_the_words_of_the_database() -> None:
    assert set(Outcome) == {"result", "tool_error", "rpc_error", "cancelled", "expired"}
    assert set(AttemptEnd) == {
        "completed",
        "suspended",
        "failed",
        "timed_out",
        "lost",
        "released",
        "stopped",
        "killed",
    }
