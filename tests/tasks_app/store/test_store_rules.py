"""What the database refuses to every writer, raw SQL included: frozen ends, an append-only log, a named actor."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from tasks_app import store
from tasks_app.domain.errors import InvalidTransition, MissingActor
from tasks_app.domain.identity import Actor
from tasks_app.store.db import affected, rows
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    BROKEN,
    act_as,
    answer,
    asking,
    claimed,
    completed,
    created,
    look,
    rolled_back,
    scalar,
    sql,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def actor(db: None) -> None:
    """Somebody acts, so that no refusal is for want of an actor."""
    act_as(Actor.system(via="sql"))


def refuses(text: str, *, match: str, **params: object) -> None:
    """The database does not carry this out."""
    with pytest.raises(IntegrityError, match=match), transaction.atomic():
        sql(text, **params)


def retire(*, on: bool) -> None:
    """Turn the switch that lets old rows leave."""
    sql("SELECT set_config('tasks.retire', %(on)s, true)", on="on" if on else "")


def ended(owner: Person, how: str) -> UUID:
    """A task that has ended this way."""
    if how == "completed":
        return completed(owner)
    if how == "failed":
        return store.fail(claimed(owner), error=BROKEN).id
    return store.cancel(created(owner).id, owner_id=owner.id, by=owner.acts()).task.id


FROZEN = {
    "status": "'working'",
    "outcome": "'tool_error'",
    "result": "'{\"forged\": true}'",
    "error": "'{\"forged\": true}'",
    "variables": "'{\"forged\": true}'",
    "status_message": "'forged'",
    "progress_done": "99",
    "progress_total": "99",
    "finished_at": "tasks_now() + interval '1 second'",
    "attempt": "attempt + 1",
    "updated_at": "updated_at + interval '1 second'",
    "status_at": "status_at - interval '1 second'",
    "losses": "losses + 1",
    "retries": "retries + 1",
    "output_bytes": "output_bytes + 1",
}


@pytest.mark.parametrize("column", FROZEN)
@pytest.mark.parametrize("how", ["completed", "failed", "cancelled"])
def test_finished_task_is_frozen(alice: Person, how: str, column: str) -> None:
    """check 76."""
    task_id = ended(alice, how)
    before = look(task_id)

    refuses(f"UPDATE tasks_task SET {column} = {FROZEN[column]} WHERE id = %(id)s", match="already", id=task_id)

    assert look(task_id) == before


def test_time_of_a_finished_task_is_never_brought_forward(alice: Person) -> None:
    task_id = completed(alice)

    refuses(
        "UPDATE tasks_task SET expires_at = expires_at - interval '1 second' WHERE id = %(id)s",
        match="brought forward",
        id=task_id,
    )


def test_expired_task_never_comes_back(alice: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    clock.advance(timedelta(hours=1))
    store.expire()

    refuses("UPDATE tasks_task SET expired_at = NULL WHERE id = %(id)s", match="has expired", id=task_id)
    refuses(
        "UPDATE tasks_task SET expired_at = tasks_now() + interval '1 s' WHERE id = %(id)s",
        match="has expired",
        id=task_id,
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "gen_random_uuid()"),
        ("owner_id", "%(eve)s"),
        ("slot", "slot + 1"),
        ("tool", "'other'"),
        ("arguments", "'{\"other\":1}'"),
        ("tool_version", "tool_version + 1"),
        ("labels", '\'{"other": "1"}\''),
        ("created_at", "created_at - interval '1 hour'"),
        ("credential_id", "coalesce(credential_id, 0) + 1"),
    ],
)
@pytest.mark.parametrize("is_finished", [False, True])
def test_identity_of_a_task_is_immutable(
    alice: Person, eve: Person, column: str, value: str, is_finished: bool
) -> None:
    task_id = completed(alice) if is_finished else created(alice).id
    text = value.replace("%(eve)s", str(eve.id))

    refuses(f"UPDATE tasks_task SET {column} = {text} WHERE id = %(id)s", match="immutable", id=task_id)


@pytest.mark.parametrize("step", ["- 1", "+ 2"])
def test_fencing_token_only_rises_by_one(alice: Person, step: str) -> None:
    claim = claimed(alice)

    refuses(
        f"UPDATE tasks_task SET attempt = attempt {step}, active_attempt = attempt {step} WHERE id = %(id)s",
        match="only rise by one",
        id=claim.task_id,
    )


def test_task_that_waits_for_input_is_not_run(alice: Person) -> None:
    task_id = asking(alice)

    refuses("UPDATE tasks_task SET attempt = attempt + 1 WHERE id = %(id)s", match="waits for input", id=task_id)


def test_version_counts_every_visible_change_by_itself(alice: Person) -> None:
    """No writer can forget it, and none can set it back."""
    task = created(alice)

    sql("UPDATE tasks_task SET status_message = 'x', version = 1 WHERE id = %(id)s", id=task.id)

    assert look(task.id).version == task.version + 1
    assert look(task.id).updated_at > task.updated_at


def test_change_of_the_variables_counts_too(alice: Person) -> None:
    """Whoever listens is told of them, so a change of nothing else must show."""
    claim = claimed(alice)
    before = look(claim.task_id)

    store.set_variables(claim, {"a": 1})
    changed = look(claim.task_id)
    store.set_variables(claim, {"a": 1})

    assert (changed.version, look(claim.task_id).version) == (before.version + 1, before.version + 1)
    assert changed.updated_at > before.updated_at


@pytest.mark.parametrize("is_finished", [False, True])
def test_version_may_rise_and_never_falls(alice: Person, is_finished: bool) -> None:
    task_id = completed(alice) if is_finished else created(alice).id
    before = look(task_id).version

    sql("UPDATE tasks_task SET version = version + 1 WHERE id = %(id)s", id=task_id)
    refuses("UPDATE tasks_task SET version = version - 1 WHERE id = %(id)s", match="only rises", id=task_id)

    assert look(task_id).version == before + 1


@pytest.mark.parametrize("how", ["live", "finished", "held"])
def test_task_leaves_only_after_its_expiry_was_recorded_and_not_while_held(
    alice: Person, clock: DatabaseClock, how: str
) -> None:
    task_id = created(alice).id if how == "live" else completed(alice)
    if how == "held":
        clock.advance(timedelta(hours=1))
        store.expire()
        sql("UPDATE tasks_task SET held = true")

    for switch in (False, True):
        retire(on=switch)
        refuses("DELETE FROM tasks_task WHERE id = %(id)s", match="leaves only after", id=task_id)


def test_expired_task_may_leave(alice: Person, clock: DatabaseClock) -> None:
    """The other side: what purge does is allowed."""
    task_id = store.cancel(created(alice).id, owner_id=alice.id, by=alice.acts()).task.id
    clock.advance(timedelta(hours=1))
    store.expire()

    sql("DELETE FROM tasks_task WHERE id = %(id)s", id=task_id)

    assert scalar("SELECT count(*) FROM tasks_event WHERE kind = 'purged' AND task_id = %(id)s", id=task_id) == 1


@pytest.mark.parametrize("table", ["event", "expiration"])
@pytest.mark.parametrize("is_on", [False, True])
def test_log_and_records_are_never_changed(alice: Person, clock: DatabaseClock, table: str, is_on: bool) -> None:
    """The retire switch lets rows leave, and changes nothing else."""
    completed(alice)
    clock.advance(timedelta(hours=1))
    store.expire()
    retire(on=is_on)

    refuses(f"UPDATE tasks_{table} SET owner_id = 0", match="append-only")
    refuses(f"UPDATE tasks_{table} SET owner_id = owner_id", match="append-only")


@pytest.mark.parametrize("table", ["event", "expiration"])
def test_log_and_records_leave_only_with_the_retire_switch(alice: Person, clock: DatabaseClock, table: str) -> None:
    completed(alice)
    clock.advance(timedelta(hours=1))
    store.expire()

    for word in ("", "off", "true", "ON"):
        sql("SELECT set_config('tasks.retire', %(word)s, true)", word=word)
        refuses(f"DELETE FROM tasks_{table}", match="append-only")
    with rolled_back():
        retire(on=True)
        left = affected(f"DELETE FROM tasks_{table}")

    assert left == scalar(f"SELECT count(*) FROM tasks_{table}") > 0


@pytest.mark.parametrize(
    "change", ["outcome = 'lost'", "detail = 'forged'", "ended_at = NULL, outcome = NULL", "worker = 'x'"]
)
def test_attempt_that_ended_is_final(alice: Person, change: str) -> None:
    task_id = completed(alice)

    refuses(f"UPDATE tasks_attempt SET {change} WHERE task_id = %(id)s", match="has ended", id=task_id)


@pytest.mark.parametrize(
    "change", ["answer = '{}'", "state = 'open', closed_at = NULL", "answered_via = 'mcp'", "key = 'x'"]
)
@pytest.mark.parametrize("how", ["answered", "withdrawn"])
def test_question_that_is_closed_is_final(alice: Person, change: str, how: str) -> None:
    task_id = asking(alice)
    if how == "answered":
        answer(task_id, alice)
    else:
        store.cancel(task_id, owner_id=alice.id, by=alice.acts())

    refuses(f"UPDATE tasks_question SET {change} WHERE task_id = %(id)s", match="is closed", id=task_id)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("ended_at = tasks_now()", "attempt_outcome_iff_ended"),
        ("outcome = 'lost'", "attempt_outcome_iff_ended"),
        ("ended_at = tasks_now(), outcome = 'gone'", "attempt_outcome_known"),
        ("ended_at = tasks_now(), outcome = 'stopped'", "attempt_stopped_only_when_asked"),
        ("ended_at = tasks_now(), outcome = 'killed'", "attempt_stopped_only_when_asked"),
        ("stop_acknowledged_at = tasks_now()", "attempt_acknowledges_a_stop"),
        (
            "stop_requested_at = tasks_now(), ended_at = tasks_now(), outcome = 'completed'",
            "attempt_asked_records_nothing",
        ),
        ("ended_at = started_at - interval '1 second', outcome = 'lost'", "attempt_ends_after_it_starts"),
        ("number = 0", "attempt_counts_from_one"),
    ],
)
def test_half_done_change_of_an_attempt_is_refused(alice: Person, change: str, rule: str) -> None:
    claimed(alice)

    refuses(f"UPDATE tasks_attempt SET {change}", match=rule)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("state = 'answered', closed_at = tasks_now()", "question_answer_iff_answered"),
        ("answer = '{}', action = 'accept', answered_via = 'mcp', answered_by = '{}'", "question_answer_iff_answered"),
        ("state = 'withdrawn'", "question_closed_iff_not_open"),
        ("closed_at = tasks_now()", "question_closed_iff_not_open"),
        ("state = 'lost', closed_at = tasks_now()", "question_state_known"),
        ("action = 'maybe'", "question_action_known"),
        ("kind = 'quiz'", "question_kind_known"),
        ("audience = 'all'", "question_audience_known"),
    ],
)
def test_half_done_change_of_a_question_is_refused(alice: Person, change: str, rule: str) -> None:
    asking(alice)

    refuses(f"UPDATE tasks_question SET {change}", match=rule)


def test_second_open_attempt_of_a_task_is_refused(alice: Person) -> None:
    claim = claimed(alice)

    refuses(
        "INSERT INTO tasks_attempt (task_id, number, worker, lease_until) VALUES (%(id)s, 2, 'w', tasks_now())",
        match="attempt_one_open",
        id=claim.task_id,
    )


def test_slot_of_a_live_task_is_taken(alice: Person) -> None:
    """check 96: the quota is an index, not a count."""
    task = created(alice)

    refuses(
        """INSERT INTO tasks_task (id, owner_id, slot, tool, created_at, updated_at, status_at, expires_at, wake_at)
           SELECT gen_random_uuid(), owner_id, slot, tool, created_at, created_at, created_at, expires_at, created_at
             FROM tasks_task WHERE id = %(id)s""",
        match="task_live_slot",
        id=task.id,
    )


ACTORLESS = {
    "status": """UPDATE tasks_task SET status = 'cancelled', outcome = 'cancelled', finished_at = tasks_now(),
                        wake_at = NULL""",
    "time": "UPDATE tasks_task SET expires_at = expires_at + interval '1 hour'",
    "hold": "UPDATE tasks_task SET held = true",
    "attempt": """INSERT INTO tasks_attempt (task_id, number, worker, lease_until)
                  SELECT id, 1, 'w', tasks_now() FROM tasks_task""",
}


@pytest.mark.parametrize("change", ACTORLESS)
def test_change_without_an_actor_is_an_error(alice: Person, change: str) -> None:
    task = created(alice)
    act_as(None)

    with pytest.raises(MissingActor), transaction.atomic():
        rows(ACTORLESS[change])
    with pytest.raises(DatabaseError) as raw, transaction.atomic():
        sql(ACTORLESS[change])

    assert getattr(raw.value.__cause__, "sqlstate", None) == "TD001"
    assert (look(task.id).version, look(task.id).held) == (task.version, False)


def test_refusal_of_a_rule_is_an_invalid_transition_for_callers(alice: Person) -> None:
    """check 98: the domain's own word, without the words of the database."""
    task_id = completed(alice)

    with pytest.raises(InvalidTransition, match="already completed") as refused, transaction.atomic():
        rows("UPDATE tasks_task SET status_message = 'x' WHERE id = %(id)s", {"id": task_id})

    assert "CONTEXT" not in str(refused.value)
    assert refused.value.reason == "invalid_transition"
