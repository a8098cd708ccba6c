"""The chain over the audit log: what is sealed, what is found when somebody changed it, and what retires."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, models, transaction
from django.db.utils import IntegrityError

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.policy import Rule
from tasks_app.models import ChainCheck, Event, Expiration, Seal
from tasks_app.store import chain, leaves, policy
from tasks_app.store.chain import chain_state, look_around, seal, verify, verify_now
from tasks_app.store.events import record_event
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store import histories
from tests.tasks_app.store.life import completed, created, rolled_back, scalar, sql, together

pytestmark = pytest.mark.django_db

LATER = timedelta(seconds=chain.AGE_SECONDS + 1)
SYSTEM = Actor.system(via="test")


@contextmanager
def guards_off() -> Iterator[None]:
    """As somebody who owns the database can: no trigger fires."""
    sql("SELECT set_config('session_replication_role', 'replica', false)")
    try:
        yield
    finally:
        sql("SELECT set_config('session_replication_role', 'origin', false)")


def log(*kinds: str) -> list[int]:
    """New entries of the audit log, and their ids."""
    for kind in kinds:
        record_event(kind, by=SYSTEM)
    return list(Event.objects.order_by("-id").values_list("id", flat=True)[: len(kinds)][::-1])


def sealed(clock: DatabaseClock) -> int:
    """Seal everything that there is, and give how many events."""
    clock.advance(LATER)
    total = 0
    while count := seal():
        total += count
    return total


def say(*arguments: str) -> tuple[str, str, int]:
    """What the command prints, what it complains of, and its exit code."""
    out, err = StringIO(), StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return out.getvalue(), err.getvalue(), int(str(end.code))
    return out.getvalue(), err.getvalue(), 0


def test_a_thousand_random_histories_replay_to_their_rows_and_are_found_out_when_touched(
    alice: Person, clock: DatabaseClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """section 2 item 3."""
    monkeypatch.setattr(chain, "_RIPE", chain._RIPE.replace(f"LIMIT {chain.BATCH}", "LIMIT 500"))
    with transaction.atomic():
        for number in range(1000):
            histories.live(alice, moves=random.randint(0, 4), ttl_ms=random.choice([60_000, 7_200_000]))
            if number % 50 == 49:
                # The owner has only so many places: what waits and nobody answers runs out of time.
                clock.advance(timedelta(hours=3))
                while store.expire():
                    pass

    events = histories.histories()
    assert len(events) == 1000
    assert {task_id: histories.replayed(each) for task_id, each in events.items()} == histories.rows()

    count = sealed(clock)
    assert count == Event.objects.count()
    whole = verify()
    assert (whole.broken, whole.is_complete, whole.batch) == (None, True, Seal.objects.count())
    assert whole.batch > 5
    for what, named in tampered():
        with rolled_back(), guards_off():
            sql(what)
            broken = verify().broken
            assert broken is not None
            assert broken.row == named, (what, broken)
            assert (
                Seal.objects.get(number=broken.batch).first_id <= named <= Seal.objects.get(number=broken.batch).last_id
            )
    assert verify().broken is None


def tampered() -> Iterator[tuple[str, int]]:
    """Ways to change history, each with the event that must be named: one byte, one row, one pair, at random places."""
    ids = list(Event.objects.order_by("id").values_list("id", flat=True))
    for id_ in random.sample(ids, 3):
        yield f"UPDATE tasks_event SET kind = kind || ' ' WHERE id = {id_}", id_
        yield f"UPDATE tasks_event SET at = at + interval '1 microsecond' WHERE id = {id_}", id_
        yield f"UPDATE tasks_event SET actor = jsonb_set(actor, '{{kind}}', '\"x\"') WHERE id = {id_}", id_
        yield f"DELETE FROM tasks_event WHERE id = {id_}", id_
        one, other = id_, ids[min(ids.index(id_) + 1, len(ids) - 1)]
        if one != other and Seal.objects.filter(first_id__lte=one, last_id__gte=other).exists():
            yield (
                (
                    f"UPDATE tasks_event SET id = -id WHERE id IN ({one}, {other}); "
                    f"UPDATE tasks_event SET id = CASE -id WHEN {one} THEN {other} ELSE {one} END WHERE id < 0"
                ),
                one,
            )
    expired = Event.objects.filter(kind="expired").order_by("?").first()
    assert expired is not None
    yield (
        f"UPDATE tasks_expiration SET fetched_times = fetched_times + 1 WHERE task_id = '{expired.task_id}'",
        expired.id,
    )
    yield f"DELETE FROM tasks_expiration WHERE task_id = '{expired.task_id}'", expired.id


def test_young_events_are_not_sealed(alice: Person, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    created(alice)
    clock.advance(timedelta(seconds=chain.AGE_SECONDS - 1))
    record_event("later", by=SYSTEM)

    early = seal()
    clock.advance(timedelta(seconds=2))
    on_time = seal()

    assert (early, on_time) == (0, 1)
    assert verify().event == Event.objects.get(kind="created").id


def test_batches_follow_each_other_without_a_gap(clock: DatabaseClock, db: None) -> None:
    for _ in range(3):
        log("a", "b")
        assert sealed(clock) == 2

    one, two, three = Seal.objects.order_by("number")
    assert (one.number, two.number, three.number) == (1, 2, 3)
    assert bytes(one.previous_hash) == chain.GENESIS
    assert (bytes(two.previous_hash), bytes(three.previous_hash)) == (bytes(one.hash), bytes(two.hash))
    assert (one.last_id + 1, two.last_id + 1) == (two.first_id, three.first_id)


def test_a_batch_that_was_changed_or_taken_away_is_named(clock: DatabaseClock, db: None) -> None:
    for _ in range(3):
        log("a")
        sealed(clock)

    found = {}
    for name, text in {
        "changed": "UPDATE tasks_seal SET until = until + interval '1 second' WHERE number = 2",
        "gone": "DELETE FROM tasks_seal WHERE number = 2",
        "forged": "UPDATE tasks_seal SET leaves = '' WHERE number = 3",
    }.items():
        with rolled_back(), guards_off():
            sql(text)
            broken = verify().broken
            found[name] = broken and (broken.batch, broken.what)

    assert found == {
        "changed": (2, "the batch itself was changed"),
        "gone": (2, "this batch is missing"),
        "forged": (3, "its list of events was changed"),
    }


def test_an_event_that_was_slipped_into_a_sealed_batch_is_named(clock: DatabaseClock, db: None) -> None:
    first, _, third = log("a", "b", "c")
    with guards_off():
        sql("DELETE FROM tasks_event WHERE id = %(id)s", id=first + 1)
    sealed(clock)

    with guards_off():
        sql("INSERT INTO tasks_event (id, kind, actor) VALUES (%(id)s, 'forged', '{}')", id=first + 1)

    broken = verify().broken
    assert broken == chain.Break(1, first + 1, f"event {first + 1} was added")
    assert third == first + 2


def test_two_that_changed_places_are_told_from_two_that_were_edited(clock: DatabaseClock, db: None) -> None:
    one, other, _ = log("a", "b", "c")
    sealed(clock)

    with rolled_back(), guards_off():
        sql("UPDATE tasks_event SET kind = 'x' WHERE id IN (%(i)s, %(o)s)", i=one, o=other)
        edited = verify().broken
    swap = leaves.of(after=0, until=other)
    assert swap is not None
    first, second = swap.leaves[:24], swap.leaves[24:]
    crossed = first[:8] + second[8:] + second[:8] + first[8:]

    assert edited is not None
    assert "was changed" in edited.what
    assert leaves.difference(swap.leaves, crossed) == (one, f"events {one} and {other} changed places")


def test_the_database_lets_a_seal_retire_once_and_nothing_else(clock: DatabaseClock, db: None) -> None:
    log("a")
    sealed(clock)

    for text in (
        "UPDATE tasks_seal SET count = 2",
        "UPDATE tasks_seal SET leaves = ''",
        "UPDATE tasks_seal SET retired_at = tasks_now()",
        "DELETE FROM tasks_seal",
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            sql(text)

    sql("UPDATE tasks_seal SET retired_at = tasks_now(), leaves = ''")
    with pytest.raises(IntegrityError), transaction.atomic():
        sql("UPDATE tasks_seal SET retired_at = NULL")


def test_events_can_neither_be_edited_nor_deleted(alice: Person) -> None:
    """section 2 item 3: the database itself refuses."""
    created(alice)

    for text in ("UPDATE tasks_event SET kind = 'x'", "DELETE FROM tasks_event"):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            sql(text)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_commits_late_does_not_break_the_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its event has an older id than those that wait to be sealed: nothing is sealed before it has ended."""
    monkeypatch.setattr(chain, "PATIENCE_SECONDS", 0.05)
    has_written, may_commit = threading.Event(), threading.Event()

    def late() -> None:
        try:
            with transaction.atomic():
                record_event("late", by=SYSTEM)
                has_written.set()
                assert may_commit.wait(20)
        finally:
            connections.close_all()

    writer = threading.Thread(target=late)
    writer.start()
    assert has_written.wait(20)
    record_event("after", by=SYSTEM)
    sql("SELECT set_config('tasks.fake_now', (clock_timestamp() + interval '2 minutes')::text, false)")
    try:
        while_open = seal()
        may_commit.set()
        writer.join(20)
        afterwards = seal()
    finally:
        sql("SELECT set_config('tasks.fake_now', '', false)")

    assert (while_open, afterwards) == (0, 2)
    assert list(Event.objects.order_by("id").values_list("kind", flat=True)) == ["late", "after"]
    assert verify().broken is None


