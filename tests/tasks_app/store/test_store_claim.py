"""Claiming due work: what a claim holds, what is due, who comes first, the caps, and the lease."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import new_task_id
from tasks_app.store import Beat, Claimant, queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    DONE,
    WORKER,
    again,
    answer,
    asking,
    claimed,
    completed,
    created,
    gated,
    last_event,
    look,
    sql,
)

pytestmark = pytest.mark.django_db


def test_claim_holds_all_that_a_worker_needs(alice: Person) -> None:
    task = created(
        alice,
        arguments={"x": 1},
        tool_version=4,
        client_capabilities={"elicitation": {}},
        max_retries=5,
        waiting=True,
        request_id="r",
    )

    claim = again()

    assert (claim.task_id, claim.number, claim.owner_id, claim.worker) == (task.id, 1, alice.id, "host:1:a")
    assert (claim.tool, claim.tool_version, json.loads(claim.arguments)) == ("echo", 4, {"x": 1})
    assert (claim.client_capabilities, claim.max_retries, claim.waiting) == ({"elicitation": {}}, 5, True)
    assert (claim.request_id, claim.created_at, claim.retries) == ("r", task.created_at, 0)


def test_claimed_task_is_held_by_its_attempt(alice: Person, clock: DatabaseClock, settings: Settings) -> None:
    settings.TASKDECK_LEASE = 30
    now = clock.advance(timedelta(0))

    claim = claimed(alice)

    task = look(claim.task_id)
    [attempt] = queries.attempts(claim.task_id)
    assert (task.status.value, task.attempt, task.active_attempt, task.wake_at) == ("working", 1, 1, None)
    assert (attempt.number, attempt.worker, attempt.started_at) == (1, "host:1:a", now)
    assert attempt.lease_until == now + timedelta(seconds=30)


def test_start_of_an_attempt_is_an_event_of_the_worker(alice: Person) -> None:
    claim = claimed(alice)

    event = last_event(claim.task_id, "attempt_started")
    assert (event.attempt, event.detail) == (1, {"worker": "host:1:a"})
    assert event.actor == {"kind": "worker", "id": "host:1:a", "via": "worker"}


def test_nothing_is_claimed_twice(alice: Person) -> None:
    claimed(alice)

    assert store.claim_next(WORKER) is None


def test_nothing_is_claimed_that_is_not_due(alice: Person, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    completed(alice)
    store.cancel(created(alice).id, owner_id=alice.id, by=alice.acts())
    asking(alice)
    gated(alice)
    store.retry(claimed(alice), delay=10)

    assert store.claim_next(WORKER) is None
    clock.advance(timedelta(seconds=10))
    assert again().number == 2


def test_task_past_its_time_is_claimed_only_while_it_is_held(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    """check 91."""
    created(alice)
    held = created(alice)
    store.hold(held.id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(hours=1))

    assert again().task_id == held.id
    assert store.claim_next(WORKER) is None


def test_longest_due_comes_first(alice: Person, clock: DatabaseClock) -> None:
    tasks = []
    for _ in range(3):
        clock.advance(timedelta(seconds=1))
        tasks.append(created(alice).id)

    assert [again().task_id for _ in range(3)] == tasks


def test_owner_with_the_fewest_running_attempts_comes_first(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    for _ in range(4):
        clock.advance(timedelta(seconds=1))
        created(alice)
    for _ in range(2):
        clock.advance(timedelta(seconds=1))
        created(bo)

    owners = [again().owner_id for _ in range(6)]

    assert owners == [alice.id, bo.id, alice.id, bo.id, alice.id, alice.id]


def test_tool_at_its_cap_is_left_out(alice: Person) -> None:
    for tool in ("heavy", "heavy", "heavy", "light"):
        created(alice, tool=tool)
    capped = Claimant("w", {"heavy": 2})

    claims = [store.claim_next(capped) for _ in range(4)]

    assert Counter(claim and claim.tool for claim in claims) == {"heavy": 2, "light": 1, None: 1}


def test_capped_tool_runs_again_when_one_of_it_has_ended(alice: Person) -> None:
    created(alice, tool="heavy")
    created(alice, tool="heavy")
    capped = Claimant("w", {"heavy": 1})
    first = again(capped)
    assert store.claim_next(capped) is None

    store.complete(first, result=DONE)

    assert again(capped).tool == "heavy"


def test_attempt_that_is_settled_does_not_count_against_the_cap_of_its_turn(alice: Person) -> None:
    created(alice, tool="heavy")
    created(alice, tool="heavy")
    capped = Claimant("w", {"heavy": 1})
    first = again(capped)

    turn = store.turn(store.completion(first, result=DONE), capped)

    assert turn.following is not None
    assert turn.following.task_id != first.task_id


def test_owner_at_the_cap_is_left_out(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_OWNER_CONCURRENCY = 2
    for _ in range(4):
        created(alice)
    created(bo)

    claims = [store.claim_next(WORKER) for _ in range(4)]

    assert Counter(claim and claim.owner_id for claim in claims) == {alice.id: 2, bo.id: 1, None: 1}


def test_attempt_that_was_told_to_stop_counts_until_it_ended(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_OWNER_CONCURRENCY = 1
    claim = claimed(alice)
    created(alice)

    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    assert store.claim_next(WORKER) is None
    store.stopped(claim)

    assert again().owner_id == alice.id


def test_attempts_are_numbered_and_progress_begins_anew(alice: Person) -> None:
    claim = claimed(alice)
    store.set_progress(claim, done=5, total=10)
    store.release(claim)

    second = again()

    task = look(claim.task_id)
    assert (second.number, task.attempt, task.active_attempt) == (2, 2, 2)
    assert (task.progress_done, task.progress_total) == (None, None)


def test_answered_task_is_claimed_with_its_next_number(alice: Person) -> None:
    task_id = asking(alice)
    answer(task_id, alice)

    claim = again()

    assert (claim.task_id, claim.number) == (task_id, 2)


def test_heartbeat_renews_the_lease(alice: Person, clock: DatabaseClock, settings: Settings) -> None:
    settings.TASKDECK_LEASE = 30
    claim = claimed(alice)
    now = clock.advance(timedelta(seconds=10))

    beat = store.heartbeat(claim)

    assert (beat, queries.attempts(claim.task_id)[0].lease_until) == (Beat.HELD, now + timedelta(seconds=30))


def test_heartbeat_leaves_no_event_and_no_new_version(alice: Person) -> None:
    claim = claimed(alice)
    before, events = look(claim.task_id), len(queries.timeline(claim.task_id))

    store.heartbeat(claim)

    assert look(claim.task_id) == before
    assert len(queries.timeline(claim.task_id)) == events


def test_heartbeat_never_shortens_a_lease_that_was_handed_over(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    now = clock.advance(timedelta(0))

    assert store.lease_for(claim, timedelta(minutes=10)) is True
    store.heartbeat(claim)

    assert queries.attempts(claim.task_id)[0].lease_until == now + timedelta(minutes=10)


def test_handed_over_attempt_is_found_by_its_owner_alone(alice: Person, eve: Person) -> None:
    claim = claimed(alice, arguments={"a": 1})

    assert store.handed_over(claim.task_id, number=1, owner_id=alice.id) == claim
    for task_id, number, owner in ((claim.task_id, 2, alice), (claim.task_id, 1, eve), (new_task_id(), 1, alice)):
        with pytest.raises(NotFound):
            store.handed_over(task_id, number=number, owner_id=owner.id)


def test_heartbeat_of_a_cancelled_task_says_stop_and_acknowledges(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    seen_at = clock.advance(timedelta(seconds=1))

    beats = [store.heartbeat(claim), store.heartbeat(claim)]
    clock.advance(timedelta(seconds=1))
    beats.append(store.heartbeat(claim))

    assert beats == [Beat.STOP] * 3
    assert queries.attempts(claim.task_id)[0].stop_acknowledged_at == seen_at


def test_heartbeat_of_a_closed_attempt_says_lost(alice: Person) -> None:
    claim = claimed(alice)
    store.release(claim)

    assert store.heartbeat(claim) is Beat.LOST


def test_lease_of_an_attempt_that_no_longer_holds_the_task_stays(alice: Person) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    before = queries.attempts(claim.task_id)[0].lease_until

    assert store.lease_for(claim, timedelta(hours=1)) is False
    assert queries.attempts(claim.task_id)[0].lease_until == before


def test_task_past_its_time_is_not_handed_over(alice: Person, clock: DatabaseClock) -> None:
    """check 91."""
    claim = claimed(alice, ttl_ms=60_000)
    clock.advance(timedelta(minutes=2))

    assert store.lease_for(claim, timedelta(hours=1)) is False


def test_claim_turn_and_heartbeat_are_one_statement_each(alice: Person) -> None:
    created(alice)
    created(alice)

    with CaptureQueriesContext(connection) as claiming:
        first = again()
    with CaptureQueriesContext(connection) as beating:
        store.heartbeat(first)
    with CaptureQueriesContext(connection) as turning:
        turn = store.turn(store.completion(first, result=DONE), WORKER)

    assert (len(claiming), len(beating), len(turning)) == (1, 1, 1)
    assert turn.following is not None


def test_open_attempt_is_the_only_one_of_its_task(alice: Person) -> None:
    claim = claimed(alice)
    store.release(claim)
    again()

    found = sql("SELECT number, outcome FROM tasks_attempt WHERE task_id = %(id)s ORDER BY 1", id=claim.task_id)

    assert found == [(1, "released"), (2, None)]
