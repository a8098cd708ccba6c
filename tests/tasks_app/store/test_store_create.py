"""Creating a task: what a new one looks like, its lifetime, and its idempotency key."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from pydantic import ValidationError
from pytest_django import Settings

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import ArgumentsTooLarge, InvalidTtl, KeyConflict, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.status import Status
from tasks_app.domain.ttl import NOT_ASKED
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    APPROVE,
    DONE,
    as_read,
    claimed,
    completed,
    created,
    kinds,
    last_event,
    look,
    scalar,
    sql,
)

pytestmark = pytest.mark.django_db

DAY_MS = 86_400_000
HOUR_MS = 3_600_000


def count() -> int:
    """How many tasks there are."""
    return int(scalar("SELECT count(*) FROM tasks_task"))


def lifetime_ms(task: store.Snapshot) -> float:
    """How long a task was given."""
    return (task.expires_at - task.created_at) / timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "more", [{}, {"approval": APPROVE}, {"ttl_ms": 90_000, "waiting": True, "key": "k", "client": "a/1"}]
)
def test_new_task_is_told_as_a_later_reading_sees_it(alice: Person, more: dict[str, Any]) -> None:
    task = created(alice, arguments={"text": "hi"}, **more)

    assert task == as_read(task.id)


def test_new_task_is_working_and_due_with_the_defaults(alice: Person) -> None:
    """check 59, check 79, check 87, check 93."""
    task = created(alice, arguments={"text": "hi"})

    assert (task.status, task.outcome, task.finished_at) == (Status.WORKING, None, None)
    assert (task.attempt, task.active_attempt, task.wake_at) == (0, None, task.created_at)
    assert (task.updated_at, task.status_at, task.version) == (task.created_at, task.created_at, 1)
    assert (lifetime_ms(task), task.ttl_fixed, task.poll_ms) == (HOUR_MS, False, 5000)
    assert look(task.id).arguments == '{"text":"hi"}'


def test_every_id_is_new_and_random(alice: Person) -> None:
    ids = {created(alice).id for _ in range(20)}

    assert len(ids) == 20
    assert len({task_id.bytes[0] for task_id in ids}) > 1


def test_poll_interval_is_the_settings_or_the_tools_own(alice: Person, settings: Settings) -> None:
    """check 93."""
    settings.TASKDECK_DEFAULT_POLL = 7

    assert created(alice).poll_ms == 7000
    assert created(alice, poll_ms=3000).poll_ms == 3000


@pytest.mark.parametrize(
    ("asked", "granted", "fixed"),
    [
        (NOT_ASKED, HOUR_MS, False),
        (1000, 1000, True),
        (300_000, 300_000, True),
        (DAY_MS, DAY_MS, True),
        (DAY_MS + 1, DAY_MS, True),
        (2**63, DAY_MS, True),
        (None, DAY_MS, True),
    ],
)
def test_lifetime_is_clamped_and_reported(alice: Person, asked: object, granted: int, fixed: bool) -> None:
    """check 87, check 88, check 90."""
    task = created(alice, ttl_ms=asked)

    assert (lifetime_ms(task), task.ttl_fixed) == (granted, fixed)


def test_tools_lifetime_counts_only_where_the_client_asked_for_none(alice: Person) -> None:
    by_tool = created(alice, tool_ttl_ms=60_000)
    by_client = created(alice, tool_ttl_ms=60_000, ttl_ms=5_000)

    assert (lifetime_ms(by_tool), by_tool.ttl_fixed) == (60_000, True)
    assert (lifetime_ms(by_client), by_client.ttl_fixed) == (5_000, True)


@pytest.mark.parametrize("asked", [DAY_MS + 1, 2**63])
def test_strict_server_rejects_a_lifetime_above_the_maximum(alice: Person, settings: Settings, asked: int) -> None:
    """check 88, check 90."""
    settings.TASKDECK_TTL_OVERFLOW = "reject"

    with pytest.raises(InvalidTtl, match=str(DAY_MS)):
        created(alice, ttl_ms=asked)

    assert count() == 0
    assert lifetime_ms(created(alice, ttl_ms=DAY_MS)) == DAY_MS


@pytest.mark.parametrize("asked", [0, -1, 1.5, True, "60000"])
def test_lifetime_that_is_no_positive_whole_number_is_refused(alice: Person, asked: object) -> None:
    with pytest.raises(InvalidTtl):
        created(alice, ttl_ms=asked)

    assert count() == 0


def test_lifetimes_follow_the_settings(alice: Person, settings: Settings) -> None:
    """check 85: 1,800,000 by default and 7,200,000 at most."""
    settings.TASKDECK_DEFAULT_TTL = 1800
    settings.TASKDECK_MAX_TTL = 7200

    assert lifetime_ms(created(alice)) == 1_800_000
    assert lifetime_ms(created(alice, ttl_ms=7_200_001)) == 7_200_000


@pytest.mark.parametrize("seconds", [0, -1])
def test_default_lifetime_that_is_not_positive_is_refused(settings: Settings, seconds: int) -> None:
    """check 49."""
    settings.TASKDECK_DEFAULT_TTL = seconds

    with pytest.raises(ValidationError, match="default_ttl"):
        conf()


def test_arguments_are_stored_up_to_the_limit_and_not_beyond(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_ARGUMENTS_BYTES = 100
    at_limit = {"x": "a" * (100 - len('{"x":""}'))}

    task = created(alice, arguments=at_limit)
    with pytest.raises(ArgumentsTooLarge):
        created(alice, arguments={"x": at_limit["x"] + "a"})

    assert json.loads(look(task.id).arguments) == at_limit
    assert count() == 1


@pytest.mark.parametrize("text", ["nul \x00", "lone \ud800", "tail \udfff end", "emoji \U0001f600", 'quote " \\'])
def test_any_text_that_json_can_carry_survives_in_arguments(alice: Person, text: str) -> None:
    task = created(alice, arguments={"x": text, "y": [text]}, key="k")

    assert json.loads(look(task.id).arguments) == {"x": text, "y": [text]}
    assert created(alice, arguments={"x": text, "y": [text]}, key="k").id == task.id


def test_labels_leave_out_what_a_search_could_not_hold(alice: Person) -> None:
    task = created(alice, arguments={"a": "x", "n": 1, "z": "\x00", "s": "\ud800", "deep": {"a": 1}, "long": "y" * 201})

    assert json.loads(scalar("SELECT labels::text FROM tasks_task WHERE id = %(id)s", id=task.id)) == {
        "a": "x",
        "n": "1",
    }


def test_what_a_client_says_of_itself_is_kept_as_storable_text(alice: Person) -> None:
    capabilities = {"elicitation": {"note": "\x00"}, "sampling": {}}

    created(alice, client="c\x00lient \ud800" + "x" * 300, request_id="r\x00", client_capabilities=capabilities)
    claim = store.claim_next(store.Claimant("w"))

    assert claim is not None
    assert claim.request_id == "r\ufffd"
    assert look(claim.task_id).client == "c\ufffdlient \ufffd" + "x" * 191
    assert set(claim.client_capabilities) == {"elicitation", "sampling"}


def test_creation_names_the_client_that_called(alice: Person) -> None:
    task = created(alice, credential_id=7, request_id="req-1", tool="deploy")

    [event] = queries.timeline(task.id)
    assert (event.kind, event.from_status, event.to_status) == ("created", None, "working")
    assert event.actor == {"kind": "client", "id": alice.id, "credential": 7, "via": "mcp", "request": "req-1"}
    assert event.detail == {"tool": "deploy"}


def test_creation_without_a_credential_names_the_owner(alice: Person) -> None:
    task = created(alice)

    assert last_event(task.id, "created").actor == {"kind": "owner", "id": alice.id, "via": "console"}


def test_one_statement_may_create_the_tasks_of_several_callers(alice: Person, bo: Person) -> None:
    first, second = created(alice, credential_id=1), created(bo, credential_id=2)
    sql("SELECT set_config('tasks.actor', '', true)")

    sql(
        """INSERT INTO tasks_task (id, owner_id, slot, credential_id, tool,
                                   created_at, updated_at, status_at, expires_at, wake_at)
           SELECT gen_random_uuid(), owner_id, 101, credential_id, 'batch',
                  created_at, created_at, created_at, expires_at, created_at
             FROM tasks_task"""
    )

    actors = {row[0] for row in sql("SELECT actor ->> 'id' FROM tasks_event WHERE detail ->> 'tool' = 'batch'")}
    assert actors == {str(first.owner_id), str(second.owner_id)}


def test_same_key_gives_the_same_task_in_its_present_state(alice: Person) -> None:
    claim = claimed(alice, key="k", arguments={"a": 1, "b": 2})
    store.complete(claim, result=DONE)

    found = store.create(
        store.NewTask(owner_id=alice.id, tool="echo", key="k", arguments={"b": 2, "a": 1}, ttl_ms=1000)
    )

    assert (found.task.id, found.is_new, found.task.status) == (claim.task_id, False, Status.COMPLETED)
    assert count() == 1


@pytest.mark.parametrize("other", [{"arguments": {"a": 2}}, {"tool": "other"}, {"arguments": {"a": "1"}}])
def test_same_key_for_another_request_is_refused(alice: Person, other: dict[str, Any]) -> None:
    created(alice, key="k", arguments={"a": 1})

    with pytest.raises(KeyConflict):
        created(alice, **{"key": "k", "arguments": {"a": 1}, **other})

    assert count() == 1


def test_key_belongs_to_its_owner(alice: Person, bo: Person) -> None:
    mine = created(alice, key="k")
    theirs = created(bo, key="k", arguments={"other": True})

    assert mine.id != theirs.id


def test_known_key_is_answered_even_when_the_quota_is_used_up(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    task = created(alice, key="k")

    assert created(alice, key="k").id == task.id


@pytest.mark.parametrize("is_live", [True, False])
def test_key_is_free_again_when_its_task_is_past_its_time(alice: Person, clock: DatabaseClock, is_live: bool) -> None:
    """Nobody swept: the create that meets the key expires the task first, with its record."""
    old = created(alice, key="k").id if is_live else completed(alice, key="k")
    clock.advance(timedelta(hours=1))

    new = created(alice, key="k", arguments={"other": 1})

    assert new.id != old
    assert scalar("SELECT was_live FROM tasks_expiration WHERE task_id = %(id)s", id=old) is is_live
    with pytest.raises(NotFound):
        queries.get(old, owner_id=alice.id)


def test_key_is_free_again_after_the_sweep(alice: Person, clock: DatabaseClock) -> None:
    old = created(alice, key="k")
    clock.advance(timedelta(hours=1))
    store.expire()

    assert created(alice, key="k").id != old.id


def test_held_task_keeps_its_key_past_its_time(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task = created(alice, key="k")
    store.hold(task.id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(hours=2))

    assert created(alice, key="k").id == task.id


def test_empty_key_is_a_key_too(alice: Person) -> None:
    assert created(alice, key="").id == created(alice, key="").id


def test_creating_is_one_statement(alice: Person) -> None:
    with CaptureQueriesContext(connection) as queries_run:
        created(alice, key="k", arguments={"a": 1})

    assert len(queries_run) == 1


def test_creating_with_an_approval_is_one_statement_too(alice: Person) -> None:
    with CaptureQueriesContext(connection) as queries_run:
        task = created(alice, approval={"mode": "form", "requestedSchema": {"type": "object", "properties": {}}})

    assert len(queries_run) == 1
    assert kinds(task.id) == ["created", "ttl", "asked"]


def test_time_that_a_gate_adds_is_in_the_log(alice: Person) -> None:
    """Asking raises the time to live, and the raise is an event; a time that the client set stays."""
    task, fixed = created(alice, approval=APPROVE), created(alice, approval=APPROVE, ttl_ms=60_000)

    raised = last_event(task.id, "ttl")

    assert (raised.detail["why"], raised.actor) == ("asked", last_event(task.id, "created").actor)
    assert datetime.fromisoformat(raised.detail["from"]) == task.created_at + timedelta(hours=1)
    assert datetime.fromisoformat(raised.detail["to"]) == task.expires_at
    assert kinds(fixed.id) == ["created", "asked"]


def test_caller_over_the_protocol_without_a_credential_is_a_client(alice: Person) -> None:
    """One with a token of another issuer, or with none where that is allowed."""
    task = created(alice, request_id="req-2")

    assert last_event(task.id, "created").actor == {"kind": "client", "id": alice.id, "via": "mcp", "request": "req-2"}


def test_missing_owner_creates_nothing(db: None) -> None:
    sql("SET CONSTRAINTS ALL IMMEDIATE")

    with pytest.raises(IntegrityError, match="owner"), transaction.atomic():
        store.create(store.NewTask(owner_id=999_999_999, tool="echo"))

    assert count() == 0


def test_actor_of_a_create_does_not_depend_on_the_session(alice: Person) -> None:
    sql("SELECT set_config('tasks.actor', %(who)s, true)", who=json.dumps(Actor.engine().as_json()))

    task = created(alice)

    assert last_event(task.id, "created").actor["kind"] == "owner"