@pytest.mark.django_db(transaction=True)
def test_any_number_of_loops_may_seal_at_once() -> None:
    for number in range(40):
        record_event(f"e{number}", by=SYSTEM)
    far = "SELECT set_config('tasks.fake_now', (clock_timestamp() + interval '2 minutes')::text, false)"

    def loop() -> int:
        sql(far)
        return seal()

    told = together(*[loop] * 6)

    assert [count for count in told if isinstance(count, int)] == told
    assert sum(told) == 40
    assert Seal.objects.count() == 1
    assert verify().broken is None


def test_state_tells_what_is_sealed_and_what_was_verified(clock: DatabaseClock, db: None) -> None:
    empty = chain_state()
    [event] = log("a")
    sealed(clock)
    unverified = chain_state()
    now = clock.advance(timedelta(minutes=1))

    assert look_around() == 1

    assert (empty.sealed, empty.verified, empty.broken) == (None, None, None)
    assert (unverified.sealed, unverified.sealed_event, unverified.verified) == (1, event, None)
    state = chain_state()
    assert (state.verified, state.verified_event, state.verified_at, state.broken) == (1, event, now, None)


def test_loop_goes_around_the_chain_and_remembers_what_is_broken_until_it_is_mended(
    clock: DatabaseClock, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "ROUND", 2)
    ids = []
    for _ in range(5):
        ids += log("a")
        sealed(clock)
    with guards_off():
        sql("UPDATE tasks_event SET kind = 'x' WHERE id = %(id)s", id=ids[2])

    seen = []
    for _ in range(4):
        look_around()
        seen.append((chain_state().broken, chain_state().broken_row, chain_state().verified))
    with guards_off():
        sql("UPDATE tasks_event SET kind = 'a' WHERE id = %(id)s", id=ids[2])
    for _ in range(4):
        look_around()

    assert seen[0] == (None, None, 2)
    assert set(seen[1:]) == {(3, ids[2], 2)}
    assert (chain_state().broken, chain_state().verified) == (None, 5)


