"""What the store announces: after the commit, and only what changed. And what no trigger writes to the audit log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.bus import Change
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store import expiry, queries
from tasks_app.store.db import rows
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    ACCEPT,
    DONE,
    WORKER,
    answer,
    ask,
    asking,
    claimed,
    completed,
    created,
    gated,
    look,
    rolled_back,
)

pytestmark = pytest.mark.django_db

Capture = Callable[[], AbstractContextManager[list[Callable[[], Any]]]]


def changes(callbacks: list[Any]) -> list[Change]:
    """What would be announced after the commit, in order."""
    return [callback.args[0] for callback in callbacks]


def now(task_id: UUID, *, questions: bool = False) -> Change:
    """What an announcement of this task has to say."""
    task = queries.look(task_id, owner_id=None)
    return Change(task.id, task.owner_id, task.version, task.status.value, questions)


def test_every_change_is_announced_with_its_version(alice: Person, django_capture_on_commit_callbacks: Capture) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        claim = claimed(alice)
        store.set_message(claim, "m")
        store.set_progress(claim, done=1)
        store.set_variables(claim, {"a": 1})
        store.write_output(claim, "x")
        store.save_step(claim, name="s", position=0, value=1)
        store.complete(claim, result=DONE)

    told = changes(callbacks)
    assert {(change.task_id, change.owner_id) for change in told} == {(claim.task_id, alice.id)}
    assert [change.status for change in told] == ["working"] * 7 + ["completed"]
    assert [change.version for change in told] == [1, 2, 3, 4, 5, 5, 5, 6]
    assert told[-1] == now(claim.task_id)


def test_turn_announces_the_task_that_it_starts(alice: Person, django_capture_on_commit_callbacks: Capture) -> None:
    """A page shows that a task runs as soon as it does."""
    claim, following = claimed(alice), created(alice)

    with django_capture_on_commit_callbacks() as callbacks:
        store.turn(store.completion(claim, result=DONE), WORKER)

    assert changes(callbacks) == [now(claim.task_id), now(following.id)]


def test_gate_that_a_task_is_born_with_is_announced_as_a_question(
    alice: Person, django_capture_on_commit_callbacks: Capture
) -> None:
    """A tool with approval that was run from the console reaches the inbox of the operators at once."""
    with django_capture_on_commit_callbacks() as callbacks:
        task_id = gated(alice)

    assert changes(callbacks) == [now(task_id, questions=True)]


def test_heartbeat_announces_once_that_the_worker_has_seen_the_request(
    alice: Person, django_capture_on_commit_callbacks: Capture
) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    with django_capture_on_commit_callbacks() as callbacks:
        assert [store.heartbeat(claim), store.heartbeat(claim)] == [store.Beat.STOP] * 2

    assert changes(callbacks) == [now(claim.task_id)]


def test_expiry_hold_and_purge_of_what_has_ended_are_announced(
    alice: Person, clock: DatabaseClock, django_capture_on_commit_callbacks: Capture
) -> None:
    """Each with a version of its own, or the list would not read the row again."""
    expired, purged = completed(alice), completed(alice)
    version = look(expired).version
    clock.advance(timedelta(hours=1))

    with django_capture_on_commit_callbacks() as callbacks:
        store.expire()
    assert {(change.task_id, change.version) for change in changes(callbacks)} == {
        (expired, version + 1),
        (purged, version + 1),
    }
    with django_capture_on_commit_callbacks() as callbacks:
        store.hold_expired(expired, held=True, by=Actor(ActorKind.ADMIN, id=alice.id, reason="court"))
    assert changes(callbacks) == [now(expired)]


def test_purge_before_its_time_is_announced(alice: Person, django_capture_on_commit_callbacks: Capture) -> None:
    task_id = completed(alice)
    version = look(task_id).version

    with django_capture_on_commit_callbacks() as callbacks:
        assert expiry.purge_now([task_id], by=alice.acts()) == 1

    assert [(change.task_id, change.version) for change in changes(callbacks)] == [(task_id, version + 1)]


@pytest.mark.parametrize("end", [store.stopped, store.killed])
def test_end_of_the_worker_of_a_cancelled_task_is_announced(
    alice: Person, django_capture_on_commit_callbacks: Capture, end: Callable[[store.Claim], bool]
) -> None:
    """With a version of its own, or the list would show the worker as stopping for ever."""
    claim = claimed(alice)
    before = store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts()).task

    with django_capture_on_commit_callbacks() as callbacks:
        assert end(claim)
        assert not end(claim)

    assert changes(callbacks) == [now(claim.task_id)]
    after = look(claim.task_id)
    assert (after.version, after.updated_at) == (before.version + 1, before.updated_at)


def test_loss_of_the_worker_of_a_cancelled_task_is_announced(
    alice: Person, clock: DatabaseClock, django_capture_on_commit_callbacks: Capture
) -> None:
    claim = claimed(alice)
    before = store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts()).task
    clock.advance(timedelta(minutes=2))

    with django_capture_on_commit_callbacks() as callbacks:
        assert store.reap() == 1

    assert changes(callbacks) == [now(claim.task_id)]
    assert look(claim.task_id).version == before.version + 1


def test_asking_answering_and_cancelling_announce_the_questions_too(
    alice: Person, django_capture_on_commit_callbacks: Capture
) -> None:
    claim = claimed(alice)

    with django_capture_on_commit_callbacks() as callbacks:
        store.suspend(claim, [ask()])
        answer(claim.task_id, alice)
        store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    assert [(change.status, change.questions) for change in changes(callbacks)] == [
        ("input_required", True),
        ("working", True),
        ("cancelled", True),
    ]


def test_nothing_is_announced_where_nothing_changed(alice: Person, django_capture_on_commit_callbacks: Capture) -> None:
    created(alice, key="k")
    waiting = store.claim_next(store.Claimant("w"))
    assert waiting is not None
    finished, asked = completed(alice), asking(alice)

    with django_capture_on_commit_callbacks() as callbacks:
        created(alice, key="k")
        store.cancel(finished, owner_id=alice.id, by=alice.acts())
        answer(asked, alice, {"unknown": ACCEPT})
        store.heartbeat(waiting)
        store.expire()
        store.reap()
        store.expire_questions()

    assert callbacks == []


def test_nothing_is_announced_of_a_change_that_was_rolled_back(
    alice: Person, django_capture_on_commit_callbacks: Capture
) -> None:
    with django_capture_on_commit_callbacks() as callbacks, rolled_back():
        created(alice)

    assert callbacks == []


def test_entry_of_the_audit_log_holds_any_text(alice: Person) -> None:
    """A name that somebody typed at the sign-in may hold anything."""
    store.record_event("login_failed", by=Actor.system(via="console"), detail={"name": "a\x00b\ud800", "n": [1, None]})

    assert rows("SELECT kind, detail ->> 'name', detail -> 'n' ->> 0, task_id FROM tasks_event") == [
        ("login_failed", "a\ufffdb\ufffd", "1", None)
    ]


@pytest.mark.parametrize("key", ["k", None])
def test_create_announces_what_had_to_expire_for_it(
    alice: Person,
    clock: DatabaseClock,
    settings: Settings,
    django_capture_on_commit_callbacks: Capture,
    key: str | None,
) -> None:
    """Whether the key stood in its way or the quota did."""
    settings.TASKDECK_LIVE_TASKS = 1
    stale = created(alice, key=key, ttl_ms=1_000)
    clock.advance(timedelta(seconds=2))

    with django_capture_on_commit_callbacks() as callbacks:
        new = created(alice, key=key)

    told = [(change.task_id, change.status, change.questions) for change in changes(callbacks)]
    assert told == [(stale.id, "failed", True), (new.id, "working", False)]
