"""Asking and answering: what asking writes, which answers count, and what wakes the task."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from django.db import transaction
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import AnswerTooLarge, DuplicateQuestion, InvalidAnswer, LeaseLost, NotAllowed, NotFound
from tasks_app.domain.identity import Actor, ActorKind, new_task_id
from tasks_app.domain.questions import AnswerAction, QuestionKind, QuestionState, Via
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tasks_app.store.questions import Answer, NewQuestion
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    ACCEPT,
    DECLINE,
    DISMISS,
    DONE,
    PORT,
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
    sql,
)

pytestmark = pytest.mark.django_db

TWO = (ask("one"), ask("two", position=1))
TEXT = {"requestedSchema": {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}}


def test_asking_is_one_write_that_ends_the_attempt(alice: Person) -> None:
    """check 69, check 71: requests and status together."""
    claim = claimed(alice)

    task = store.suspend(claim, TWO)

    asked = queries.questions(claim.task_id)
    assert (task.status, task.open_questions) == (Status.INPUT_REQUIRED, 2)
    assert (task.active_attempt, task.wake_at) == (None, None)
    assert [(q.name, q.state, q.request, q.answer) for q in asked] == [
        ("one", QuestionState.OPEN, PORT, None),
        ("two", QuestionState.OPEN, PORT, None),
    ]
    assert all(q.key.startswith(f"{q.name}-") and len(q.key) == len(q.name) + 9 for q in asked)
    assert queries.attempts(claim.task_id)[0].outcome == "suspended"
    assert sorted(kinds(claim.task_id)) == sorted(
        ["created", "attempt_started", "to input_required", "ttl", "asked", "asked", "attempt_ended"]
    )


def test_task_that_never_asked_has_no_questions(alice: Person) -> None:
    """check 71."""
    assert queries.questions(created(alice).id) == []


def test_name_is_never_used_twice(alice: Person) -> None:
    """check 69: and nothing of the second asking stays."""
    task_id = asking(alice)
    answer(task_id, alice)
    second = again()

    with pytest.raises(DuplicateQuestion), transaction.atomic():
        store.suspend(second, [ask("fresh"), ask("port")])

    assert look(task_id).status is Status.WORKING
    assert [q.name for q in queries.questions(task_id)] == ["port"]
    assert store.complete(second, result=DONE).status is Status.COMPLETED


def test_two_questions_of_one_name_are_refused(alice: Person) -> None:
    """check 69."""
    claim = claimed(alice)

    with pytest.raises(DuplicateQuestion), transaction.atomic():
        store.suspend(claim, [ask("same"), ask("same", position=1)])

    assert store.holds(claim) is True


def test_task_that_waits_or_has_ended_cannot_ask(alice: Person) -> None:
    """check 69."""
    waiting = claimed(alice)
    store.suspend(waiting, [ask()])
    ended = claimed(alice)
    store.complete(ended, result=DONE)

    for claim in (waiting, ended):
        with pytest.raises(LeaseLost):
            store.suspend(claim, [ask("more")])

    assert [look(claim.task_id).status.value for claim in (waiting, ended)] == ["input_required", "completed"]


def test_answer_is_recorded_and_wakes_the_task(alice: Person, clock: DatabaseClock) -> None:
    """check 70: complete."""
    task_id = asking(alice)
    now = clock.advance(timedelta(minutes=1))

    done = answer(task_id, alice)

    [asked] = queries.questions(task_id)
    assert (done.recorded, done.ignored, done.task.status) == ((asked.key,), (), Status.WORKING)
    assert (done.task.wake_at, done.task.open_questions) == (now, 0)
    assert (asked.state, asked.action, asked.answer) == (
        QuestionState.ANSWERED,
        AnswerAction.ACCEPT,
        {"action": "accept", "content": {"port": 80}},
    )
    assert (asked.answered_by, asked.answered_via, asked.closed_at) == (alice.acts().as_json(), "console", now)
    assert store.history(again()).questions == (asked,)


def test_partial_answer_stays_and_the_task_waits_on(alice: Person) -> None:
    """check 70: partial persists."""
    task_id = asking(alice, *TWO)

    first = answer(task_id, alice, {key(task_id, "one"): ACCEPT})
    between = (first.task.status, first.task.open_questions, first.task.wake_at)
    second = answer(task_id, alice, {key(task_id, "two"): DECLINE})

    assert between == (Status.INPUT_REQUIRED, 1, None)
    assert (second.task.status, second.task.open_questions) == (Status.WORKING, 0)
    assert [q.action for q in queries.questions(task_id)] == [AnswerAction.ACCEPT, AnswerAction.DECLINE]


def test_both_answers_at_once_wake_the_task_once(alice: Person) -> None:
    """check 70."""
    task_id = asking(alice, *TWO)

    done = answer(task_id, alice, {key(task_id, "one"): ACCEPT, key(task_id, "two"): DISMISS})

    assert set(done.recorded) == {key(task_id, "one"), key(task_id, "two")}
    assert kinds(task_id).count("to working") == 1


def test_first_answer_stays_when_it_is_given_again(alice: Person, bo: Person) -> None:
    """check 70: a replay keeps the first answer, and is told whose it was."""
    task_id = asking(alice, *TWO)
    one = key(task_id, "one")
    answer(task_id, alice, {one: ACCEPT})

    late = answer(task_id, alice, {one: Answer(AnswerAction.ACCEPT, {"port": 443})}, by=bo.operates(), owner_id=None)

    [ignored] = late.ignored
    assert (late.recorded, late.task.open_questions) == ((), 1)
    assert ignored.question is not None
    assert (ignored.key, ignored.question.answer) == (one, {"action": "accept", "content": {"port": 80}})
    assert ignored.question.answered_by == alice.acts().as_json()


def test_invalid_replay_of_an_answered_question_is_only_ignored(alice: Person) -> None:
    """check 70: what is closed is not judged again."""
    task_id = asking(alice, *TWO)
    one = key(task_id, "one")
    answer(task_id, alice, {one: ACCEPT})

    late = answer(task_id, alice, {one: Answer(AnswerAction.ACCEPT, {"port": "no"})})

    assert [each.key for each in late.ignored] == [one]


def test_answer_that_accepts_nothing_never_resumes(alice: Person) -> None:
    """check 70."""
    task_id = asking(alice)
    before = look(task_id)

    done = answer(task_id, alice, {"unknown-abcdefgh": ACCEPT})
    nothing = answer(task_id, alice, {})

    assert [(each.key, each.question) for each in done.ignored] == [("unknown-abcdefgh", None)]
    assert (done.recorded, nothing.recorded, nothing.ignored) == ((), (), ())
    assert look(task_id) == before


def test_unknown_key_beside_a_known_one_is_ignored(alice: Person) -> None:
    """check 70: accepted and ignored in one delivery."""
    task_id = asking(alice)

    done = answer(task_id, alice, {"unknown": ACCEPT, key(task_id): ACCEPT})

    assert (done.recorded, [each.key for each in done.ignored]) == ((key(task_id),), ["unknown"])
    assert done.task.status is Status.WORKING


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "", "x" * 10_000])
def test_key_that_no_question_could_have_is_ignored(alice: Person, odd: str) -> None:
    """check 70: a key comes from a client, so it may hold anything."""
    task_id = asking(alice)

    done = answer(task_id, alice, {odd: ACCEPT, key(task_id): ACCEPT})

    assert (done.recorded, [each.key for each in done.ignored]) == ((key(task_id),), [odd])


def test_key_of_another_task_is_unknown(alice: Person) -> None:
    one, other = asking(alice), asking(alice)

    done = answer(one, alice, {key(other): ACCEPT})

    assert (done.recorded, done.ignored[0].question) == ((), None)
    assert queries.questions(other)[0].state is QuestionState.OPEN


def test_answer_to_a_task_that_does_not_wait_is_ignored(alice: Person) -> None:
    """check 70: late answers change nothing."""
    task_id = asking(alice)
    answer(task_id, alice)
    running = look(task_id)
    late = answer(task_id, alice)
    store.cancel(task_id, owner_id=alice.id, by=alice.acts())
    later = answer(task_id, alice)

    assert (late.recorded, late.task, later.recorded) == ((), running, ())
    assert later.task.status is Status.CANCELLED
    assert answer(completed(alice), alice, {"k": ACCEPT}).task.status is Status.COMPLETED


@pytest.mark.parametrize("content", [{"port": "eighty"}, {"port": 0}, {}, None, {"port": 80, "host": "x"}, []])
def test_answer_that_does_not_fit_records_nothing_at_all(alice: Person, content: object) -> None:
    """check 70: also not the valid one beside it."""
    task_id = asking(alice, *TWO)
    before = look(task_id)
    given = {key(task_id, "one"): ACCEPT, key(task_id, "two"): Answer(AnswerAction.ACCEPT, content)}

    with pytest.raises(InvalidAnswer):
        answer(task_id, alice, given)

    assert look(task_id) == before
    assert all(q.state is QuestionState.OPEN for q in queries.questions(task_id))


def test_fields_that_nobody_asked_for_are_dropped_from_a_clients_answer(alice: Person) -> None:
    task_id = asking(alice)

    answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"port": 80, "x": 1})}, via=Via.MCP)

    assert queries.questions(task_id)[0].answer == {"action": "accept", "content": {"port": 80}}


@pytest.mark.parametrize("action", [AnswerAction.DECLINE, AnswerAction.CANCEL])
def test_declining_and_dismissing_need_no_content(alice: Person, action: AnswerAction) -> None:
    task_id = asking(alice)

    done = answer(task_id, alice, {key(task_id): Answer(action, {"port": "ignored"})})

    assert done.task.status is Status.WORKING
    assert queries.questions(task_id)[0].answer == {"action": action.value}


def test_answer_above_the_limit_is_refused(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_ANSWER_BYTES = 20
    task_id = asking(alice, ask(request=TEXT))

    with pytest.raises(AnswerTooLarge):
        answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"t": "x" * 13})})

    assert answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"t": "x" * 12})}).recorded


@pytest.mark.parametrize("text", ["nul \x00", "lone \ud800", "tail \udfff", "\U0001f600"])
def test_any_text_that_json_can_carry_survives_in_questions_and_answers(alice: Person, text: str) -> None:
    task_id = asking(alice, ask(request={"message": text, **TEXT}))

    answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"t": text})})

    [asked] = queries.questions(task_id)
    assert asked.request["message"] == text
    assert asked.answer == {"action": "accept", "content": {"t": text}}


def test_answer_event_has_key_action_and_digest_but_no_content(alice: Person) -> None:
    task_id = asking(alice, ask(request=TEXT))

    answer(task_id, alice, {key(task_id): Answer(AnswerAction.ACCEPT, {"t": "secret"})})

    event = last_event(task_id, "answered")
    stored = sql("SELECT answer FROM tasks_question")[0][0]
    assert event.actor == alice.acts().as_json()
    assert event.detail == {
        "key": key(task_id),
        "action": "accept",
        "via": "console",
        "digest": hashlib.sha256(stored.encode()).hexdigest(),
    }
    assert "secret" not in json.dumps([dict(each.detail) for each in queries.timeline(task_id)])


def test_operator_answers_for_the_owner_with_a_reason(alice: Person, bo: Person) -> None:
    task_id = asking(alice)

    with pytest.raises(NotAllowed, match="reason"):
        answer(task_id, bo, owner_id=None, by=bo.operates(reason=" "))
    done = answer(task_id, bo, owner_id=None, by=bo.operates(reason="owner is away"))

    assert done.recorded == (key(task_id),)
    assert last_event(task_id, "answered").actor["reason"] == "owner is away"


def test_operators_answer_nothing_where_the_server_says_so(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_OPERATORS_ANSWER = False
    task_id, own = asking(alice), asking(bo)

    with pytest.raises(NotAllowed, match="only the owner"):
        answer(task_id, bo, owner_id=None, by=bo.operates())
    answer(own, bo, by=bo.operates(reason=None))

    assert [look(each).status.value for each in (task_id, own)] == ["input_required", "working"]


def test_client_answers_for_its_owner(alice: Person) -> None:
    task_id = asking(alice)
    client = Actor(ActorKind.CLIENT, id=alice.id, credential=3, via="mcp")

    answer(task_id, alice, by=client, via=Via.MCP)

    assert last_event(task_id, "answered").actor == client.as_json()
    assert queries.questions(task_id)[0].answered_via == "mcp"


def test_strangers_and_unknown_tasks_are_not_found(alice: Person, eve: Person, clock: DatabaseClock) -> None:
    """check 60, check 91, check 98."""
    task_id = asking(alice, ttl_ms=1000)
    given = {key(task_id): ACCEPT}

    with pytest.raises(NotFound):
        answer(task_id, eve, given)
    with pytest.raises(NotFound):
        answer(new_task_id(), alice, given)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(NotFound):
        answer(task_id, alice, given)


def test_other_kinds_of_question_are_kept_and_answered(alice: Person) -> None:
    url = {"mode": "url", "message": "Pay", "url": "https://pay.example"}
    roots = Answer(AnswerAction.ACCEPT, {"roots": [{"uri": "file:///srv"}]})
    task_id = asking(
        alice,
        NewQuestion(name="pay", request=url, kind=QuestionKind.URL),
        NewQuestion(name="roots", request={}, kind=QuestionKind.ROOTS, position=1),
    )

    answer(task_id, alice, {key(task_id, "pay"): Answer(AnswerAction.ACCEPT), key(task_id, "roots"): roots})

    assert [(q.kind, q.answer) for q in queries.questions(task_id)] == [
        (QuestionKind.URL, {"action": "accept"}),
        (QuestionKind.ROOTS, roots.as_json()),
    ]
