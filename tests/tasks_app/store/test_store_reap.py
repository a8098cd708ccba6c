"""Lost workers: a lease that ran out is a loss, and the third loss ends the task."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import again, ask, claimed, created, kinds, last_event, look, scalar

pytestmark = pytest.mark.django_db

LEASE_OVER = timedelta(seconds=31)


@pytest.fixture(autouse=True)
def long_lease(settings: Settings) -> None:
    """The lease of production."""
    settings.TASKDECK_LEASE = 30


def test_lapsed_lease_is_a_loss_and_the_task_is_due_again(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    now = clock.advance(LEASE_OVER)

    assert store.reap() == 1

    task = look(claim.task_id)
    assert (task.status, task.losses, task.retries) == (Status.WORKING, 1, 0)
    assert (task.active_attempt, task.wake_at) == (None, now)
    assert queries.attempts(claim.task_id)[0].outcome == "lost"
    assert last_event(claim.task_id, "attempt_ended").actor == {"kind": "engine", "via": "engine"}
    assert again().number == 2


def test_reaping_again_finds_nothing(alice: Person, clock: DatabaseClock) -> None:
    claimed(alice)
    clock.advance(LEASE_OVER)

    assert [store.reap(), store.reap()] == [1, 0]


def test_lease_that_runs_is_left_alone(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    clock.advance(timedelta(seconds=29))
    store.heartbeat(claim)
    clock.advance(timedelta(seconds=29))

    assert store.reap() == 0
    assert store.holds(claim) is True


def test_third_loss_ends_the_task(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    losses = []
    for number in (1, 2, 3):
        clock.advance(LEASE_OVER)
        store.reap()
        losses.append((look(claim.task_id).losses, look(claim.task_id).status.value))
        if number < 3:
            assert again().number == number + 1

    task = look(claim.task_id)
    assert losses == [(1, "working"), (2, "working"), (3, "failed")]
    assert task.outcome is Outcome.RPC_ERROR
    assert queries.result(claim.task_id, owner_id=alice.id) == {
        "code": -32603,
        "message": "The worker was lost too often.",
        "data": {"reason": "lost"},
    }
    assert kinds(claim.task_id).count("to failed") == 1


def test_losses_and_retries_are_counted_apart(alice: Person, clock: DatabaseClock) -> None:
    store.retry(claimed(alice), delay=0)
    store.retry(again(), delay=0)
    again()
    clock.advance(LEASE_OVER)
    store.reap()
    store.release(again())

    task = look(again().task_id)
    assert (task.retries, task.losses, task.attempt) == (2, 1, 5)


def test_number_of_losses_follows_the_settings(alice: Person, clock: DatabaseClock, settings: Settings) -> None:
    """check 85."""
    settings.TASKDECK_MAX_LOSSES = 1
    claim = claimed(alice)
    clock.advance(LEASE_OVER)

    store.reap()

    assert look(claim.task_id).status is Status.FAILED


def test_lost_task_stays_readable_for_the_minimum_retention(
    alice: Person, clock: DatabaseClock, settings: Settings
) -> None:
    settings.TASKDECK_MAX_LOSSES = 1
    claim = claimed(alice, ttl_ms=60_000)
    now = clock.advance(LEASE_OVER)

    store.reap()

    assert look(claim.task_id).expires_at == now + timedelta(minutes=5)


def test_worker_that_was_told_to_stop_and_went_is_lost_and_the_task_stays_as_it_ended(
    alice: Person, clock: DatabaseClock
) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    before = look(claim.task_id)
    clock.advance(LEASE_OVER)

    assert store.reap() == 1
    assert queries.attempts(claim.task_id)[0].outcome == "lost"
    # Only the version: a page that shows the worker as stopping has to read the task again.
    assert look(claim.task_id) == replace(before, version=before.version + 1)


def test_handed_over_attempt_of_a_cancelled_task_is_lost_as_soon_as_any_other(
    alice: Person, clock: DatabaseClock
) -> None:
    claim = claimed(alice)
    store.lease_for(claim, timedelta(hours=10))
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    early = store.reap()
    clock.advance(LEASE_OVER)

    assert (early, store.reap()) == (0, 1)
    assert queries.attempts(claim.task_id)[0].outcome == "lost"


def test_attempts_that_ended_are_never_lost(alice: Person, clock: DatabaseClock) -> None:
    store.suspend(claimed(alice), [ask()])
    store.release(claimed(alice))
    created(alice)
    clock.advance(LEASE_OVER)

    assert store.reap() == 0


def test_handed_over_attempt_is_lost_after_its_own_time(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    store.lease_for(claim, timedelta(minutes=10))

    clock.advance(timedelta(minutes=9))
    early = store.reap()
    clock.advance(timedelta(minutes=2))

    assert (early, store.reap()) == (0, 1)


@pytest.mark.parametrize("max_losses", [1, 3])
def test_task_past_its_time_is_left_to_its_expiry(
    alice: Person, clock: DatabaseClock, settings: Settings, max_losses: int
) -> None:
    """check 91: the reaper must not bring it back, not even as a failed task."""
    settings.TASKDECK_MAX_LOSSES = max_losses
    claim = claimed(alice, ttl_ms=60_000)
    clock.advance(timedelta(minutes=2))

    before_expiry = store.reap()
    with pytest.raises(NotFound):
        look(claim.task_id)
    expired = store.expire()
    after_expiry = store.reap()

    assert (before_expiry, expired, after_expiry) == (0, 1, 1)
    assert kinds(claim.task_id) == ["created", "attempt_started", "to failed", "expired", "attempt_ended"]
    assert queries.attempts(claim.task_id)[0].outcome == "lost"
    assert scalar("SELECT outcome FROM tasks_expiration") == "expired"


def test_held_task_past_its_time_is_reaped_as_any_other(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice, ttl_ms=60_000)
    store.hold(claim.task_id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(minutes=2))

    assert store.reap() == 1
    assert again().number == 2
