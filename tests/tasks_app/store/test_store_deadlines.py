"""The time of a question: what asking does to the task's own time, and what a deadline does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import AnswerAction, QuestionState
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    ACCEPT,
    again,
    answer,
    ask,
    asking,
    claimed,
    key,
    kinds,
    last_event,
    look,
    sql,
)

pytestmark = pytest.mark.django_db

WEEK = timedelta(days=7)
HOUR = timedelta(hours=1)


def test_asking_raises_the_lifetime_above_the_deadline(alice: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))
    claim = claimed(alice)
    before = look(claim.task_id).expires_at

    task = store.suspend(claim, [ask()])

    event = last_event(claim.task_id, "ttl")
    assert (before, task.expires_at) == (now + HOUR, now + WEEK + HOUR)
    assert queries.questions(claim.task_id)[0].expires_at == now + WEEK
    assert event.actor["kind"] == "worker"
    assert (set(event.detail), event.detail["why"]) == ({"from", "to", "why"}, "asked")


def test_longest_of_several_deadlines_counts(alice: Person, clock: DatabaseClock, settings: Settings) -> None:
    settings.TASKDECK_QUESTION_TTL = 3600
    now = clock.advance(timedelta(0))

    task_id = asking(alice, ask("short", seconds=60), ask("long", seconds=7200, position=1))

    assert look(task_id).expires_at == now + timedelta(seconds=7200) + HOUR


def test_asking_never_shortens_the_lifetime(alice: Person, bo: Person) -> None:
    claim = claimed(alice)
    extended = store.extend(claim.task_id, more=timedelta(days=20), owner_id=alice.id, by=alice.acts())

    assert store.suspend(claim, [ask()]).expires_at == extended.expires_at


@pytest.mark.parametrize("fixed", [{"ttl_ms": 60_000}, {"tool_ttl_ms": 60_000}, {"ttl_ms": 60_000, "waiting": True}])
def test_lifetime_that_was_set_explicitly_is_not_raised(
    alice: Person, clock: DatabaseClock, fixed: dict[str, object]
) -> None:
    now = clock.advance(timedelta(0))

    task_id = asking(alice, **fixed)

    assert look(task_id).expires_at == now + timedelta(minutes=1)
    assert queries.questions(task_id)[0].expires_at == now + timedelta(minutes=1)
    assert "ttl" not in kinds(task_id)


def test_lifetime_of_a_hidden_task_is_not_raised(alice: Person, clock: DatabaseClock) -> None:
    now = clock.advance(timedelta(0))

    assert look(asking(alice, waiting=True)).expires_at == now + HOUR


def test_prompt_is_still_answerable_after_six_days_under_the_defaults(alice: Person, clock: DatabaseClock) -> None:
    """section 2 item 6: the sweeps run all the time, and the task goes on as if it had been a minute."""
    task_id = asking(alice)

    for _ in range(6 * 24):
        clock.advance(HOUR)
        assert (store.expire_questions(), store.expire(), store.purge(), store.reap()) == (0, 0, 0, 0)
    answered = answer(task_id, alice)
    done = store.complete(again(), result={"content": []})

    assert answered.recorded == (key(task_id, "port"),)
    assert (done.id, done.outcome) == (task_id, Outcome.RESULT)


def test_each_clock_of_a_task_counts_for_itself(alice: Person, clock: DatabaseClock) -> None:
    """section 2 item 6: the deadline of the question, the time of the task, and what stays after the end."""
    start = clock.advance(timedelta(0))
    task_id = asking(alice, ask(seconds=2 * 3600))
    ends = {"question": queries.questions(task_id)[0].expires_at - start, "task": look(task_id).expires_at - start}
    clock.advance(2 * HOUR)
    store.expire_questions()
    woken = look(task_id)
    clock.advance(HOUR - timedelta(seconds=1))
    store.complete(again(), result={"content": []})

    assert ends == {"question": 2 * HOUR, "task": 3 * HOUR}
    assert (woken.status, woken.expires_at) == (Status.WORKING, start + 3 * HOUR)
    assert look(task_id).expires_at == start + 3 * HOUR - timedelta(seconds=1) + timedelta(minutes=5)


def test_answer_after_the_deadline_is_ignored_although_nobody_swept(alice: Person, clock: DatabaseClock) -> None:
    task_id = asking(alice, ask(seconds=60))
    clock.advance(timedelta(seconds=60))

    late = answer(task_id, alice)

    assert (late.recorded, [each.key for each in late.ignored]) == ((), [key(task_id)])
    assert queries.open_questions(task_id) == []
    assert look(task_id).status is Status.INPUT_REQUIRED


def test_deadline_without_a_default_expires_the_question_and_wakes_the_task(
    alice: Person, clock: DatabaseClock
) -> None:
    task_id = asking(alice, ask(seconds=60))
    assert store.expire_questions() == 0
    clock.advance(timedelta(seconds=60))

    closed = store.expire_questions()

    [asked] = queries.questions(task_id)
    assert (closed, store.expire_questions()) == (1, 0)
    assert (asked.state, asked.answer, asked.action) == (QuestionState.EXPIRED, None, None)
    assert look(task_id).status is Status.WORKING
    assert last_event(task_id, "question_expired").actor == {"kind": "engine", "via": "engine"}
    assert store.history(again()).questions == (asked,)


def test_deadline_gives_the_default_answer(alice: Person, clock: DatabaseClock) -> None:
    default = {"action": "accept", "content": {"port": 8080}}
    task_id = asking(alice, ask(seconds=60, default=default))
    clock.advance(timedelta(seconds=61))

    store.expire_questions()

    [asked] = queries.questions(task_id)
    assert (asked.state, asked.action, asked.answer) == (QuestionState.ANSWERED, AnswerAction.ACCEPT, default)
    assert (asked.answered_via, asked.answered_by) == ("deadline", {"kind": "engine", "via": "engine"})
    assert look(task_id).status is Status.WORKING


def test_deadline_of_one_of_two_questions_leaves_the_task_waiting(alice: Person, clock: DatabaseClock) -> None:
    task_id = asking(alice, ask("one", seconds=60), ask("two", position=1))
    clock.advance(timedelta(seconds=60))

    assert store.expire_questions() == 1
    waiting = look(task_id)
    answer(task_id, alice, {key(task_id, "two"): ACCEPT})

    assert (waiting.status, waiting.open_questions) == (Status.INPUT_REQUIRED, 1)
    assert look(task_id).status is Status.WORKING


def test_deadline_that_closes_several_at_once_wakes_the_task_once(alice: Person, clock: DatabaseClock) -> None:
    task_id = asking(alice, ask("one", seconds=60), ask("two", seconds=60, position=1, default={"action": "decline"}))
    clock.advance(timedelta(seconds=60))

    assert store.expire_questions() == 2
    assert kinds(task_id).count("to working") == 1
    assert [q.state for q in queries.questions(task_id)] == [QuestionState.EXPIRED, QuestionState.ANSWERED]


@pytest.mark.parametrize("default", [None, {"action": "decline"}])
def test_deadline_changes_nothing_once_the_task_itself_is_past_its_time(
    alice: Person, clock: DatabaseClock, default: dict[str, object] | None
) -> None:
    """check 91: with a fixed lifetime both end at once; then the task expires, and its record says what was open."""
    task_id = asking(alice, ask(default=default), ttl_ms=60_000)
    since = queries.questions(task_id)[0].created_at
    clock.advance(timedelta(minutes=1))

    closed = store.expire_questions()
    expired = store.expire()

    assert (closed, expired) == (0, 1)
    assert sql("SELECT outcome FROM tasks_task") == [(Outcome.EXPIRED.value,)]
    assert queries.questions(task_id)[0].state is QuestionState.WITHDRAWN
    [[left_open, opened]] = sql(
        "SELECT unanswered -> 0 ->> 'key', (unanswered -> 0 ->> 'since')::timestamptz FROM tasks_expiration"
    )
    assert (left_open, opened) == (key(task_id), since)


def test_deadline_in_a_held_task_still_counts(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task_id = asking(alice, ttl_ms=60_000)
    store.hold(task_id, held=True, owner_id=None, by=bo.operates())
    clock.advance(timedelta(minutes=2))

    assert store.expire_questions() == 1
    assert look(task_id).status is Status.WORKING


def test_question_of_a_held_task_past_its_fixed_time_is_open(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    """Nothing expires while it is held, so there is time for an answer."""
    claim = claimed(alice, ttl_ms=60_000)
    store.hold(claim.task_id, held=True, owner_id=None, by=bo.operates())
    now = clock.advance(timedelta(seconds=30))
    store.heartbeat(claim)
    now = clock.advance(timedelta(seconds=40))

    store.suspend(claim, [ask(seconds=600)])

    [asked] = queries.open_questions(claim.task_id)
    assert asked.expires_at == now + timedelta(minutes=10)
    assert answer(claim.task_id, alice).recorded == (asked.key,)
