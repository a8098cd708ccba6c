"""The table of transitions as the database enforces it, against raw SQL: 25 pairs, and no half-done change."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.status import Status
from tests.conftest import Person
from tests.tasks_app.store.life import (
    BROKEN,
    act_as,
    asking,
    claimed,
    completed,
    created,
    look,
    rolled_back,
    scalar,
    sql,
)

pytestmark = pytest.mark.django_db

LIVE = "outcome = NULL, finished_at = NULL, result = NULL, error = NULL, active_attempt = NULL"
ENDED = "finished_at = tasks_now() + interval '1 second', open_questions = 0, wake_at = NULL, active_attempt = NULL"

# Every column that depends on the status, set as the constraints demand it.
CONSISTENT = {
    Status.WORKING: f"{LIVE}, open_questions = 0, wake_at = tasks_now()",
    Status.INPUT_REQUIRED: f"{LIVE}, open_questions = 1, wake_at = NULL",
    Status.COMPLETED: f"{ENDED}, outcome = 'result', result = '{{}}', error = NULL",
    Status.FAILED: f"{ENDED}, outcome = 'rpc_error', error = '{{}}', result = NULL",
    Status.CANCELLED: f"{ENDED}, outcome = 'cancelled', result = NULL, error = NULL",
}
PAIRS = list(product(Status, Status))
LEGAL = [(before, after) for before, after in PAIRS if before.can_transition_to(after)]
ILLEGAL = [(before, after) for before, after in PAIRS if before.is_terminal]
STAYING = [(status, status) for status in Status if not status.is_terminal]


def in_status(owner: Person, status: Status) -> UUID:
    """A task that stands here."""
    match status:
        case Status.WORKING:
            return created(owner).id
        case Status.INPUT_REQUIRED:
            return asking(owner)
        case Status.COMPLETED:
            return completed(owner)
        case Status.FAILED:
            return store.fail(claimed(owner), error=BROKEN).id
        case Status.CANCELLED:
            return store.cancel(created(owner).id, owner_id=owner.id, by=owner.acts()).task.id


def move(task_id: UUID, after: Status) -> None:
    """Set the status and all that depends on it, by hand."""
    act_as(Actor.system(via="sql"))
    sql(f"UPDATE tasks_task SET status = '{after.value}', {CONSISTENT[after]} WHERE id = %(id)s", id=task_id)


def test_every_pair_is_legal_illegal_or_no_move_at_all() -> None:
    """check 76, check 77: 25 pairs."""
    assert len(PAIRS) == 25
    assert sorted(LEGAL + ILLEGAL + STAYING) == sorted(PAIRS)
    assert (len(LEGAL), len(ILLEGAL), len(STAYING)) == (8, 15, 2)


@pytest.mark.parametrize(("before", "after"), LEGAL)
def test_legal_move_is_accepted_and_logged(alice: Person, before: Status, after: Status) -> None:
    """check 76, check 77."""
    task_id = in_status(alice, before)
    version = look(task_id).version

    with rolled_back():
        move(task_id, after)
        task = look(task_id)
        logged = sql("SELECT from_status, to_status, actor ->> 'via' FROM tasks_event ORDER BY id DESC LIMIT 1")
        counted = sql('SELECT "left", entered FROM tasks_tally ORDER BY id DESC LIMIT 1')

    assert (task.status, task.version, task.status_at) == (after, version + 1, task.updated_at)
    assert logged == [(before.value, after.value, "sql")]
    assert counted == [(before.value, after.value)]


@pytest.mark.parametrize(("before", "after"), ILLEGAL)
def test_illegal_move_is_refused(alice: Person, before: Status, after: Status) -> None:
    """check 76, check 78: although all that depends on the status is set to match."""
    task_id = in_status(alice, before)
    old = look(task_id)

    with pytest.raises(IntegrityError, match=f"already {before.value}"), transaction.atomic():
        move(task_id, after)

    assert look(task_id) == old


@pytest.mark.parametrize("status", [status for status, _ in STAYING])
def test_staying_is_an_update_and_no_transition(alice: Person, status: Status) -> None:
    """check 76: a new message is no move; nothing is logged and nothing is counted."""
    task_id = in_status(alice, status)
    old = look(task_id)
    events = scalar("SELECT count(*) FROM tasks_event")

    with rolled_back():
        move(task_id, status)
        sql("UPDATE tasks_task SET status_message = 'still here' WHERE id = %(id)s", id=task_id)
        new = look(task_id)
        written = scalar("SELECT count(*) FROM tasks_event")

    assert (new.status, new.status_at, new.version) == (status, old.status_at, old.version + 1)
    assert written == events


@pytest.mark.parametrize("status", ["paused", "", "WORKING", "expired"])
def test_unknown_status_is_refused(alice: Person, status: str) -> None:
    """check 76."""
    task_id = created(alice).id
    act_as(Actor.system(via="sql"))

    with pytest.raises(IntegrityError, match="task_status_known"), transaction.atomic():
        sql("UPDATE tasks_task SET status = %(status)s, wake_at = NULL WHERE id = %(id)s", status=status, id=task_id)


DONE_BY_HAND = "status = 'completed', outcome = 'result', result = '{}', finished_at = tasks_now(), wake_at = NULL"
HALF_DONE = [
    ("status = 'completed', outcome = 'result', result = '{}', wake_at = NULL", "task_finished_iff_terminal"),
    ("finished_at = tasks_now(), outcome = 'result'", "task_finished_iff_terminal"),
    ("status = 'completed', result = '{}', finished_at = tasks_now(), wake_at = NULL", "task_outcome_iff_finished"),
    ("outcome = 'result'", "task_outcome_iff_finished"),
    (f"{DONE_BY_HAND}, outcome = 'cancelled'", "task_status_follows_outcome"),
    (f"{DONE_BY_HAND}, outcome = 'expired'", "task_status_follows_outcome"),
    (f"{DONE_BY_HAND}, outcome = 'lost'", "task_status_follows_outcome"),
    (f"{DONE_BY_HAND}, result = NULL", "task_result_iff_completed"),
    ("result = '{}'", "task_result_iff_completed"),
    (f"{DONE_BY_HAND}, error = '{{}}'", "task_error_iff_failed"),
    ("error = '{}'", "task_error_iff_failed"),
    ("status = 'failed', outcome = 'rpc_error', finished_at = tasks_now(), wake_at = NULL", "task_error_iff_failed"),
    ("status = 'input_required', wake_at = NULL", "task_input_iff_open"),
    ("open_questions = 1", "task_input_iff_open"),
    (f"{DONE_BY_HAND}, open_questions = 1", "task_input_iff_open"),
    ("expired_at = tasks_now()", "task_expired_only_finished"),
    ("wake_at = NULL", "task_working_held_xor_runnable"),
    ("active_attempt = 0", "task_working_held_xor_runnable"),
    (f"{DONE_BY_HAND}, wake_at = tasks_now()", "task_working_held_xor_runnable"),
    ("active_attempt = 1, wake_at = NULL", "task_active_is_latest"),
    ("idempotency_key = 'k'", "task_key_has_digest"),
]


@pytest.mark.parametrize(("change", "rule"), HALF_DONE)
def test_half_done_change_is_refused_by_its_rule(alice: Person, change: str, rule: str) -> None:
    """check 68, check 76: no writer can leave a task in between."""
    task = created(alice)
    act_as(Actor.system(via="sql"))
    # A later word for a column takes the place of an earlier one.
    settings = dict(part.split(" = ", 1) for part in change.split(", "))
    text = ", ".join(f"{column} = {value}" for column, value in settings.items())

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        sql(f"UPDATE tasks_task SET {text} WHERE id = %(id)s", id=task.id)

    assert rule in str(refused.value)
    assert look(task.id).version == task.version
