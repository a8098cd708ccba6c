"""What the store announces: after the commit, and only what changed. And what no trigger writes to the audit log."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.store.db import rows
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import ACCEPT, DONE, answer, ask, asking, claimed, completed, created, look, rolled_back

pytestmark = pytest.mark.django_db

Capture = Callable[[], AbstractContextManager[list[Callable[[], Any]]]]


@dataclass(frozen=True)
class Told:
    """What waits to be announced after the commit."""

    task: store.Snapshot
    questions: bool


def changes(callbacks: list[Any]) -> list[Told]:
    """What would be announced after the commit, in order."""
    return [Told(callback.args[0], callback.keywords["questions"]) for callback in callbacks]


def test_every_change_is_announced_with_its_version(alice: Person, django_capture_on_commit_callbacks: Capture) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        claim = claimed(alice)
        store.set_message(claim, "m")
        store.set_progress(claim, done=1)
        store.set_variables(claim, {"a": 1})
        store.write_output(claim, "x")
        store.complete(claim, result=DONE)

    told = changes(callbacks)
    assert {(change.task.id, change.task.owner_id) for change in told} == {(claim.task_id, alice.id)}
    assert [change.task.status.value for change in told] == ["working"] * 5 + ["completed"]
    assert told[-1].task.version == look(claim.task_id).version
    assert not any(change.questions for change in told)


@pytest.mark.parametrize("end", [store.stopped, store.killed])
def test_end_of_the_worker_of_a_cancelled_task_is_announced(
    alice: Person, django_capture_on_commit_callbacks: Capture, end: Callable[[store.Claim], bool]
) -> None:
    claim = claimed(alice)
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    with django_capture_on_commit_callbacks() as callbacks:
        assert end(claim)
        assert not end(claim)

    assert [change.task for change in changes(callbacks)] == [look(claim.task_id)]


def test_asking_answering_and_cancelling_announce_the_questions_too(
    alice: Person, django_capture_on_commit_callbacks: Capture
) -> None:
    claim = claimed(alice)

    with django_capture_on_commit_callbacks() as callbacks:
        store.suspend(claim, [ask()])
        answer(claim.task_id, alice)
        store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    assert [(change.task.status.value, change.questions) for change in changes(callbacks)] == [
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
        store.save_step(waiting, name="s", position=0, value=1)
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

    told = [(change.task.id, change.task.status.value, change.questions) for change in changes(callbacks)]
    assert told == [(stale.id, "failed", True), (new.id, "working", False)]
