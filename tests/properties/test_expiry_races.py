"""The end of a task's time against everything that may come in its last millisecond: one of the two, never both.

Each round lets two callers go at once: one whose clock stands a millisecond before the expiry, and the sweep at it.
Whatever the one says is true of the row afterwards, and nothing but the words of the store is ever raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind, OwnerKind
from tasks_app.domain.questions import Via
from tasks_app.store import queries
from tasks_app.store.db import rows
from tests.properties.observing import BASE, release_clock, set_clock, violated
from tests.properties.scenes import TTL, Scene, answer_of, waiting
from tests.racing import HeadStart, crowd

pytestmark = pytest.mark.timeout(300)

ROUNDS = 500
REFUSALS = {"NotFound", "LeaseLost"}
END = BASE + timedelta(milliseconds=TTL)


@pytest.fixture
def owner(transactional_db: None) -> Iterator[int]:
    """Alice; her clock stands at zero, and is real again at the end."""
    set_clock(0)
    yield store.find_or_make_owner(OwnerKind.USER, subject="alice")
    release_clock()


def _plain(owner_id: int) -> Scene:
    """A task with its first attempt running."""
    task = store.create(store.NewTask(owner_id=owner_id, tool="plain", ttl_ms=TTL)).task
    claim = store.claim_next(store.Claimant("w1"))
    assert claim is not None
    assert claim.task_id == task.id
    return Scene(task.id, claim, "", Actor(ActorKind.OWNER, id=owner_id, via="console"))


def _row(task_id: UUID) -> tuple[Any, ...]:
    [found] = rows(
        """SELECT t.status, t.outcome, t.expires_at, count(x.task_id), max(q.state),
                  max(jsonb_array_length(x.unanswered))
             FROM tasks_task t LEFT JOIN tasks_expiration x ON x.task_id = t.id
             LEFT JOIN tasks_question q ON q.task_id = t.id WHERE t.id = %(id)s GROUP BY t.id""",
        {"id": task_id},
    )
    return found


def _clear(scene: Scene, *, is_live: bool) -> None:
    """Out of the way of the next round: no live task, no attempt that still runs."""
    if is_live:
        store.cancel(scene.task_id, owner_id=scene.owner_id, by=scene.owner)
    store.stopped(scene.claim)


def _race(owner: int, build: Callable[[int], Scene], verb: Callable[[Scene], object]) -> Iterator[tuple[Any, Any]]:
    """What the verb said and the row after it, round by round."""
    start = HeadStart()
    with crowd(2) as at_once:
        at_once(partial(set_clock, TTL - 1), partial(set_clock, TTL))
        for _ in range(ROUNDS):
            scene = build(owner)
            told, _ = at_once(*start.given(partial(verb, scene), store.expire))
            start.move(first_won=told not in REFUSALS)
            left = _row(scene.task_id)
            yield told, left
            _clear(scene, is_live=left[1] is None)
    assert violated() == []


def test_answer_in_the_last_moment_counts_or_the_task_expires(owner: int) -> None:
    """check 91, section 2 item 6."""

    def answer(scene: Scene) -> object:
        given = {scene.key: answer_of("in time")}
        done = store.answer(scene.task_id, given, owner_id=owner, by=scene.owner, via=Via.CONSOLE)
        return len(done.recorded)

    ends: Counter[object] = Counter()
    for told, (status, outcome, _, records, question, unanswered) in _race(owner, waiting, answer):
        # What was answered in time may expire a millisecond later, and then its record says that nothing was open.
        assert question == ("answered" if told == 1 else "withdrawn")
        if told == 1:
            in_time = {("working", None, 0, None), ("failed", "expired", 1, 0)}
            assert (status, outcome, records, unanswered) in in_time
        else:
            assert (told, status, outcome, records, unanswered) == ("NotFound", "failed", "expired", 1, 1)
        ends[told] += 1

    assert ends.keys() == {1, "NotFound"}
    assert ends.total() == ROUNDS


def test_result_in_the_last_moment_counts_or_the_task_expires(owner: int) -> None:
    """check 91: a result that was recorded is readable for the minimum retention, and one that was not is nowhere."""

    def complete(scene: Scene) -> object:
        return store.complete(scene.claim, result={"n": 1}).status.value

    ends: Counter[object] = Counter()
    for told, (status, outcome, expires, records, *_) in _race(owner, _plain, complete):
        if told == "completed":
            assert (status, outcome, records) == ("completed", "result", 0)
            assert expires == END + timedelta(minutes=5) - timedelta(milliseconds=1)
        else:
            assert (told, status, outcome, records) == ("LeaseLost", "failed", "expired", 1)
        ends[told] += 1

    assert ends.keys() == {"completed", "LeaseLost"}
    assert ends.total() == ROUNDS


def test_extension_in_the_last_moment_counts_or_the_task_expires(owner: int) -> None:
    """check 91: nothing brings an expired task back."""

    def extend(scene: Scene) -> object:
        return store.extend(scene.task_id, more=timedelta(minutes=1), owner_id=owner, by=scene.owner).expires_at

    ends: Counter[object] = Counter()
    for told, (status, outcome, expires, records, *_) in _race(owner, _plain, extend):
        if told == "NotFound":
            assert (status, outcome, expires, records) == ("failed", "expired", END, 1)
        else:
            assert (told, status, outcome, expires, records) == (
                expires,
                "working",
                None,
                END + timedelta(minutes=1),
                0,
            )
        ends[told == "NotFound"] += 1

    assert ends.keys() == {True, False}
    assert ends.total() == ROUNDS


def test_reader_in_the_last_moment_sees_the_live_task_or_none(owner: int) -> None:
    """check 91: never a task that is half expired."""

    def get(scene: Scene) -> object:
        task = queries.get(scene.task_id, owner_id=owner)
        return task.status.value, task.outcome, task.expired_at

    ends: Counter[object] = Counter()
    for told, (status, outcome, _, records, *_) in _race(owner, _plain, get):
        assert told in {("working", None, None), "NotFound"}
        assert (status, outcome, records) == ("failed", "expired", 1)
        ends[told] += 1

    assert ends.keys() == {("working", None, None), "NotFound"}
    assert ends.total() == ROUNDS
