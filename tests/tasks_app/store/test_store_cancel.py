"""Cancelling: immediate for the task, then the worker; who may, and what the events say."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasks_app import store
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import Actor, ActorKind, new_task_id
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import QuestionState
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import asking, claimed, completed, created, kinds, last_event, look

pytestmark = pytest.mark.django_db


def test_cancel_is_the_transition_to_cancelled(alice: Person, clock: DatabaseClock) -> None:
    """check 63."""
    task = created(alice)
    now = clock.advance(timedelta(seconds=1))

    done = store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert (done.happened, done.task.status, done.task.outcome) == (True, Status.CANCELLED, Outcome.CANCELLED)
    assert (done.task.finished_at, done.task.status_at, done.task.version) == (now, now, task.version + 1)
    assert done.task.wake_at is None
    assert kinds(task.id) == ["created", "to cancelled"]


def test_cancel_fences_the_worker_and_tells_it_to_stop(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    now = clock.advance(timedelta(seconds=1))

    done = store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    [attempt] = queries.attempts(claim.task_id)
    assert (done.task.active_attempt, done.task.attempt) == (None, 1)
    assert (attempt.stop_requested_at, attempt.stop_acknowledged_at, attempt.ended_at) == (now, None, None)
    assert store.holds(claim) is False


def test_cancel_withdraws_what_the_task_asks(alice: Person) -> None:
    task_id = asking(alice)

    store.cancel(task_id, owner_id=alice.id, by=alice.acts(reason="changed my mind"))

    assert queries.questions(task_id)[0].state is QuestionState.WITHDRAWN
    assert look(task_id).open_questions == 0
    assert last_event(task_id, "withdrawn").actor == alice.acts(reason="changed my mind").as_json()
    assert last_event(task_id, "status").actor["reason"] == "changed my mind"


@pytest.mark.parametrize("how", ["completed", "cancelled"])
def test_finished_task_is_left_as_it_is(alice: Person, how: str) -> None:
    task_id = completed(alice) if how == "completed" else created(alice).id
    if how == "cancelled":
        store.cancel(task_id, owner_id=alice.id, by=alice.acts())
    before, events = look(task_id), len(queries.timeline(task_id))

    done = store.cancel(task_id, owner_id=alice.id, by=alice.acts())

    assert (done.happened, done.task.status.value) == (False, how)
    assert (look(task_id), len(queries.timeline(task_id))) == (before, events)


def test_strangers_unknown_and_expired_tasks_are_not_found(alice: Person, eve: Person, clock: DatabaseClock) -> None:
    """check 60, check 91, check 92."""
    task = created(alice)

    with pytest.raises(NotFound):
        store.cancel(task.id, owner_id=eve.id, by=eve.acts())
    with pytest.raises(NotFound):
        store.cancel(new_task_id(), owner_id=alice.id, by=alice.acts())
    clock.advance(timedelta(hours=1))
    with pytest.raises(NotFound):
        store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert kinds(task.id) == ["created"]


@pytest.mark.parametrize("kind", [ActorKind.OPERATOR, ActorKind.ADMIN])
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_operator_needs_a_reason_for_anothers_task(
    alice: Person, bo: Person, kind: ActorKind, reason: str | None
) -> None:
    task = created(alice)

    with pytest.raises(NotAllowed, match="reason"):
        store.cancel(task.id, owner_id=None, by=Actor(kind, id=bo.id, reason=reason))

    assert look(task.id).status is Status.WORKING


def test_operator_with_a_reason_cancels_for_the_owner(alice: Person, bo: Person) -> None:
    task = created(alice)

    store.cancel(task.id, owner_id=None, by=bo.operates(reason="runaway \x00"))

    assert last_event(task.id, "status").actor == {
        "kind": "operator",
        "id": bo.id,
        "role": "operator",
        "via": "console",
        "reason": "runaway \ufffd",
    }


def test_operator_needs_no_reason_for_their_own_task(bo: Person) -> None:
    task = created(bo)

    assert store.cancel(task.id, owner_id=None, by=bo.operates(reason=None)).happened is True


def test_worker_that_saw_the_request_closes_its_attempt_as_stopped(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    seen_at = clock.advance(timedelta(seconds=1))
    store.heartbeat(claim)
    now = clock.advance(timedelta(seconds=1))

    closed = [store.stopped(claim), store.stopped(claim), store.killed(claim)]

    [attempt] = queries.attempts(claim.task_id)
    assert closed == [True, False, False]
    assert (attempt.outcome, attempt.ended_at, attempt.stop_acknowledged_at) == ("stopped", now, seen_at)
    assert last_event(claim.task_id, "attempt_ended").actor["kind"] == "worker"


def test_worker_that_had_to_be_ended_is_killed(alice: Person) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    assert store.killed(claim) is True
    assert queries.attempts(claim.task_id)[0].outcome == "killed"


def test_attempt_that_was_not_told_to_stop_is_neither_stopped_nor_killed(alice: Person) -> None:
    claim = claimed(alice)

    assert (store.stopped(claim), store.killed(claim)) == (False, False)
    assert store.holds(claim) is True
