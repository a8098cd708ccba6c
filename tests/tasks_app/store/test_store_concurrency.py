"""Many at once, on connections of their own: one wins, nobody waits for nothing, no limit is passed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import LeaseLost, QuotaExceeded, TaskdeckError
from tasks_app.domain.identity import OwnerKind
from tasks_app.domain.questions import AnswerAction
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tasks_app.store.questions import Answer
from tests.conftest import DatabaseClock, Person
from tests.racing import race
from tests.tasks_app.store.life import (
    DONE,
    WORKER,
    answer,
    ask,
    asking,
    claimed,
    completed,
    created,
    key,
    kinds,
    locked_elsewhere,
    look,
    scalar,
    sql,
    together,
)

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 200
LIVE = "SELECT count(*) FROM tasks_task WHERE owner_id = %(id)s AND finished_at IS NULL"


def create(owner: Person, **values: Any) -> store.Created:
    """A call that becomes a task."""
    return store.create(store.NewTask(owner_id=owner.id, tool="echo", **values))


def past_its_time(*task_ids: UUID) -> None:
    """As if these tasks had been created long ago; all connections see it."""
    with_actor = "SELECT set_config('tasks.actor', '{\"kind\": \"system\"}', true)"
    moved = "UPDATE tasks_task SET expires_at = created_at + interval '1 microsecond' WHERE id = ANY(%(ids)s)"
    sql(f"WITH who AS MATERIALIZED ({with_actor}) {moved} AND EXISTS (SELECT 1 FROM who)", ids=list(task_ids))


@contextmanager
def watching(look_once: Callable[[], None]) -> Iterator[None]:
    """Somebody looks again and again while the block runs, and once more after it."""
    is_over = threading.Event()

    def watch() -> None:
        try:
            while not is_over.is_set():
                look_once()
            look_once()
        finally:
            connections.close_all()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(20)


def test_identical_creates_make_one_task(alice: Person) -> None:
    """Twenty at once with one key: one row, and one of them is new."""
    made = together(*[partial(create, alice, key="k", arguments={"a": 1})] * 20)

    assert len({each.task.id for each in made}) == 1
    assert Counter(each.is_new for each in made) == {True: 1, False: 19}
    assert scalar("SELECT count(*) FROM tasks_task") == 1


def test_quota_is_never_passed(alice: Person, settings: Settings) -> None:
    """check 96: 32 clients against 20 places, watched all the time."""
    settings.TASKDECK_LIVE_TASKS = 20
    seen: list[int] = []

    with watching(lambda: seen.append(int(scalar(LIVE, id=alice.id)))):
        outcomes = together(*[partial(create, alice)] * 32)

    made = [each for each in outcomes if isinstance(each, store.Created)]
    refused = [each for each in outcomes if isinstance(each, QuotaExceeded)]
    assert (len(made), len(refused)) == (20, 12)
    assert max(seen) == seen[-1] == 20
    slots = sql("SELECT slot FROM tasks_task ORDER BY slot")
    assert [slot for (slot,) in slots] == list(range(1, 21))


def test_quota_is_never_passed_while_tasks_come_and_go(alice: Person, settings: Settings) -> None:
    """check 96."""
    settings.TASKDECK_LIVE_TASKS = 5

    def come_and_go() -> int:
        most = 0
        for _ in range(15):
            try:
                task = create(alice).task
            except QuotaExceeded:
                continue
            most = max(most, int(scalar(LIVE, id=alice.id)))
            store.cancel(task.id, owner_id=alice.id, by=alice.acts())
        return most

    mosts = together(*[come_and_go] * 8)

    assert all(isinstance(most, int) for most in mosts), mosts
    assert 1 <= max(mosts) <= 5
    assert scalar(LIVE, id=alice.id) == 0


def test_one_place_past_its_time_is_given_away_once(alice: Person, settings: Settings) -> None:
    """check 91, check 96."""
    settings.TASKDECK_LIVE_TASKS = 1
    past_its_time(created(alice).id)

    outcomes = together(*[partial(create, alice)] * 6)

    assert Counter(type(each) for each in outcomes) == {store.Created: 1, QuotaExceeded: 5}
    assert scalar("SELECT count(*) FROM tasks_expiration") == 1


def test_key_of_a_task_past_its_time_is_given_away_once(alice: Person) -> None:
    past_its_time(created(alice, key="k").id)

    outcomes = together(*[partial(create, alice, key="k")] * 6)

    assert Counter(each.is_new for each in outcomes) == {True: 1, False: 5}
    assert len({each.task.id for each in outcomes}) == 1


@contextmanager
def pair(*sides: Callable[[Any], Any]) -> Iterator[Callable[[Any], list[Any]]]:
    """Two sides on two connections that stay open; each call lets both go at once and gives what they said."""
    start, end = threading.Barrier(len(sides) + 1), threading.Barrier(len(sides) + 1)
    subject: list[Any] = [None]
    outcomes: list[Any] = [None] * len(sides)

    def serve(index: int, side: Callable[[Any], Any]) -> None:
        try:
            connection.ensure_connection()
            while True:
                start.wait(20)
                if subject[0] is None:
                    return
                try:
                    outcomes[index] = side(subject[0])
                except TaskdeckError as error:
                    outcomes[index] = error
                end.wait(20)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=serve, args=each) for each in enumerate(sides)]
    for thread in threads:
        thread.start()

    def go(what: Any) -> list[Any]:
        subject[0] = what
        start.wait(20)
        end.wait(20)
        return list(outcomes)

    try:
        yield go
    finally:
        subject[0] = None
        start.wait(20)
        for thread in threads:
            thread.join(20)


def test_cancel_and_complete_have_one_winner(alice: Person) -> None:
    """check 74: 200 rounds, two connections, a barrier."""
    wins: Counter[str] = Counter()

    def cancel(claim: store.Claim) -> bool:
        return store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts()).happened

    with pair(cancel, lambda claim: store.complete(claim, result=DONE)) as go:
        for _ in range(ROUNDS):
            claim = claimed(alice)
            cancelled, recorded = go(claim)
            status = look(claim.task_id).status
            if cancelled:
                assert (status, type(recorded)) == (Status.CANCELLED, LeaseLost)
                store.stopped(claim)
            else:
                assert (status, recorded.status) == (Status.COMPLETED, Status.COMPLETED)
            wins[status.value] += 1

    assert sum(wins.values()) == ROUNDS
    assert scalar("SELECT count(*) FROM tasks_event WHERE to_status IN ('completed', 'cancelled')") == ROUNDS


def test_two_cancels_have_one_winner(alice: Person) -> None:
    """check 74."""

    def cancel(task_id: UUID) -> bool:
        return store.cancel(task_id, owner_id=alice.id, by=alice.acts()).happened

    with pair(cancel, cancel) as go:
        for _ in range(ROUNDS // 4):
            assert sorted(go(created(alice).id)) == [False, True]


def test_two_answers_have_one_winner_and_both_know_who(alice: Person) -> None:
    """check 70, check 74."""

    def say(port: int, task_id: UUID) -> store.Answered:
        return answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"port": port})})

    with pair(partial(say, 1), partial(say, 2)) as go:
        for _ in range(ROUNDS // 4):
            # The other question keeps the task waiting: only the question itself says that it was answered.
            task_id = asking(alice, ask(), ask("other", position=1))
            said = go(task_id)
            [winner] = [port for port, each in zip((1, 2), said, strict=True) if each.recorded]
            [late] = [each.ignored for each in said if not each.recorded]
            kept = queries.questions(task_id)[0].answer
            assert kept == {"action": "accept", "content": {"port": winner}}
            assert late[0].question.answer == kept
            assert kinds(task_id).count("answered") == look(task_id).open_questions == 1
            store.cancel(task_id, owner_id=alice.id, by=alice.acts())


def test_no_task_is_claimed_by_two(alice: Person, bo: Person) -> None:
    tasks = {created(owner).id for owner in (alice, bo) for _ in range(20)}

    def drain(worker: str) -> list[UUID]:
        found = []
        while claim := store.claim_next(store.Claimant(worker)):
            found.append(claim.task_id)
        return found

    drained = together(*[partial(drain, f"w{number}") for number in range(6)])

    claims = [task_id for found in drained for task_id in found]
    assert (len(claims), set(claims)) == (40, tasks)
    assert scalar("SELECT count(*) FROM tasks_attempt") == 40


def test_claim_passes_by_a_task_that_somebody_works_on(alice: Person) -> None:
    busy, free = created(alice), created(alice)

    with locked_elsewhere(busy.id):
        first = store.claim_next(WORKER)
        second = store.claim_next(WORKER)

    assert first is not None
    assert (first.task_id, second) == (free.id, None)


@pytest.mark.parametrize("make", [completed, lambda owner: created(owner).id], ids=["finished", "live"])
def test_expiry_passes_by_a_task_that_somebody_works_on(
    alice: Person, clock: DatabaseClock, make: Callable[[Person], UUID]
) -> None:
    """check 97: SKIP LOCKED."""
    busy, _ = make(alice), make(alice)
    clock.advance(timedelta(hours=1))

    with locked_elsewhere(busy):
        meanwhile = store.expire()

    assert (meanwhile, store.expire(), store.expire()) == (1, 1, 0)


def test_purge_passes_by_a_task_that_somebody_works_on(alice: Person, clock: DatabaseClock) -> None:
    """check 97."""
    busy, _ = completed(alice), completed(alice)
    clock.advance(timedelta(hours=1))
    store.expire()
    clock.advance(timedelta(days=8))

    with locked_elsewhere(busy):
        meanwhile = store.purge()

    assert (meanwhile, store.purge(), store.purge()) == (1, 1, 0)


def test_sweeps_at_once_do_the_work_once(alice: Person) -> None:
    """check 64, check 97."""
    past_its_time(*[created(alice).id for _ in range(30)])

    counts = together(*[store.expire] * 4)

    assert sum(counts) == 30
    assert scalar("SELECT count(*) FROM tasks_expiration") == 30
    assert store.expire() == 0


def test_reaper_passes_by_a_task_that_somebody_works_on(alice: Person) -> None:
    claim = claimed(alice)
    store.lease_for(claim, timedelta(seconds=-1))

    with locked_elsewhere(claim.task_id):
        assert store.reap() == 0
    assert store.reap() == 1


@pytest.mark.parametrize("first", ["cancel", "hand over"])
def test_task_is_cancelled_or_handed_over_whoever_waits(alice: Person, first: str) -> None:
    """What comes second sees what came first: a cancelled task is not handed over, and one that was is cancelled."""
    claim = claimed(alice)
    verbs = {
        "cancel": lambda: store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts()).happened,
        "hand over": lambda: store.lease_for(claim, timedelta(hours=1)),
    }
    [second] = verbs.keys() - {first}

    told = race(verbs[first], verbs[second], at=None, blocks=True)

    assert told == ((True, False) if first == "cancel" else (True, True))
    [attempt] = queries.attempts(claim.task_id)
    assert attempt.stop_requested_at is not None
    assert attempt.lease_until < attempt.stop_requested_at + timedelta(minutes=1)
    assert look(claim.task_id).status is Status.CANCELLED


def test_reapers_at_once_count_one_loss(alice: Person) -> None:
    claims = [claimed(alice) for _ in range(5)]
    for claim in claims:
        store.lease_for(claim, timedelta(seconds=-1))

    counts = together(*[store.reap] * 4)

    assert sum(counts) == 5
    assert {look(claim.task_id).losses for claim in claims} == {1}


def test_folds_at_once_count_everything_once(alice: Person) -> None:
    for _ in range(20):
        completed(alice)
    written = scalar("SELECT count(*) FROM tasks_tally")

    folded = together(*[store.fold] * 4)
    rest = store.fold()

    assert sum(folded) + rest == written
    assert store.counts(alice.id) == {"completed": 20}


def test_output_of_two_writers_has_no_gap_and_no_overlap(alice: Person) -> None:
    claim = claimed(alice)

    def write(letter: str) -> None:
        for length in range(1, 21):
            store.write_output(claim, letter * length)

    together(partial(write, "a"), partial(write, "b"))

    chunks = queries.output(claim.task_id)
    places = [chunk.offset for chunk in chunks]
    assert places == [sum(chunk.size for chunk in chunks[:index]) for index in range(40)]
    assert look(claim.task_id).output_bytes == 420


def test_variables_of_two_writers_are_all_there(alice: Person) -> None:
    claim = claimed(alice)

    def write(letter: str) -> None:
        for number in range(10):
            store.set_variables(claim, {f"{letter}{number}": number})

    together(partial(write, "a"), partial(write, "b"))

    assert len(store.set_variables(claim, {})) == 20


def test_owner_made_by_many_at_once_is_one(db: None) -> None:
    """check 101."""
    owners = together(*[partial(store.find_or_make_owner, OwnerKind.USER, subject="new")] * 8)

    assert len(set(owners)) == 1


def test_first_fetch_of_many_at_once_is_one_event(alice: Person) -> None:
    task_id = completed(alice)

    noted = together(*[partial(store.record_fetch, task_id, credential_id=1)] * 8)

    assert Counter(noted) == {True: 1, False: 7}
    assert kinds(task_id).count("first_fetch") == 1


def test_request_does_not_wait_for_another_that_notes_the_same_use(alice: Person) -> None:
    """A connection that hangs in the middle of it would otherwise fail every request of the token."""
    token, credential_id = store.create_token(alice.id, name="laptop", by=alice.acts())

    with locked_elsewhere(credential_id, table="tasks_credential"):
        caller = store.authenticate(token)

    assert caller is not None
    assert scalar("SELECT used_at FROM tasks_credential WHERE id = %(id)s", id=credential_id) is None
