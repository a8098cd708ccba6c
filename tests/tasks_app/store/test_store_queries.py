"""The read side: by owner, by keyset, in few statements."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, new_task_id
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    DONE,
    asking,
    claimed,
    completed,
    created,
    kinds,
    last_event,
    look,
    scalar,
)

pytestmark = pytest.mark.django_db


def test_task_is_read_with_its_payload(alice: Person) -> None:
    """check 60."""
    claim = claimed(alice, arguments={"a": 1})
    store.set_variables(claim, {"v": 2})
    store.complete(claim, result=DONE)

    task = queries.get(claim.task_id, owner_id=alice.id)

    assert (task.arguments, task.variables) == ('{"a":1}', '{"v":2}')
    assert (task.result, task.error) == ('{"content":[{"type":"text","text":"done"}]}', None)


def test_unknown_foreign_and_expired_tasks_are_refused_in_the_same_words(
    alice: Person, eve: Person, clock: DatabaseClock
) -> None:
    """check 60, check 98, check 99: and no id is echoed."""
    foreign, expired = created(alice).id, created(eve, ttl_ms=1000).id
    clock.advance(timedelta(seconds=1))
    errors = []

    for task_id in (new_task_id(), foreign, expired):
        with pytest.raises(NotFound) as refused:
            queries.get(task_id, owner_id=eve.id)
        errors.append((type(refused.value), refused.value.args, refused.value.reason, refused.value.__cause__))

    assert errors[0] == errors[1] == errors[2]
    assert str(foreign) not in str(errors)


def test_poll_is_one_statement_with_caller_and_task(alice: Person) -> None:
    claim = claimed(alice)
    store.set_variables(claim, {"progress": 50})
    token, credential_id = store.create_token(alice.id, name="t", by=Actor.system(via="test"))
    before = look(claim.task_id)

    with CaptureQueriesContext(connection) as statements:
        poll = queries.poll(token, claim.task_id)

    assert len(statements) == 1
    assert poll is not None
    assert (poll.caller.owner_id, poll.caller.credential_id) == (alice.id, credential_id)
    assert poll.task == before.with_payload(result=None, error=None, variables='{"progress":50}')
    assert (poll.notes_use, poll.notes_fetch) == (True, False)


def test_poll_of_anothers_unknown_or_expired_task_finds_the_caller_only(
    alice: Person, eve: Person, clock: DatabaseClock
) -> None:
    """check 99, check 104."""
    token, _ = store.create_token(eve.id, name="t", by=Actor.system(via="test"))
    foreign, expired = created(alice).id, created(eve, ttl_ms=1000).id
    clock.advance(timedelta(seconds=1))

    polls = [queries.poll(token, task_id) for task_id in (foreign, new_task_id(), expired)]

    assert polls[0] is not None
    assert polls[0].task is None
    assert polls[0] == polls[1] == polls[2]


def test_poll_with_a_worthless_token_is_nothing(alice: Person) -> None:
    """check 103."""
    token, credential_id = store.create_token(alice.id, name="t", by=Actor.system(via="test"))
    task_id = created(alice).id
    store.revoke_token(credential_id, owner_id=None, by=Actor.system(via="test"))

    assert queries.poll(token, task_id) is None
    assert queries.poll("td_unknown", task_id) is None


def test_poll_says_when_a_read_is_to_be_noted(alice: Person, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    token, credential_id = store.create_token(alice.id, name="t", by=Actor.system(via="test"))
    store.authenticate(token)
    task_id = completed(alice)

    def noted() -> tuple[bool, bool]:
        poll = queries.poll(token, task_id)
        assert poll is not None
        return poll.notes_use, poll.notes_fetch

    first = noted()
    store.record_fetch(task_id, credential_id=credential_id)
    soon = noted()
    clock.advance(timedelta(seconds=10))
    later = noted()
    clock.advance(timedelta(seconds=51))

    assert (first, soon, later, noted()) == ((False, True), (False, False), (False, True), (True, True))


def test_first_fetch_is_an_event_and_later_ones_are_counted(alice: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    clock.advance(timedelta(0))

    first = store.record_fetch(task_id, credential_id=5, request_id="r1")
    soon = store.record_fetch(task_id, credential_id=5)
    clock.advance(timedelta(seconds=10))
    later = store.record_fetch(task_id, credential_id=5)

    event = last_event(task_id, "first_fetch")
    assert (first, soon, later) == (True, False, True)
    assert (scalar("SELECT times FROM tasks_fetch"), kinds(task_id).count("first_fetch")) == (2, 1)
    assert event.actor == {"kind": "client", "id": alice.id, "credential": 5, "via": "mcp", "request": "r1"}


def test_reading_a_live_task_is_no_fetch(alice: Person) -> None:
    assert store.record_fetch(created(alice).id, credential_id=1) is False


def test_fetch_leaves_the_task_row_alone(alice: Person) -> None:
    task_id = completed(alice)
    before = look(task_id)

    store.record_fetch(task_id, credential_id=1)

    assert look(task_id) == before


def test_pages_visit_every_task_once_while_new_ones_arrive(alice: Person, eve: Person, clock: DatabaseClock) -> None:
    """check 62."""
    tasks = set()
    for index in range(23):
        # Several share a moment: the id decides between them.
        if index % 4 == 0:
            clock.advance(timedelta(seconds=1))
        tasks.add(created(alice).id)
        created(eve)
    seen: list[store.Snapshot] = []

    after = None
    while True:
        page = queries.page(owner_id=alice.id, after=after, limit=5)
        seen.extend(page.tasks)
        created(alice)
        clock.advance(timedelta(seconds=1))
        after = page.following
        if after is None:
            break

    assert [task.id for task in seen] == [
        task.id for task in sorted(seen, key=lambda t: (t.created_at, t.id), reverse=True)
    ]
    assert len(seen) == 23
    assert {task.id for task in seen} == tasks


def test_page_that_holds_exactly_all_is_the_last(alice: Person) -> None:
    """check 62."""
    for _ in range(3):
        created(alice)

    assert queries.page(owner_id=alice.id, limit=3).following is None
    assert queries.page(owner_id=alice.id, limit=2).following is not None
    assert queries.page(owner_id=alice.id, limit=10).following is None


def test_page_of_an_owner_without_tasks_is_empty(alice: Person, eve: Person) -> None:
    """check 62, check 104."""
    created(alice)

    assert queries.page(owner_id=eve.id, limit=10) == queries.Page((), None)


def test_page_can_be_narrowed_to_statuses(alice: Person) -> None:
    completed(alice)
    asking(alice)
    created(alice)

    page = queries.page(owner_id=None, limit=10, statuses=[Status.COMPLETED, Status.INPUT_REQUIRED])

    assert [task.status for task in page.tasks] == [Status.INPUT_REQUIRED, Status.COMPLETED]


def test_page_leaves_out_what_is_past_its_time(alice: Person, clock: DatabaseClock) -> None:
    """check 91."""
    created(alice, ttl_ms=1000)
    kept = created(alice)
    clock.advance(timedelta(seconds=1))

    assert [task.id for task in queries.page(owner_id=alice.id, limit=10).tasks] == [kept.id]


def test_reads_are_one_statement_each(alice: Person) -> None:
    task_id = asking(alice)

    for read in (
        lambda: queries.get(task_id, owner_id=alice.id),
        lambda: queries.page(owner_id=alice.id, limit=50),
        lambda: queries.timeline(task_id),
        lambda: queries.attempts(task_id),
        lambda: queries.questions(task_id),
        lambda: queries.open_questions(task_id),
        lambda: queries.output(task_id),
        lambda: store.counts(alice.id),
    ):
        with CaptureQueriesContext(connection) as statements:
            read()
        assert len(statements) == 1


def test_timeline_continues_after_an_event(alice: Person) -> None:
    task_id = completed(alice)
    events = queries.timeline(task_id)

    assert queries.timeline(task_id, after=events[1].id) == events[2:]
    assert queries.timeline(task_id, limit=1) == events[:1]


def test_timeline_tells_a_whole_life_with_its_actors(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task_id = asking(alice)
    store.hold(task_id, held=True, owner_id=None, by=bo.operates())
    store.hold(task_id, held=False, owner_id=None, by=bo.operates())
    store.extend(task_id, more=timedelta(days=1), owner_id=alice.id, by=alice.acts())
    store.cancel(task_id, owner_id=alice.id, by=alice.acts())
    store.record_fetch(task_id, credential_id=1)
    clock.advance(timedelta(days=9))
    store.expire()
    clock.advance(timedelta(days=9))
    store.purge()

    told = [(event.kind, event.to_status, event.actor["kind"]) for event in queries.timeline(task_id)]

    asked = [
        ("status", "input_required", "worker"),
        ("ttl", None, "worker"),
        ("asked", None, "worker"),
        ("attempt_ended", None, "worker"),
    ]
    assert told[:2] == [("created", "working", "owner"), ("attempt_started", None, "worker")]
    assert sorted(told[2:6], key=str) == sorted(asked, key=str)
    assert told[6:9] == [("held", None, "operator"), ("hold_lifted", None, "operator"), ("ttl", None, "owner")]
    assert sorted(told[9:11], key=str) == [("status", "cancelled", "owner"), ("withdrawn", None, "owner")]
    assert told[11:] == [("first_fetch", None, "client"), ("expired", None, "engine"), ("purged", None, "engine")]


def test_settings_are_read_without_any_statement(db: None) -> None:
    """check 65."""
    with CaptureQueriesContext(connection) as statements:
        read = (conf().default_ttl, conf().max_ttl, conf().limits.variables_bytes, conf().live_tasks)

    assert read == (3600, 86_400, 1_048_576, 100)
    assert len(statements) == 0


def test_settings_move_with_djangos(settings: Settings) -> None:
    """check 85: 512,000 / 1,800,000 / 7,200,000 / 5 / 32,768."""
    settings.TASKDECK_VARIABLES_BYTES = 512_000
    settings.TASKDECK_DEFAULT_TTL = 1800
    settings.TASKDECK_MAX_TTL = 7200
    settings.TASKDECK_VARIABLES_DEPTH = 5
    settings.TASKDECK_VARIABLE_STRING_BYTES = 32_768

    limits = conf().limits

    assert (limits.variables_bytes, limits.default_ttl_ms, limits.max_ttl_ms) == (512_000, 1_800_000, 7_200_000)
    assert (limits.variables_depth, limits.variable_string_bytes) == (5, 32_768)