def test_batches_that_were_verified_and_are_gone_break_the_chain(clock: DatabaseClock, db: None) -> None:
    for _ in range(3):
        log("a")
        sealed(clock)
    look_around()
    with guards_off():
        sql("DELETE FROM tasks_seal WHERE number = 3")

    look_around()

    assert (chain_state().broken, chain_state().what) == (3, "batches that were verified before are gone")


def test_verifying_now_is_an_entry_of_the_log_with_its_actor(bo: Person, clock: DatabaseClock) -> None:
    log("a")
    sealed(clock)

    verdict = verify_now(by=bo.operates())

    entry = Event.objects.get(kind="chain_verified")
    assert (verdict.broken, verdict.is_complete) == (None, True)
    assert (entry.actor["id"], entry.detail) == (bo.id, {"batch": 1, "event": verdict.event})


def test_verifying_for_a_limited_time_says_that_it_is_not_complete(clock: DatabaseClock, db: None) -> None:
    for _ in range(3):
        log("a")
        sealed(clock)

    verdict = verify_now(by=SYSTEM, seconds=0)

    assert (verdict.batch, verdict.is_complete, verdict.broken) == (1, False, None)


def test_command_says_up_to_where_all_is_in_order(clock: DatabaseClock, db: None) -> None:
    nothing = say()
    [event] = log("a")
    sealed(clock)

    out, err, code = say()

    assert nothing == ("Nothing is sealed yet.\n", "", 0)
    assert out == f"In order through batch 1, event {event}.\nHead: {bytes(Seal.objects.get().hash).hex()}\n"
    assert (err, code) == ("", 0)


