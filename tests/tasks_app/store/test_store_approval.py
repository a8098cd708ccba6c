"""The approval gate: who may pass a task through it, and what becomes of one that nobody let through."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import NotAllowed
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import Audience, QuestionState, Via
from tasks_app.domain.status import Status
from tasks_app.store import queries
from tasks_app.store.questions import Answer, Answered
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import (
    APPROVE,
    DECLINE,
    DISMISS,
    WORKER,
    YES,
    again,
    gated,
    key,
    kinds,
    last_event,
    look,
)

pytestmark = pytest.mark.django_db


def decide(task_id: UUID, by: Actor, answer: Answer = YES, *, via: Via = Via.CONSOLE) -> Answered:
    """Somebody decides on the approval."""
    return store.answer(task_id, {key(task_id, "approval"): answer}, owner_id=None, by=by, via=via)


def text_of(task_id: UUID) -> str:
    """What a client reads of a task that was not approved."""
    result = queries.result(task_id, owner_id=None)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


def test_gated_task_waits_for_an_operator_and_is_not_due(alice: Person) -> None:
    task_id = gated(alice)

    [asked] = queries.questions(task_id)
    task = look(task_id)
    assert (asked.audience, asked.request, asked.state) == (Audience.OPERATOR, APPROVE, QuestionState.OPEN)
    assert (task.status, task.open_questions, task.attempt, task.wake_at) == (Status.INPUT_REQUIRED, 1, 0, None)
    assert store.claim_next(WORKER) is None
    assert last_event(task_id, "asked").actor == {"kind": "owner", "id": alice.id, "via": "console"}


def test_asking_for_approval_raises_the_lifetime_as_any_question_does(alice: Person) -> None:
    task_id = gated(alice)

    task, [asked] = look(task_id), queries.questions(task_id)
    assert task.expires_at - task.created_at == timedelta(days=7, hours=1)
    assert asked.expires_at - task.created_at == timedelta(days=7)


@pytest.mark.parametrize("fixed", [{"ttl_ms": 60_000}, {"tool_ttl_ms": 60_000}])
def test_asking_for_approval_does_not_raise_a_lifetime_that_was_set(alice: Person, fixed: dict[str, int]) -> None:
    task_id = gated(alice, **fixed)

    task, [asked] = look(task_id), queries.questions(task_id)
    assert task.expires_at - task.created_at == timedelta(minutes=1)
    assert asked.expires_at == task.expires_at


def test_accepting_makes_the_task_due(alice: Person, bo: Person) -> None:
    task_id = gated(alice)

    done = decide(task_id, bo.operates(reason=None))

    assert (done.task.status, done.task.attempt) == (Status.WORKING, 0)
    claim = again()
    assert (claim.task_id, claim.number) == (task_id, 1)
    assert last_event(task_id, "answered").actor["id"] == bo.id


def test_approval_is_no_part_of_the_replay(alice: Person, bo: Person) -> None:
    task_id = gated(alice)
    decide(task_id, bo.operates())

    assert store.history(again()).questions == ()


@pytest.mark.parametrize("answer", [DECLINE, DISMISS])
def test_declining_or_dismissing_ends_the_task_before_any_attempt(alice: Person, bo: Person, answer: Answer) -> None:
    task_id = gated(alice)

    done = decide(task_id, bo.operates(reason="change freeze"), answer)

    assert (done.task.status, done.task.outcome) == (Status.COMPLETED, Outcome.TOOL_ERROR)
    assert text_of(task_id) == f"Not approved by operator {bo.id}: change freeze"
    assert queries.attempts(task_id) == []
    assert kinds(task_id) == ["created", "ttl", "asked", "answered", "to completed"]


def test_refusal_stays_readable_for_the_minimum_retention(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task_id = gated(alice, ttl_ms=1000)
    now = clock.advance(timedelta(milliseconds=500))

    decide(task_id, bo.operates(), DECLINE)

    assert look(task_id).expires_at == now + timedelta(minutes=5)


def test_deadline_ends_the_task_as_not_approved(alice: Person, clock: DatabaseClock) -> None:
    task_id = gated(alice)
    clock.advance(timedelta(days=7))

    closed = store.expire_questions()

    task = look(task_id)
    assert (closed, task.status, task.outcome) == (1, Status.COMPLETED, Outcome.TOOL_ERROR)
    assert text_of(task_id).startswith("Not approved")
    assert queries.questions(task_id)[0].state is QuestionState.EXPIRED


@pytest.mark.parametrize("kind", [ActorKind.OWNER, ActorKind.CLIENT, ActorKind.WORKER, ActorKind.SYSTEM])
@pytest.mark.parametrize("via", [Via.CONSOLE, Via.WORKER])
def test_only_an_operator_may_approve(alice: Person, kind: ActorKind, via: Via) -> None:
    task_id = gated(alice)

    with pytest.raises(NotAllowed, match="Only an operator"):
        decide(task_id, Actor(kind, id=alice.id + 1), via=via)

    assert look(task_id).status is Status.INPUT_REQUIRED


def test_owner_may_not_approve_as_an_operator(alice: Person) -> None:
    task_id = gated(alice)

    with pytest.raises(NotAllowed, match="Somebody else"):
        decide(task_id, alice.operates())

    assert queries.questions(task_id)[0].state is QuestionState.OPEN


def test_owner_may_approve_where_the_server_says_so(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_SELF_APPROVAL = True
    task_id = gated(alice)

    assert decide(task_id, alice.operates()).task.status is Status.WORKING


def test_operators_approve_even_where_they_may_not_answer(alice: Person, bo: Person, settings: Settings) -> None:
    settings.TASKDECK_OPERATORS_ANSWER = False
    task_id = gated(alice)

    assert decide(task_id, bo.operates()).task.status is Status.WORKING


@pytest.mark.parametrize("is_operator", [True, False])
def test_approval_is_unknown_to_every_client(alice: Person, bo: Person, is_operator: bool) -> None:
    """Never over the wire: its key is as unknown as any other, and the reply does not tell of it."""
    task_id = gated(alice)
    before = look(task_id)

    done = decide(task_id, bo.operates() if is_operator else alice.acts(), via=Via.MCP)

    assert (done.recorded, [each.question for each in done.ignored]) == ((), [None])
    assert look(task_id) == before


def test_gated_task_can_be_cancelled_by_its_owner(alice: Person) -> None:
    task_id = gated(alice)

    done = store.cancel(task_id, owner_id=alice.id, by=alice.acts())

    assert done.happened is True
    assert queries.questions(task_id)[0].state is QuestionState.WITHDRAWN


def test_second_decision_comes_too_late(alice: Person, bo: Person, eve: Person) -> None:
    task_id = gated(alice)
    decide(task_id, bo.operates(), DECLINE)

    late = decide(task_id, eve.operates())

    [ignored] = late.ignored
    assert (late.recorded, late.task.outcome) == ((), Outcome.TOOL_ERROR)
    assert ignored.question is not None
    assert ignored.question.answered_by == bo.operates().as_json()
