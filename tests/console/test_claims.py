"""Claims on questions: advice that one person gives the others, by the database's clock, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from console import store
from console.models import AnswerClaim
from tasks_app import store as tasks
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.racing import crowd, race

ASK = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}


def asked_by(owner: Person) -> tuple[tasks.Snapshot, tasks.QuestionView]:
    tasks.create(tasks.NewTask(owner_id=owner.id, tool="deploy"))
    claim = tasks.claim_next(tasks.Claimant("w1"))
    assert claim is not None
    tasks.suspend(claim, [tasks.NewQuestion(name="go", request=ASK)])
    return queries.get(claim.task_id, owner_id=None), queries.questions(claim.task_id)[0]


@pytest.mark.django_db
def test_first_to_claim_holds_it_and_the_second_is_told_who_does(alice: Person, bo: Person) -> None:
    task, question = asked_by(alice)

    first = store.claim(task, question.id, owner_id=bo.id)
    second = store.claim(task, question.id, owner_id=alice.id)

    assert first is not None
    assert second == first
    assert store.holders([question.id]) == {question.id: first}


@pytest.mark.django_db
def test_claim_is_renewed_by_its_holder_and_lapses_after_a_minute(
    alice: Person, bo: Person, clock: DatabaseClock
) -> None:
    task, question = asked_by(alice)
    begun = clock.advance(timedelta(0))
    store.claim(task, question.id, owner_id=bo.id)

    clock.advance(timedelta(seconds=40))
    renewed = store.claim(task, question.id, owner_id=bo.id)
    clock.advance(timedelta(seconds=59))
    still = store.holders([question.id])
    clock.advance(timedelta(seconds=2))
    lapsed = store.holders([question.id])
    taken = store.claim(task, question.id, owner_id=alice.id)

    assert renewed is not None
    assert renewed.until == begun + timedelta(seconds=100)
    assert (set(still), lapsed) == ({question.id}, {})
    assert taken is not None
    assert taken.owner_id == alice.id


@pytest.mark.django_db
def test_claim_is_taken_over_and_only_its_holder_releases_it(alice: Person, bo: Person) -> None:
    task, question = asked_by(alice)
    store.claim(task, question.id, owner_id=bo.id)

    over = store.claim(task, question.id, owner_id=alice.id, take_over=True)
    is_released_by_bo = store.release(task, question.id, owner_id=bo.id)
    is_released_by_alice = store.release(task, question.id, owner_id=alice.id)

    assert over is not None
    assert over.owner_id == alice.id
    assert (is_released_by_bo, is_released_by_alice) == (False, True)
    assert store.holders([question.id]) == {}


@pytest.mark.django_db
def test_others_are_told_of_a_new_holder_and_not_of_a_renewal(
    alice: Person, bo: Person, django_capture_on_commit_callbacks: Callable[[], Any]
) -> None:
    task, question = asked_by(alice)

    told = []
    for owner_id, take_over in ((bo.id, False), (bo.id, False), (alice.id, False), (alice.id, True)):
        with django_capture_on_commit_callbacks() as callbacks:
            store.claim(task, question.id, owner_id=owner_id, take_over=take_over)
        told.append(len(callbacks))

    assert told == [1, 0, 0, 1]


@pytest.mark.django_db
def test_claim_keeps_nobody_from_answering_and_ends_with_the_question(alice: Person, bo: Person) -> None:
    task, question = asked_by(alice)
    store.claim(task, question.id, owner_id=bo.id)

    given = {question.key: tasks.Answer(AnswerAction.ACCEPT, {})}
    client = Actor(ActorKind.CLIENT, id=alice.id, via="mcp")
    done = tasks.answer(task.id, given, owner_id=alice.id, by=client, via=Via.MCP)

    assert done.recorded == (question.key,)
    store.release(task, question.id, owner_id=bo.id)
    assert store.claim(task, question.id, owner_id=bo.id) is None


@pytest.mark.django_db
def test_old_claims_are_forgotten(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    task, question = asked_by(alice)
    store.claim(task, question.id, owner_id=bo.id)

    clock.advance(timedelta(minutes=30))
    assert store.forget_claims() == 0
    clock.advance(timedelta(minutes=32))

    assert store.forget_claims() == 1
    assert not AnswerClaim.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_claim_at_once_the_second_waits_and_finds_the_first(alice: Person, bo: Person) -> None:
    task, question = asked_by(alice)

    first, second = race(
        lambda: store.claim(task, question.id, owner_id=alice.id),
        lambda: store.claim(task, question.id, owner_id=bo.id),
        at=None,
        blocks=True,
    )

    assert isinstance(first, store.Holder)
    assert isinstance(second, store.Holder)
    assert (first.owner_id, second.owner_id) == (alice.id, alice.id)


@pytest.mark.django_db(transaction=True)
def test_crowd_that_claims_at_once_agrees_on_one_holder(alice: Person, bo: Person, eve: Person) -> None:
    task, question = asked_by(alice)
    people = (alice, bo, eve)

    with crowd(len(people)) as at_once:
        said = at_once(*(lambda id_=each.id: store.claim(task, question.id, owner_id=id_) for each in people))

    held = store.holders([question.id])[question.id].owner_id
    assert [each.owner_id for each in said] == [held] * len(people)