def test_command_names_batch_and_event_and_ends_with_one(clock: DatabaseClock, db: None) -> None:
    _, event = log("a", "b")
    sealed(clock)
    with guards_off():
        sql("UPDATE tasks_event SET kind = 'x' WHERE id = %(id)s", id=event)

    out, err, code = say()

    assert (out, code) == ("", 1)
    assert err == f"Broken: batch 1, event {event}: event {event}, or its expiration record, was changed.\n"
    assert Event.objects.filter(kind="chain_broken", detail__broken_row=event).exists()


def test_command_begins_where_it_is_told(clock: DatabaseClock, db: None) -> None:
    [event] = log("a")
    sealed(clock)
    moment = clock.advance(timedelta(days=2))
    log("b")
    sealed(clock)
    with guards_off():
        sql("UPDATE tasks_event SET kind = 'x' WHERE id = %(id)s", id=event)

    assert say("--since", moment.date().isoformat())[0].startswith("In order from batch 2 through batch 2")
    assert say("--since", "2")[2] == 0
    assert say("--since", "1")[2] == 1
    assert say("--since", (moment + timedelta(days=2)).isoformat())[0] == "Nothing is sealed since then.\n"
    with pytest.raises(CommandError, match="--since is a date"):
        call_command("verify_audit", "--since", "yesterday")


def test_record_belongs_to_the_seal_of_its_event(alice: Person, clock: DatabaseClock) -> None:
    task_id = completed(alice)
    clock.advance(timedelta(days=1))
    store.expire()
    sealed(clock)

    with guards_off():
        Expiration.objects.filter(task_id=task_id).update(tool="other")

    broken = verify().broken
    assert broken is not None
    assert broken.row == Event.objects.get(kind="expired").id


OTHER_VALUES = {
    "UUIDField": "gen_random_uuid()",
    "BigIntegerField": "coalesce({column}, 0) + 1",
    "PositiveIntegerField": "{column} + 1",
    "TextField": "{column} || 'x'",
    "BooleanField": "NOT {column}",
    "DateTimeField": "coalesce({column}, tasks_now()) + interval '1 microsecond'",
    "JSONField": "jsonb_build_array({column}, 1)",
    "BinaryField": "sha256({column})",
}


@pytest.mark.parametrize("field", Expiration._meta.concrete_fields, ids=lambda field: str(field.name))
def test_no_column_of_a_record_can_be_changed_unseen(
    alice: Person, clock: DatabaseClock, field: models.Field[object, object]
) -> None:
    """section 2 item 3: a new column has to be sealed as well."""
    completed(alice)
    clock.advance(timedelta(days=1))
    store.expire()
    sealed(clock)
    untouched = verify().broken

    other = OTHER_VALUES[field.get_internal_type()].format(column=field.column)
    with rolled_back(), guards_off():
        sql(f"UPDATE tasks_expiration SET {field.column} = {other}")
        broken = verify().broken

    assert untouched is None
    assert broken is not None
    assert broken.row == Event.objects.get(kind="expired").id


def test_a_batch_that_only_claims_to_have_left_is_named(clock: DatabaseClock, db: None) -> None:
    """Whoever deletes the events of yesterday cannot pass them off as retired."""
    for _ in range(3):
        log("a")
        sealed(clock)
    with guards_off():
        sql("DELETE FROM tasks_event WHERE id <= (SELECT last_id FROM tasks_seal WHERE number = 2) AND id >= "
            "(SELECT first_id FROM tasks_seal WHERE number = 2)")  # fmt: skip
        sql("UPDATE tasks_seal SET retired_at = tasks_now(), leaves = '' WHERE number = 2")

    gone = "its events are gone, and the log does not say that they retired"
    assert verify().broken == chain.Break(2, None, gone)
    # An entry about another range does not cover it either.
    record_event("retired", by=SYSTEM, detail={"batch": 2, "first": 0, "last": 0})
    assert verify().broken == chain.Break(2, None, gone)


