"""How attempts end: result, tool error, protocol error, retry, release; and the turn that claims the next task."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import InvalidTransition, LeaseLost, NotReady, ResultTooLarge
from tasks_app.domain.outcome import AttemptEnd, Outcome
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tasks_app.store.db import rows
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    BROKEN,
    DONE,
    OTHER_WORKER,
    WORKER,
    again,
    ask,
    claimed,
    completed,
    created,
    kinds,
    last_event,
    look,
    rolled_back,
    sql,
)

pytestmark = pytest.mark.django_db


def test_result_and_status_are_one_write(alice: Person) -> None:
    """check 67, check 68: one version more, and both at once."""
    claim = claimed(alice)
    before = look(claim.task_id)

    task = store.complete(claim, result=DONE)

    assert (task.status, task.outcome, task.version) == (Status.COMPLETED, Outcome.RESULT, before.version + 1)
    assert (task.active_attempt, task.finished_at, task.updated_at) == (None, task.finished_at, task.status_at)
    assert queries.result(claim.task_id, owner_id=alice.id) == DONE
    assert queries.attempts(claim.task_id)[0].outcome == "completed"
    assert kinds(claim.task_id) == ["created", "attempt_started", "to completed", "attempt_ended"]


def test_result_is_not_ready_before_the_end(alice: Person) -> None:
    """check 67, check 100."""
    claim = claimed(alice)

    with pytest.raises(NotReady):
        queries.result(claim.task_id, owner_id=alice.id)

    store.complete(claim, result=DONE)
    assert queries.result(claim.task_id, owner_id=alice.id) == DONE


def test_neither_status_nor_result_stays_when_something_raises_in_between(alice: Person) -> None:
    """check 68: here the event that belongs to the change cannot be written."""
    claim = claimed(alice)
    before = look(claim.task_id)

    sql("ALTER TABLE tasks_event ADD CONSTRAINT no_more_events CHECK (false) NOT VALID")

    with pytest.raises(DatabaseError, match="no_more_events"), transaction.atomic():
        store.complete(claim, result=DONE)

    sql("ALTER TABLE tasks_event DROP CONSTRAINT no_more_events")
    assert look(claim.task_id) == before
    assert store.complete(claim, result=DONE).version == before.version + 1


def test_neither_status_nor_result_stays_when_the_callers_transaction_fails(alice: Person) -> None:
    """check 68."""
    claim = claimed(alice)
    before = look(claim.task_id)

    with rolled_back():
        assert store.complete(claim, result=DONE).status is Status.COMPLETED

    assert look(claim.task_id) == before


def test_result_that_is_no_json_changes_nothing(alice: Person) -> None:
    claim = claimed(alice)
    before = look(claim.task_id)

    with pytest.raises(ValueError, match="JSON"):
        store.complete(claim, result={"x": float("nan")})

    assert look(claim.task_id) == before


def test_result_above_the_limit_changes_nothing(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_RESULT_BYTES = 50
    claim = claimed(alice)

    with pytest.raises(ResultTooLarge):
        store.complete(claim, result={"x": "a" * (51 - len('{"x":""}'))})

    task = store.complete(claim, result={"x": "a" * (50 - len('{"x":""}'))})
    assert task.status is Status.COMPLETED


@pytest.mark.parametrize("text", ["nul \x00", "lone \ud800", "tail \udfff", "é \U0001f600"])
def test_any_text_that_json_can_carry_survives_in_results_and_errors(alice: Person, text: str) -> None:
    """check 67, check 72."""
    returned = claimed(alice)
    store.complete(returned, result={"x": text})
    raised = claimed(alice)
    store.fail(raised, error={"code": 1, "message": text, "data": {text: text}})

    assert queries.result(returned.task_id, owner_id=alice.id) == {"x": text}
    assert queries.result(raised.task_id, owner_id=alice.id)["data"] == {text: text}


def test_tool_error_is_a_completed_task_with_an_outcome_of_its_own(alice: Person) -> None:
    claim = claimed(alice)

    task = store.complete(claim, result={**DONE, "isError": True}, is_error=True, detail="Traceback \x00")

    [attempt] = queries.attempts(claim.task_id)
    assert (task.status, task.outcome) == (Status.COMPLETED, Outcome.TOOL_ERROR)
    assert (attempt.outcome, attempt.detail) == ("failed", "Traceback \ufffd")
    assert last_event(claim.task_id, "status").detail == {"outcome": "tool_error"}


def test_protocol_error_is_kept_verbatim(alice: Person) -> None:
    """check 72."""
    claim = claimed(alice)

    task = store.fail(claim, error=BROKEN, end=AttemptEnd.TIMED_OUT)

    assert (task.status, task.outcome) == (Status.FAILED, Outcome.RPC_ERROR)
    assert queries.result(claim.task_id, owner_id=alice.id) == BROKEN
    assert json.loads(look(claim.task_id).error or "") == BROKEN
    assert queries.attempts(claim.task_id)[0].outcome == "timed_out"


def test_cancelled_task_has_an_empty_result(alice: Person) -> None:
    task = created(alice)
    store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert queries.result(task.id, owner_id=alice.id) == {}


def test_completed_task_cannot_work_again(alice: Person) -> None:
    """check 78."""
    task_id = completed(alice)

    with pytest.raises(InvalidTransition, match="already completed"), transaction.atomic():
        rows(
            """UPDATE tasks_task SET status = 'working', outcome = NULL, result = NULL, finished_at = NULL,
                      wake_at = tasks_now() WHERE id = %(id)s""",
            {"id": task_id},
        )

    assert look(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("how", ["complete", "fail", "cancel"])
def test_outcome_stays_readable_for_the_minimum_retention(alice: Person, clock: DatabaseClock, how: str) -> None:
    """check 89: the lifetime is no time-out, and what ended at the last moment can still be read."""
    claim = claimed(alice, ttl_ms=1000)
    now = clock.advance(timedelta(milliseconds=500))

    if how == "complete":
        store.complete(claim, result=DONE)
    elif how == "fail":
        store.fail(claim, error=BROKEN)
    else:
        store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    assert look(claim.task_id).expires_at == now + timedelta(minutes=5)
    assert last_event(claim.task_id, "ttl").kind == "ttl"


def test_minimum_retention_never_shortens(alice: Person) -> None:
    claim = claimed(alice)
    before = look(claim.task_id).expires_at

    assert store.complete(claim, result=DONE).expires_at == before


def test_task_past_its_time_records_nothing(alice: Person, clock: DatabaseClock) -> None:
    """check 89, check 91: nobody swept yet, and still no result is taken."""
    claim = claimed(alice, ttl_ms=1000)
    clock.advance(timedelta(seconds=3))

    with pytest.raises(LeaseLost):
        store.complete(claim, result=DONE)

    assert sql("SELECT status, result FROM tasks_task WHERE id = %(id)s", id=claim.task_id) == [("working", None)]


def test_held_task_records_its_result_past_its_time(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice, ttl_ms=1000)
    store.hold(claim.task_id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(seconds=3))

    assert store.complete(claim, result=DONE).status is Status.COMPLETED


def test_retry_is_counted_and_comes_after_its_delay(alice: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))
    claim = claimed(alice)

    task = store.record(store.retrying(claim, delay=4, message="again \x00", detail="Boom"))

    assert (task.status, task.retries, task.losses) == (Status.WORKING, 1, 0)
    assert (task.wake_at, task.active_attempt) == (now + timedelta(seconds=4), None)
    assert task.status_message == "again \ufffd"
    [attempt] = queries.attempts(claim.task_id)
    assert (attempt.outcome, attempt.detail) == ("failed", "Boom")


def test_retry_without_a_message_keeps_the_last_one(alice: Person) -> None:
    claim = claimed(alice)
    store.set_message(claim, "step 3")

    assert store.retry(claim, delay=0).status_message == "step 3"
    assert again().retries == 1


def test_release_counts_nothing_and_is_due_at_once(alice: Person) -> None:
    claim = claimed(alice)

    task = store.release(claim)

    assert (task.retries, task.losses) == (0, 0)
    assert queries.attempts(claim.task_id)[0].outcome == "released"
    assert again(OTHER_WORKER).number == 2


def test_turn_settles_one_task_and_claims_the_next(alice: Person) -> None:
    first = claimed(alice)
    second = created(alice)

    turn = store.turn(store.completion(first, result=DONE), WORKER)

    assert turn.settled is not None
    assert (turn.settled.task_id, turn.settled.status) == (first.task_id, Status.COMPLETED)
    assert turn.following is not None
    assert (turn.following.task_id, turn.following.number) == (second.id, 1)


def test_turn_without_due_work_only_settles(alice: Person) -> None:
    first = claimed(alice)

    turn = store.turn(store.failure(first, error=BROKEN), WORKER)

    assert turn.settled is not None
    assert (turn.settled.status, turn.following) == (Status.FAILED, None)


def test_turn_gives_the_following_claim_even_when_the_lease_was_lost(alice: Person) -> None:
    first = claimed(alice)
    store.cancel(first.task_id, owner_id=alice.id, by=alice.acts())
    second = created(alice)

    turn = store.turn(store.completion(first, result=DONE), WORKER)

    assert turn.settled is None
    assert turn.following is not None
    assert turn.following.task_id == second.id
    assert look(first.task_id).status is Status.CANCELLED


def test_turn_may_also_ask_retry_or_release(alice: Person) -> None:
    tasks = [claimed(alice)]
    for _ in range(3):
        created(alice)

    for make in (
        lambda held: store.suspension(held, [ask()]),
        lambda held: store.retrying(held, delay=60),
        store.releasing,
    ):
        turn = store.turn(make(tasks[-1]), WORKER)
        assert turn.following is not None
        tasks.append(turn.following)

    statuses = [(look(task.task_id).status.value, look(task.task_id).active_attempt) for task in tasks]
    assert statuses == [("input_required", None), ("working", None), ("working", None), ("working", 1)]


def test_turn_that_releases_does_not_claim_what_it_released(alice: Person) -> None:
    claim = claimed(alice)

    turn = store.turn(store.releasing(claim), WORKER)

    assert turn.following is None
    assert again().task_id == claim.task_id


def test_every_end_of_an_attempt_is_an_event_of_its_worker(alice: Person) -> None:
    claim = claimed(alice)
    store.release(claim)
    store.complete(again(OTHER_WORKER), result=DONE)

    ends = [event for event in queries.timeline(claim.task_id) if event.kind == "attempt_ended"]
    assert [(end.attempt, end.detail["outcome"], end.actor["id"]) for end in ends] == [
        (1, "released", "host:1:a"),
        (2, "completed", "host:2:b"),
    ]
