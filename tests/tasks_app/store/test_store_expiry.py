"""The end of a task's time: expiry as a transition with a record, extension, hold, and purge."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import NotAllowed, NotFound, NotReady
from tasks_app.domain.identity import Actor, new_task_id
from tasks_app.domain.questions import QuestionState
from tasks_app.domain.status import Status
from tasks_app.models import Expiration
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    DONE,
    again,
    answer,
    ask,
    asking,
    claimed,
    completed,
    created,
    key,
    kinds,
    last_event,
    look,
    scalar,
    sql,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
CHILDREN = ("attempt", "question", "step", "output", "fetch")


def record_of(task_id: UUID) -> Expiration:
    """The expiration record of a task."""
    return Expiration.objects.get(task_id=task_id)


def row_of(task_id: UUID) -> dict[str, Any]:
    """The task row as it is, expired or not."""
    return dict(json.loads(scalar("SELECT to_json(t)::text FROM tasks_task t WHERE id = %(id)s", id=task_id)))


def test_expired_tasks_are_counted_once(alice: Person, clock: DatabaseClock) -> None:
    """check 64, check 97: five expired and three live give five, then none."""
    for _ in range(2):
        completed(alice)
    for _ in range(3):
        created(alice, ttl_ms=1000)
    clock.advance(timedelta(minutes=50))
    for _ in range(3):
        created(alice)
    clock.advance(timedelta(minutes=10))

    runs = [store.expire(), store.expire()]

    assert runs == [5, 0]
    assert scalar("SELECT count(*) FROM tasks_expiration") == 5
    assert scalar("SELECT count(*) FROM tasks_task WHERE expired_at IS NULL") == 3


def test_task_expires_at_its_moment_and_not_before(alice: Person, clock: DatabaseClock) -> None:
    """check 49, check 50, check 91."""
    task = created(alice, ttl_ms=1000)

    clock.set(task.expires_at - timedelta(microseconds=1))
    before = (look(task.id).id, store.expire())
    clock.set(task.expires_at)

    assert before == (task.id, 0)
    with pytest.raises(NotFound):
        look(task.id)
    assert store.expire() == 1


def test_expiry_of_a_live_task_is_a_transition(alice: Person, clock: DatabaseClock) -> None:
    """check 89: a defined outcome, not a silent loss."""
    claim = claimed(alice, ttl_ms=1000, key="k")
    now = clock.advance(timedelta(seconds=3))

    store.expire()

    row = row_of(claim.task_id)
    [attempt] = queries.attempts(claim.task_id)
    assert (row["status"], row["outcome"], row["idempotency_key"]) == ("failed", "expired", None)
    assert json.loads(row["error"])["data"] == {"reason": "expired"}
    assert (attempt.stop_requested_at, attempt.ended_at) == (now, None)
    assert kinds(claim.task_id) == ["created", "attempt_started", "to failed", "expired"]
    assert {event.actor["kind"] for event in queries.timeline(claim.task_id)[2:]} == {"engine"}
    assert last_event(claim.task_id, "status").detail == {"outcome": "expired"}
    assert store.heartbeat(claim) is store.Beat.STOP


def test_expiry_withdraws_what_a_task_asks_and_remembers_it(alice: Person, clock: DatabaseClock) -> None:
    asked = clock.advance(timedelta(0))
    task_id = asking(alice, ask("one"), ask("two", position=1), ttl_ms=60_000)
    clock.advance(timedelta(minutes=1))

    store.expire()

    unanswered = record_of(task_id).unanswered
    assert [(each["key"], datetime.fromisoformat(each["since"])) for each in unanswered] == [
        (key(task_id, "one"), asked),
        (key(task_id, "two"), asked),
    ]
    assert {question.state for question in queries.questions(task_id)} == {QuestionState.WITHDRAWN}
    assert kinds(task_id).count("withdrawn") == 2


def test_record_of_a_live_task(alice: Person, clock: DatabaseClock) -> None:
    """check 92: auditable, without any payload."""
    claim = claimed(alice, ttl_ms=1000, credential_id=9, tool="deploy", arguments={"secret": "x"})
    store.write_output(claim, "12345")
    task = look(claim.task_id)
    now = clock.advance(timedelta(seconds=3))

    store.expire()

    record, row = record_of(task.id), row_of(task.id)
    assert (record.owner_id, record.credential_id, record.tool) == (alice.id, 9, "deploy")
    assert (record.status, record.outcome, record.was_live) == ("failed", "expired", True)
    assert (record.created_at, record.due_at, record.finished_at) == (task.created_at, task.expires_at, now)
    assert (record.observed_at, record.fetched_times, record.cancelled_by) == (now, 0, None)
    assert (record.first_fetched_at, record.unanswered, record.ttl_changes) == (None, [], [])
    assert record.payload_bytes == len(row["arguments"]) + len(row["error"]) + len("{}") + 5
    assert bytes(record.payload_sha256) == hashlib.sha256((row["arguments"] + row["error"] + "{}").encode()).digest()
    assert "secret" not in scalar("SELECT x::text FROM tasks_expiration x")


def test_record_of_a_finished_task(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice, arguments={"a": 1})
    store.complete(claim, result=DONE)
    task = look(claim.task_id)
    fetched_at = clock.advance(timedelta(minutes=1))
    store.record_fetch(task.id, credential_id=None)
    again_at = clock.advance(timedelta(minutes=1))
    store.record_fetch(task.id, credential_id=None)
    clock.advance(HOUR)

    store.expire()

    record = record_of(task.id)
    assert (record.status, record.outcome, record.was_live) == ("completed", "result", False)
    assert (record.finished_at, record.due_at) == (task.finished_at, task.expires_at)
    assert (record.fetched_times, record.first_fetched_at, record.last_fetched_at) == (2, fetched_at, again_at)
    assert bytes(record.payload_sha256) == hashlib.sha256(f"{task.arguments}{task.result}{{}}".encode()).digest()
    assert kinds(task.id)[-1] == "expired"


def test_record_names_who_changed_the_time_and_who_cancelled(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task = created(alice)
    longer = store.extend(task.id, more=HOUR, owner_id=None, by=bo.operates(reason="still needed"))
    store.cancel(task.id, owner_id=None, by=bo.operates(reason="wrong host"))
    clock.advance(3 * HOUR)

    store.expire()

    record = record_of(task.id)
    [change] = record.ttl_changes
    assert (datetime.fromisoformat(change["from"]), datetime.fromisoformat(change["to"])) == (
        task.expires_at,
        longer.expires_at,
    )
    assert (change["by"]["id"], change["by"]["reason"]) == (bo.id, "still needed")
    assert record.cancelled_by == bo.operates(reason="wrong host").as_json()
    assert (record.outcome, record.policy_version) == ("cancelled", 0)
    assert (change["why"], record.extended_times) == ("extended", 1)


def test_record_says_what_a_task_was_when_its_time_ran_out(alice: Person, clock: DatabaseClock) -> None:
    waiting = asking(alice, ask("one"), ttl_ms=60_000)
    finished = completed(alice)
    working = created(alice, ttl_ms=60_000).id
    clock.advance(timedelta(minutes=1))
    store.expire()
    clock.advance(HOUR)
    store.expire()

    assert record_of(working).status_then == "working"
    assert record_of(waiting).status_then == "input_required"
    assert record_of(finished).status_then == "completed"


def test_record_counts_and_digests_what_the_purge_will_remove(alice: Person, clock: DatabaseClock) -> None:
    """check 92: what was removed is known by its size, part by part, and by its digest."""
    claim = claimed(alice, arguments={"a": 1})
    store.save_step(claim, name="one", position=0, value={"n": 1})
    store.save_step(claim, name="two", position=1, value="é")
    store.set_variables(claim, {"colour": "red"})
    store.write_output(claim, "12345")
    store.suspend(claim, [ask("port")])
    answer(claim.task_id, alice)
    store.complete(again(), result=DONE)
    row = row_of(claim.task_id)
    [(request, given)] = sql("SELECT request, answer FROM tasks_question")
    steps = [value.encode() for (value,) in sql("SELECT value FROM tasks_step ORDER BY position")]
    clock.advance(1000 * HOUR)

    store.expire()

    record = record_of(claim.task_id)
    assert record.payload_sizes == {
        "arguments": len(row["arguments"]), "result": len(row["result"]), "error": 0,
        "variables": len(row["variables"]), "output": 5, "steps": sum(map(len, steps)),
        "questions": len(request) + len(given),
    }  # fmt: skip
    assert sum(record.payload_sizes.values()) == record.payload_bytes
    whole = (row["arguments"] + row["result"] + row["variables"]).encode()
    parts = [*steps, (request + given).encode()]
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    assert bytes(record.payload_sha256) == hashlib.sha256(whole + digests).digest()


def test_time_that_is_raised_at_the_end_is_no_extension(alice: Person, clock: DatabaseClock) -> None:
    task = created(alice, ttl_ms=60_000)
    store.cancel(task.id, owner_id=None, by=alice.acts())
    clock.advance(HOUR)

    store.expire()

    record = record_of(task.id)
    assert ([change["why"] for change in record.ttl_changes], record.extended_times) == (["ended"], 0)
    assert record.ttl_fixed


def test_expiry_by_a_person_names_them(alice: Person, clock: DatabaseClock) -> None:
    finished, live = completed(alice), created(alice, ttl_ms=1000).id
    clock.advance(HOUR)

    assert store.expire(by=Actor.system(via="expire")) == 2

    assert {last_event(task_id, "expired").actor["via"] for task_id in (live, finished)} == {"expire"}


def test_expired_task_is_not_found_by_anyone_but_can_be_audited(alice: Person, clock: DatabaseClock) -> None:
    """check 91, check 92, check 99: swept or not, the same words as for a task that never was."""
    task_id = completed(alice)
    clock.advance(HOUR)
    words = set()

    for _ in range(2):
        for unknown in (task_id, new_task_id()):
            with pytest.raises(NotFound) as refused:
                queries.get(unknown, owner_id=alice.id)
            words.add(str(refused.value))
        assert queries.page(owner_id=alice.id, limit=10).tasks == ()
        store.expire()

    assert len(words) == 1
    assert str(task_id) not in words.pop()
    assert record_of(task_id).owner_id == alice.id


@pytest.mark.parametrize("swept", [True, False])
def test_nothing_changes_a_task_past_its_time(alice: Person, bo: Person, clock: DatabaseClock, swept: bool) -> None:
    """check 91."""
    task = created(alice)
    clock.advance(HOUR)
    if swept:
        store.expire()
    before = row_of(task.id)

    with pytest.raises(NotFound):
        store.cancel(task.id, owner_id=alice.id, by=alice.acts())
    with pytest.raises(NotFound):
        store.extend(task.id, more=HOUR, owner_id=alice.id, by=alice.acts())
    with pytest.raises(NotFound):
        store.hold(task.id, held=True, owner_id=None, by=bo.operates())
    with pytest.raises(NotFound):
        queries.result(task.id, owner_id=alice.id)

    assert row_of(task.id) == before
    assert store.record_fetch(task.id, credential_id=None) is False


def test_extension_is_an_event_and_a_new_version(alice: Person) -> None:
    task = created(alice)

    longer = store.extend(task.id, more=HOUR, owner_id=alice.id, by=alice.acts(reason="slow"))

    event = last_event(task.id, "ttl")
    assert (longer.expires_at, longer.version) == (task.expires_at + HOUR, task.version + 1)
    assert (event.actor, datetime.fromisoformat(event.detail["to"])) == (
        alice.acts(reason="slow").as_json(),
        longer.expires_at,
    )


def test_extension_of_a_finished_task_raises_the_version_only(alice: Person) -> None:
    task_id = completed(alice)
    before = look(task_id)

    after = store.extend(task_id, more=HOUR, owner_id=alice.id, by=alice.acts())

    assert (after.updated_at, after.finished_at) == (before.updated_at, before.finished_at)
    assert (after.version, after.expires_at) == (before.version + 1, before.expires_at + HOUR)


def test_extension_stops_at_the_longest_time(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_MAX_KEEP = 7200
    task = created(alice)

    longest = store.extend(task.id, more=timedelta(days=3650), owner_id=alice.id, by=alice.acts())
    with pytest.raises(NotAllowed, match="as long as"):
        store.extend(task.id, more=HOUR, owner_id=alice.id, by=alice.acts())

    assert longest.expires_at == task.created_at + 2 * HOUR


def test_extension_reaches_thirty_days_by_default(alice: Person) -> None:
    """check 88: the maximum bounds what a client asks for, not what the server grants."""
    task = created(alice)

    longest = store.extend(task.id, more=timedelta.max, owner_id=alice.id, by=alice.acts())

    assert longest.expires_at == task.created_at + timedelta(days=30)


@pytest.mark.parametrize("more", [timedelta(0), timedelta(seconds=-1)])
def test_extension_is_a_positive_time(alice: Person, more: timedelta) -> None:
    task = created(alice)

    with pytest.raises(NotAllowed):
        store.extend(task.id, more=more, owner_id=alice.id, by=alice.acts())

    assert look(task.id).expires_at == task.expires_at


def test_operator_extends_and_holds_only_with_a_reason(alice: Person, bo: Person) -> None:
    task = created(alice)

    with pytest.raises(NotAllowed, match="reason"):
        store.extend(task.id, more=HOUR, owner_id=None, by=bo.operates(reason=""))
    with pytest.raises(NotAllowed, match="reason"):
        store.hold(task.id, held=True, owner_id=None, by=bo.operates(reason=None))

    assert (look(task.id).held, look(task.id).expires_at) == (False, task.expires_at)


def test_held_task_stays_readable_and_is_never_expired(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    store.hold(task_id, held=True, owner_id=None, by=bo.operates(reason="case 7"))
    clock.advance(timedelta(days=400))

    assert (store.expire(), store.purge()) == (0, 0)
    assert queries.result(task_id, owner_id=alice.id) == DONE
    assert [task.id for task in queries.page(owner_id=alice.id, limit=9).tasks] == [task_id]
    assert last_event(task_id, "held").actor["reason"] == "case 7"


def test_held_live_task_can_still_be_cancelled_and_extended(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task = created(alice)
    store.hold(task.id, held=True, owner_id=None, by=bo.operates())
    clock.advance(2 * HOUR)

    store.extend(task.id, more=5 * HOUR, owner_id=alice.id, by=alice.acts())
    done = store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert (done.task.status, done.task.expires_at) == (Status.CANCELLED, task.expires_at + 5 * HOUR)
    with pytest.raises(NotReady):
        queries.result(created(alice).id, owner_id=alice.id)


def test_lifting_the_hold_lets_the_task_expire(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    store.hold(task_id, held=True, owner_id=None, by=bo.operates())
    clock.advance(2 * HOUR)

    lifted = store.hold(task_id, held=False, owner_id=None, by=bo.operates())

    assert (lifted.held, store.expire()) == (False, 1)
    assert kinds(task_id)[-3:] == ["held", "hold_lifted", "expired"]


def test_purge_takes_the_task_and_its_children_and_leaves_the_rest(alice: Person, clock: DatabaseClock) -> None:
    claim = claimed(alice)
    store.save_step(claim, name="s", position=0, value=1)
    store.write_output(claim, "line")
    store.suspend(claim, [ask()])
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
    store.record_fetch(claim.task_id, credential_id=None)
    clock.advance(timedelta(days=8))
    store.expire()
    assert all(scalar(f"SELECT count(*) FROM tasks_{table}") == 1 for table in CHILDREN)
    early = store.purge()
    clock.advance(timedelta(days=7, seconds=1))

    purged = [store.purge(by=Actor.system(via="purge")), store.purge()]

    assert (early, purged) == (0, [1, 0])
    assert [scalar(f"SELECT count(*) FROM tasks_{table}") for table in ("task", *CHILDREN)] == [0] * 6
    assert record_of(claim.task_id).outcome == "cancelled"
    assert kinds(claim.task_id)[-2:] == ["expired", "purged"]
    assert last_event(claim.task_id, "purged").actor["via"] == "purge"


def test_purge_waits_for_the_retention_and_for_the_last_attempt(
    alice: Person, clock: DatabaseClock, settings: Settings
) -> None:
    settings.TASKDECK_PURGE_AFTER = 3600
    claim = claimed(alice, ttl_ms=1000)
    clock.advance(timedelta(seconds=2))
    store.expire()
    clock.advance(2 * HOUR)

    while_running = store.purge()
    store.stopped(claim)

    assert (while_running, store.purge()) == (0, 1)


def test_purge_leaves_a_held_task(alice: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    clock.advance(HOUR)
    store.expire()
    sql("UPDATE tasks_task SET held = true WHERE id = %(id)s", id=task_id)
    clock.advance(timedelta(days=30))

    assert store.purge() == 0
    assert row_of(task_id)["held"] is True