def test_a_batch_that_retires_while_it_is_looked_at_is_in_order(
    clock: DatabaseClock, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        log("a")
        sealed(clock)
    clock.advance(timedelta(days=800))
    read = chain._seals

    def meanwhile(first: int) -> Iterator[tuple[Any, ...]]:
        found = list(read(first))
        store.retire()
        yield from found

    monkeypatch.setattr(chain, "_seals", meanwhile)

    verdict = verify()

    assert (verdict.broken, verdict.batch) == (None, 2)
    assert Seal.objects.filter(retired_at__isnull=False).count() == 1


def test_a_chain_that_was_cut_off_is_broken_wherever_somebody_looks(clock: DatabaseClock, db: None) -> None:
    """Also after new batches have grown in the place of those that are gone."""
    for _ in range(3):
        log("a")
        sealed(clock)
    assert say()[2] == 0
    with guards_off():
        sql("DELETE FROM tasks_event WHERE id >= (SELECT first_id FROM tasks_seal WHERE number = 2)")
        sql("DELETE FROM tasks_seal WHERE number >= 2")

    broken = verify_now(by=SYSTEM).broken
    assert broken == chain.Break(2, None, "batches that were verified before are gone")
    assert say("--since", "9")[1:] == ("Broken: batch 2: batches that were verified before are gone.\n", 1)
    for _ in range(2):
        log("b")
        sealed(clock)
    look_around()

    assert (chain_state().broken, chain_state().verified) == (3, 2)
    assert say() == ("", "Broken: batch 3: this batch is another than the one that was verified before.\n", 1)
    assert Event.objects.filter(kind="chain_broken").count() == 3


@pytest.mark.parametrize("is_watched", [True, False])
def test_command_notes_and_records_its_look_also_on_a_terminal(
    clock: DatabaseClock, db: None, is_watched: bool
) -> None:
    log("a")
    sealed(clock)

    call_command("verify_audit", stdout=StringIO(), stderr=Terminal(is_watched))

    assert chain_state().verified == 1
    assert Event.objects.get(kind="chain_verified").actor == {"kind": "system", "via": "verify_audit"}


def test_look_at_the_end_does_not_vouch_for_the_beginning(clock: DatabaseClock, db: None) -> None:
    for _ in range(3):
        log("a")
        sealed(clock)

    out, _, code = say("--since", "3")

    assert (out.splitlines()[0], code) == (f"In order from batch 3 through batch 3, event {verify().event}.", 0)
    assert chain_state().verified == 0
    assert Event.objects.get(kind="chain_verified").detail == {"first": 3, "batch": 3, "event": verify().event}


def test_nothing_is_sealed_since_a_batch_that_there_is_not_yet(clock: DatabaseClock, db: None) -> None:
    log("a")
    sealed(clock)

    assert say("--since", "7") == ("Nothing is sealed since then.\n", "", 0)
    assert not Event.objects.filter(kind="chain_verified").exists()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            "UPDATE tasks_policyversion SET rules = '[]' WHERE version = 1",
            "version 1 of the policy is not what was saved",
        ),
        (
            "UPDATE tasks_policyversion SET author = '{}' WHERE version = 2",
            "version 2 of the policy is not what was saved",
        ),
        ("DELETE FROM tasks_policyversion WHERE version = 1", "version 1 of the policy is gone"),
        (
            "INSERT INTO tasks_policyversion (version, rules, author) VALUES (3, '[]', '{}')",
            "version 3 of the policy is one that nobody saved",
        ),
    ],
)
def test_versions_of_the_policy_are_what_the_log_says(clock: DatabaseClock, db: None, change: str, what: str) -> None:
    """section 2 item 3: the rules of a version are sealed with the entry of its saving."""
    by = Actor.system(via="test", reason="a test")
    policy.save([Rule(tool="*", purge_after=3600)], base=0, by=by)
    policy.save([Rule(tool="*", purge_after=7200)], base=1, by=by)
    sealed(clock)
    untouched = verify().broken

    with guards_off():
        sql(change)
    look_around()

    broken = verify().broken
    assert untouched is None
    assert broken is not None
    assert broken.what == what
    assert chain_state().what == what


def test_version_whose_entry_has_retired_is_in_order(clock: DatabaseClock, db: None) -> None:
    policy.save([Rule(tool="*", purge_after=3600)], base=0, by=Actor.system(via="test", reason="a test"))
    sealed(clock)
    clock.advance(timedelta(days=800))
    assert store.retire() == 1

    assert verify().broken is None


class Terminal(StringIO):
    """A screen, before which somebody sits or not."""

    def __init__(self, is_watched: bool) -> None:
        super().__init__()
        self.is_watched = is_watched

    def isatty(self) -> bool:
        """Whether somebody watches."""
        return self.is_watched


def test_note_is_one_row(clock: DatabaseClock, db: None) -> None:
    log("a")
    sealed(clock)
    look_around()
    verify_now(by=SYSTEM)

    assert ChainCheck.objects.count() == 1
    assert scalar("SELECT count(*) FROM tasks_event WHERE kind = 'chain_verified'") == 1
    assert connection.in_atomic_block
