"""How much an owner may hold: live tasks by slot, bytes by the roll-up."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import BytesExceeded, QuotaExceeded
from tasks_app.store import room
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import BROKEN, DONE, WORKER, answer, ask, claimed, completed, created, scalar, sql

pytestmark = pytest.mark.django_db


def live(owner: Person) -> int:
    """How many live tasks an owner has."""
    return int(scalar("SELECT count(*) FROM tasks_task WHERE owner_id = %(id)s AND finished_at IS NULL", id=owner.id))


def test_owner_has_a_hundred_live_tasks_and_no_more(alice: Person) -> None:
    """check 96, check 100: ResourceExhausted."""
    for _ in range(100):
        created(alice)

    with pytest.raises(QuotaExceeded, match="at most 100") as refused:
        created(alice)

    assert (refused.value.reason, refused.value.limit, live(alice)) == ("quota", 100, 100)
    slots = sql("SELECT slot FROM tasks_task WHERE owner_id = %(id)s ORDER BY slot", id=alice.id)
    assert [slot for (slot,) in slots] == list(range(1, 101))


def test_one_owners_quota_is_not_anothers(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    created(alice)

    created(bo)

    assert (live(alice), live(bo)) == (1, 1)


def test_finishing_in_any_way_frees_a_slot(alice: Person, settings: Settings) -> None:
    """check 96."""
    settings.TASKDECK_LIVE_TASKS = 1

    completed(alice)
    store.fail(claimed(alice), error=BROKEN)
    store.complete(claimed(alice), result=DONE, is_error=True)
    store.cancel(created(alice).id, owner_id=alice.id, by=alice.acts())
    created(alice)

    assert live(alice) == 1


def test_waiting_for_an_answer_keeps_the_slot(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    store.suspend(claimed(alice), [ask()])

    with pytest.raises(QuotaExceeded):
        created(alice)


def test_task_past_its_time_does_not_count_although_nobody_swept(
    alice: Person, settings: Settings, clock: DatabaseClock
) -> None:
    """check 91, check 96: the create that needs the place expires the task, with its record."""
    settings.TASKDECK_LIVE_TASKS = 3
    old = {created(alice).id for _ in range(3)}
    clock.advance(timedelta(hours=1))

    new = [created(alice) for _ in range(3)]
    with pytest.raises(QuotaExceeded):
        created(alice)

    assert len(new) == live(alice) == 3
    assert {row[0] for row in sql("SELECT task_id FROM tasks_expiration WHERE was_live")} == old


def test_held_task_counts_past_its_time(alice: Person, bo: Person, settings: Settings, clock: DatabaseClock) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    task = created(alice)
    store.hold(task.id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(hours=2))

    with pytest.raises(QuotaExceeded):
        created(alice)


def test_lowered_quota_refuses_at_once(alice: Person, settings: Settings) -> None:
    """check 85."""
    settings.TASKDECK_LIVE_TASKS = 2
    tasks = [created(alice), created(alice)]

    settings.TASKDECK_LIVE_TASKS = 1
    with pytest.raises(QuotaExceeded, match="at most 1"):
        created(alice)
    for task in tasks:
        store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert created(alice).owner_id == alice.id


def test_owner_who_keeps_too_many_bytes_creates_nothing_more(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_OWNER_BYTES = 1000
    created(alice, arguments={"x": "a" * 1200})
    store.fold()

    with pytest.raises(BytesExceeded, match="1000"):
        created(alice)

    assert (live(alice), created(bo).owner_id) == (1, bo.id)


def test_room_that_was_found_a_moment_ago_is_believed(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_OWNER_BYTES = 1000
    created(alice, arguments={"x": "a" * 1200})
    store.fold()

    room.found_room(alice.id)
    believed = created(alice)
    room.forget()
    with pytest.raises(BytesExceeded):
        created(alice)

    assert believed.owner_id == alice.id
    assert room.had_room(alice.id) is False


def test_results_count_as_bytes_until_the_task_is_purged(
    alice: Person, settings: Settings, clock: DatabaseClock
) -> None:
    settings.TASKDECK_OWNER_BYTES = 1000
    store.complete(claimed(alice), result={"text": "r" * 1200})
    store.fold()
    with pytest.raises(BytesExceeded):
        created(alice)

    clock.advance(timedelta(hours=1))
    store.expire()
    clock.advance(timedelta(days=8))
    purged = store.purge()
    store.fold()

    assert purged == 1
    assert scalar("SELECT sum(bytes) FROM tasks_count WHERE owner_id = %(id)s", id=alice.id) == 0
    created(alice)


def test_what_a_task_did_and_was_told_counts_as_bytes_until_it_is_purged(
    alice: Person, settings: Settings, clock: DatabaseClock
) -> None:
    """section 2 item 14: steps, output, questions and answers."""
    before = kept(alice)
    done = claimed(alice)
    store.save_step(done, name="s", position=0, value="v" * 500)
    store.write_output(done, "o" * 500)
    store.complete(done, result=DONE)
    asked = claimed(alice)
    store.suspend(asked, [ask()])
    answer(asked.task_id, alice)
    again = store.claim_next(WORKER)
    assert again is not None
    store.complete(again, result=DONE)
    store.fold()

    [(of_work,), (of_talk,)] = sql("SELECT kept_bytes FROM tasks_task ORDER BY created_at")
    assert of_work == len(json.dumps("v" * 500)) + 500
    assert of_talk == scalar("SELECT sum(octet_length(request) + octet_length(answer)) FROM tasks_question")
    assert kept(alice) - before > of_work + of_talk

    # Asking raised the time of one of them to a week and an hour.
    clock.advance(timedelta(days=8))
    store.expire()
    clock.advance(timedelta(days=8))
    store.purge()
    store.fold()
    assert kept(alice) == before


def kept(owner: Person) -> int:
    """How many bytes the roll-up says that an owner keeps."""
    return int(scalar("SELECT coalesce(sum(bytes), 0) FROM tasks_count WHERE owner_id = %(id)s", id=owner.id))


def test_known_key_is_answered_even_when_the_bytes_are_used_up(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_OWNER_BYTES = 1000
    task = created(alice, key="k", arguments={"x": "a" * 1200})
    store.fold()

    assert created(alice, key="k", arguments={"x": "a" * 1200}).id == task.id
