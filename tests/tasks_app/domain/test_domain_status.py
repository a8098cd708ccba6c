"""The state machine of a task."""

from __future__ import annotations

from itertools import product

import pytest

from tasks_app.domain.errors import InvalidTransition
from tasks_app.domain.status import INITIAL, TERMINAL, TRANSITIONS, Status

W, R, C, F, X = Status.WORKING, Status.INPUT_REQUIRED, Status.COMPLETED, Status.FAILED, Status.CANCELLED
ALLOWED = {(W, R), (W, C), (W, F), (W, X), (R, W), (R, C), (R, F), (R, X)}


@pytest.mark.parametrize(("before", "after"), list(product(Status, Status)))
def test_status_moves_only_along_the_table(before: Status, after: Status) -> None:
    """All 25 pairs: check 76 and check 77."""
    assert before.can_transition_to(after) is ((before, after) in ALLOWED)


@pytest.mark.parametrize("status", Status)
def test_status_is_terminal_exactly_when_nothing_leaves_it(status: Status) -> None:
    """check 77."""
    assert status.is_terminal is (status in {C, F, X})
    assert status.is_terminal is (not TRANSITIONS[status])
    assert status.is_terminal is (status in TERMINAL)


def test_completed_task_cannot_work_again_and_the_error_says_so() -> None:
    """check 78."""
    error = InvalidTransition(Status.COMPLETED, Status.WORKING)

    assert not Status.COMPLETED.can_transition_to(Status.WORKING)
    assert (error.before, error.after) == ("completed", "working")
    assert "completed cannot become working" in str(error)


def test_task_is_born_working() -> None:
    """The Python part of check 79."""
    assert INITIAL is Status.WORKING


def test_status_table_cannot_be_edited() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[Status.COMPLETED] = frozenset({Status.WORKING})  # type: ignore[index]


def test_status_values_are_the_words_of_the_protocol() -> None:
    assert [str(status) for status in Status] == ["working", "input_required", "completed", "failed", "cancelled"]
