"""Many at once give what each alone would: nobody's answer depends on who else was asked for."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from tasks_app import store
from tasks_app.domain.errors import ArgumentsTooLarge
from tasks_app.store import NewTask, db, queries, room
from tasks_app.store.batches import (
    ALONE,
    authenticate_many,
    create_many,
    fetch_many,
    find_sessions,
    is_plain,
    poll_many,
)
from tasks_app.store.create import Created
from tasks_app.store.fetch import Fetched
from tasks_app.store.identity import authenticate_plan
from tasks_app.store.sessions import end_session, find_session, open_session
from tests.accounts import deactivate, give_account
from tests.conftest import Person
from tests.tasks_app.store.life import DONE, as_read, claimed, completed, created, scalar

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("check_invariants")]


def token_of(person: Person, *, lifetime: timedelta | None = None) -> str:
    """A token of somebody."""
    return store.create_token(person.id, name="tests", by=person.acts(), lifetime=lifetime)[0]


def calls_of(person: Person, count: int) -> list[NewTask]:
    """So many plain calls."""
    return [NewTask(owner_id=person.id, tool="sum", arguments={"number": number}) for number in range(count)]


def test_polls_are_those_that_each_alone_would_give(alice: Person, eve: Person) -> None:
    mine, hers = token_of(alice), token_of(eve)
    done, live = completed(alice), created(alice)
    revoked, credential = store.create_token(alice.id, name="old", by=alice.acts())
    store.revoke_token(credential, owner_id=alice.id, by=alice.acts())
    asked = [
        (mine, live.id),
        (hers, live.id),
        (mine, done),
        (mine, uuid4()),
        ("unknown", live.id),
        (revoked, live.id),
        (mine, live.id),
    ]

    polls = db.run(poll_many(asked))

    assert polls == [queries.poll(token, task_id) for token, task_id in asked]
    assert [poll and poll.task and poll.task.id for poll in polls] == [
        live.id, None, done, None, None, None, live.id,
    ]  # fmt: skip
    assert polls[2] is not None
    assert polls[2].task is not None
    assert polls[2].task.result is not None


def test_token_of_a_deactivated_account_is_nobody_in_company_too(alice: Person, eve: Person) -> None:
    mine, hers = token_of(alice), token_of(eve)
    give_account(alice)
    deactivate(give_account(eve))
    task = created(eve)

    polls = db.run(poll_many([(mine, task.id), (hers, task.id)]))
    callers = db.run(authenticate_many([mine, hers]))

    assert [poll and poll.caller.owner_id for poll in polls] == [alice.id, None]
    assert [caller and caller.owner_id for caller in callers] == [alice.id, None]
    assert queries.poll(hers, task.id) is None


def test_callers_are_those_that_each_alone_would_give_and_their_use_is_noted(alice: Person, eve: Person) -> None:
    mine, hers = token_of(alice), token_of(eve)
    expired = token_of(alice, lifetime=timedelta(seconds=-1))
    tokens = [mine, "unknown", hers, mine, expired]

    callers = db.run(authenticate_many(tokens))

    assert [caller and caller.owner_id for caller in callers] == [alice.id, None, eve.id, alice.id, None]
    assert callers == [db.run(authenticate_plan(token)) for token in tokens]
    assert scalar("SELECT count(*) FROM tasks_credential WHERE used_at IS NOT NULL") == 2


def test_sessions_are_only_those_of_their_owner_that_are_open(alice: Person, eve: Person) -> None:
    first, second, ended = (
        db.run(open_session(alice.id, version="2025-11-25", capabilities={"roots": {}}, client={"name": str(number)}))
        for number in range(3)
    )
    db.run(end_session(ended, owner_id=alice.id))
    named = [(first, alice.id), (first, eve.id), (ended, alice.id), ("unknown", alice.id), (second, alice.id)]

    sessions = db.run(find_sessions(named))

    assert sessions == [db.run(find_session(id_, owner_id=owner_id)) for id_, owner_id in named]
    assert [session and session.client for session in sessions] == [{"name": "0"}, None, None, None, {"name": "1"}]


def test_tasks_of_a_batch_are_as_if_each_was_created_alone(alice: Person, bo: Person) -> None:
    new = NewTask(
        owner_id=alice.id,
        tool="sum",
        tool_version=3,
        arguments={"customer": "ü", "n": None},
        ttl_ms=5_000,
        request_id="r-1",
        client="tester/1",
        client_capabilities={"elicitation": {"form": {}}},
        max_retries=1,
        poll_ms=250,
    )
    alone = store.create(new).task

    [first, second] = db.run(create_many([new, NewTask(owner_id=bo.id, tool="add")]))

    assert isinstance(first, Created)
    assert isinstance(second, Created)
    assert first.is_new
    same = ("owner_id", "tool", "tool_version", "status", "max_retries", "poll_ms", "client", "request_id", "ttl_fixed")
    assert [getattr(first.task, name) for name in same] == [getattr(alone, name) for name in same]
    assert first.task.expires_at - first.task.created_at == alone.expires_at - alone.created_at
    stored = queries.get(first.task.id, owner_id=alice.id)
    assert stored.arguments == queries.get(alone.id, owner_id=alice.id).arguments
    assert [event.kind for event in queries.timeline(first.task.id)] == ["created"]
    assert (second.task.owner_id, second.task.tool) == (bo.id, "add")
    assert {store.claim_next(store.Claimant("w:1:a")) is not None for _ in range(3)} == {True}


def test_batch_takes_no_more_places_than_the_owner_has(alice: Person, bo: Person, settings: Settings) -> None:
    """Who finds no place is left to the single plan, which says why."""
    settings.TASKDECK_LIVE_TASKS = 2

    found = db.run(create_many([*calls_of(alice, 6), *calls_of(bo, 1)]))

    born = [each for each in found[:6] if isinstance(each, Created)]
    assert 1 <= len(born) <= 2
    assert scalar("SELECT count(*) FROM tasks_task WHERE owner_id = %(id)s", id=alice.id) == len(born)
    assert isinstance(found[6], Created)


def test_batch_leaves_out_an_owner_without_room_or_places(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    store.complete(claimed(bo), result=DONE)
    created(alice)
    store.fold()
    settings.TASKDECK_OWNER_BYTES = 1

    assert db.run(create_many([*calls_of(alice, 1), *calls_of(bo, 2)])) == [ALONE] * 3


def test_call_that_cannot_be_stored_fails_the_batch_before_anything_is(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_ARGUMENTS_BYTES = 10
    calls = [NewTask(owner_id=alice.id, tool="sum"), NewTask(owner_id=alice.id, tool="sum", arguments={"a": "x" * 50})]

    with pytest.raises(ArgumentsTooLarge):
        db.run(create_many(calls))

    assert scalar("SELECT count(*) FROM tasks_task") == 0


@pytest.mark.parametrize("special", [{"key": "k"}, {"waiting": True}, {"approval": {"message": "Sure?"}}])
def test_special_calls_are_not_for_a_batch(alice: Person, special: dict[str, object]) -> None:
    assert is_plain(NewTask(owner_id=alice.id, tool="sum"))
    assert not is_plain(NewTask(owner_id=alice.id, tool="sum", **special))  # type: ignore[arg-type]


def test_new_tasks_are_told_as_a_later_reading_sees_them(alice: Person) -> None:
    call = NewTask(
        owner_id=alice.id,
        tool="sum",
        arguments={"number": 1},
        tool_version=3,
        ttl_ms=90_000,
        credential_id=7,
        request_id="r-1",
        client="laptop/1.0",
        max_retries=1,
        poll_ms=700,
    )

    told = [each.task for each in db.run(create_many([call, call])) if isinstance(each, Created)]

    assert told == [as_read(each.id) for each in told]
    assert len(told) == 2


def test_room_that_a_batch_found_is_remembered(alice: Person) -> None:
    before = room.had_room(alice.id)

    db.run(create_many(calls_of(alice, 2)))

    assert (before, room.had_room(alice.id)) == (False, True)


def test_fetches_are_noted_as_each_alone_would_be(alice: Person) -> None:
    read, again, live = completed(alice), completed(alice), created(alice).id
    store.record_fetch(again, credential_id=5)

    noted = db.run(
        fetch_many(
            [
                Fetched(read, 5, "r1"),
                Fetched(again, 6, "r2"),
                Fetched(live, 5, "r3"),
                Fetched(uuid4(), 5, "r4"),
                Fetched(read, 6, "r5"),
            ]
        )
    )

    assert noted.count(True) == 1
    assert scalar("SELECT times FROM tasks_fetch WHERE task_id = %(task)s", task=read) == 1
    assert scalar("SELECT times FROM tasks_fetch WHERE task_id = %(task)s", task=again) == 1
    assert scalar("SELECT count(*) FROM tasks_event WHERE kind = 'first_fetch' AND task_id = %(task)s", task=read) == 1
    assert scalar("SELECT count(*) FROM tasks_fetch WHERE task_id = %(task)s", task=live) == 0
