"""Many rounds of a few callers let go at once, nothing decides between them: one wins, the others are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind, OwnerKind
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import QuestionState, Via
from tests.properties.observing import release_clock, set_clock, violated
from tests.properties.scenes import Scene, answer_of, running, waiting
from tests.racing import HeadStart, crowd

pytestmark = pytest.mark.timeout(300)

STAY = 60_000


@pytest.fixture
def owner(transactional_db: None) -> Iterator[int]:
    """Alice; the clock is real again at the end."""
    yield store.find_or_make_owner(OwnerKind.USER, subject="alice")
    release_clock()


def _end(scene: Scene) -> None:
    """Out of the way of the next round."""
    store.cancel(scene.task_id, owner_id=scene.owner_id, by=scene.owner)


def test_question_has_one_answer_when_two_operators_and_a_client_answer_at_once(owner: int) -> None:
    """200 rounds: one is recorded, each other is told by whom."""
    callers = [
        (Actor(ActorKind.OPERATOR, id=owner + 1, via="console", reason="on call"), Via.CONSOLE),
        (Actor(ActorKind.OPERATOR, id=owner + 2, via="console", reason="helping"), Via.CONSOLE),
        (Actor(ActorKind.CLIENT, id=owner, credential=7, via="mcp"), Via.MCP),
    ]

    def answering(scene: Scene, by: Actor, via: Via) -> Callable[[], store.Answered]:
        given = {scene.key: answer_of(str(by.id))}
        return partial(store.answer, scene.task_id, given, owner_id=None, by=by, via=via)

    with crowd(3) as at_once:
        for _ in range(200):
            scene = waiting(owner)
            told = at_once(*(answering(scene, by, via) for by, via in callers))

            (winner,) = [by for (by, _), answered in zip(callers, told, strict=True) if answered.recorded]
            firsts = [each.question.answered_by for answered in told for each in answered.ignored]
            assert firsts == [winner.as_json()] * 2
            _end(scene)

    assert violated() == []


def test_cancel_and_complete_at_once_end_a_task_once(owner: int) -> None:
    """500 rounds: one of the two ends the task, and the other learns that it did not."""
    wins: Counter[Outcome] = Counter()
    start = HeadStart()

    with crowd(2) as at_once:
        for _ in range(500):
            scene = running(owner)
            cancel = partial(store.cancel, scene.task_id, owner_id=owner, by=scene.owner)
            complete = partial(store.complete, scene.claim, result={"n": 1})
            cancelled, completed = at_once(*start.given(cancel, complete))
            start.move(first_won=cancelled.happened)

            if cancelled.happened:
                assert completed == "LeaseLost"
                assert store.stopped(scene.claim)
            else:
                assert completed.outcome is Outcome.RESULT
            wins[cancelled.task.outcome] += 1

    assert wins.keys() == {Outcome.CANCELLED, Outcome.RESULT}
    assert wins.total() == 500
    assert violated() == []


def test_question_is_answered_or_expires_when_both_come_at_the_deadline(owner: int) -> None:
    """500 rounds, the answer a millisecond before the deadline by its clock, the sweep at it: one of the two."""
    ends: Counter[QuestionState] = Counter()
    start = HeadStart()
    set_clock(0)

    with crowd(2) as at_once:
        at_once(partial(set_clock, STAY - 1), partial(set_clock, STAY))
        for _ in range(500):
            scene = waiting(owner, stay=STAY)
            given = {scene.key: answer_of("in time")}
            answer = partial(store.answer, scene.task_id, given, owner_id=owner, by=scene.owner, via=Via.CONSOLE)
            answered, lapsed = at_once(*start.given(answer, store.expire_questions))
            start.move(first_won=bool(answered.recorded))

            assert (len(answered.recorded), lapsed) in {(1, 0), (0, 1)}
            assert answered.task.open_questions == 0
            ends.update([QuestionState.ANSWERED] if answered.recorded else [answered.ignored[0].question.state])
            _end(scene)

    assert ends.keys() == {QuestionState.ANSWERED, QuestionState.EXPIRED}
    assert ends.total() == 500
    assert violated() == []
