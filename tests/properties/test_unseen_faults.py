"""Three faults that no invariant sees, each with a race that does: an answer without the state guard, a write of an
attempt without the row lock, a reaper that ignores a fresh heartbeat.

Each race runs on the store as it is, and again with one guard taken out of one statement: then it must find the fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind, OwnerKind
from tasks_app.domain.questions import Via
from tasks_app.store import journal, questions
from tasks_app.store.db import rows
from tests.properties.observing import release_clock, violated
from tests.properties.scenes import LEASE_LAPSED, VERBS, Scene, answer_of, prepared, running, waiting
from tests.racing import SECONDS, Writer, race
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)

_WRITTEN = """
SELECT (SELECT count(*) FROM tasks_step WHERE task_id = %(task)s),
       (SELECT count(*) FROM tasks_output WHERE task_id = %(task)s)
"""


@pytest.fixture
def owner(transactional_db: None) -> Iterator[int]:
    """Alice; the clock is real again at the end."""
    yield store.find_or_make_owner(OwnerKind.USER, subject="alice")
    release_clock()


def _without(text: str, guard: str) -> str:
    """A statement with one guard taken out."""
    faulty = text.replace(guard, "")
    assert faulty != text
    return faulty


def _answering(scene: Scene, by: Actor, text: str) -> Callable[[], object]:
    def answer() -> object:
        done = store.answer(scene.task_id, {scene.key: answer_of(text)}, owner_id=None, by=by, via=Via.CONSOLE)
        first = [each.question and each.question.answered_by for each in done.ignored]
        return "recorded" if done.recorded else first

    return answer


def _second_answer_is_told_of_the_first(owner: int) -> bool:
    """Two answer one of two open questions; the second waits for the first, which has the question already."""
    scene = prepared(partial(waiting, names=("sure", "other")), owner, at=0)
    bo = Actor(ActorKind.OPERATOR, id=owner + 1, via="console", reason="on call")

    told = race(_answering(scene, scene.owner, "one"), _answering(scene, bo, "two"), at=0, blocks=True)

    return told == ("recorded", [scene.owner.as_json()])


def test_second_answer_is_told_of_the_first(owner: int) -> None:
    """The first valid answer wins, and who was second learns who was first."""
    assert _second_answer_is_told_of_the_first(owner)
    assert violated() == []


def test_answer_without_the_state_guard_is_found(owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database still refuses to overwrite, but the second is sent away with an error and told nothing."""
    monkeypatch.setattr(questions, "_TAKE", _without(questions._TAKE, "AND q.state = 'open'"))

    assert not _second_answer_is_told_of_the_first(owner)
    assert violated() == []


def _nothing_is_written_after_the_fence(owner: int, write: str) -> bool:
    """An attempt writes and has not committed when its task is cancelled: what is there after the cancel is all."""
    scene = prepared(running, owner, at=0)
    written = partial(rows, _WRITTEN, {"task": scene.task_id})
    writer = Writer(partial(VERBS[write], scene), at=0, holds=True)
    assert writer.has_run.wait(SECONDS)
    cancel = Writer(partial(VERBS["cancel"], scene), at=0)

    until(lambda: cancel.has_run.is_set() or cancel.is_blocked(), SECONDS)
    seen_early = written() if cancel.has_run.is_set() else None
    writer.commit()

    assert cancel.result() is True
    return seen_early is None or seen_early == written()


@pytest.mark.parametrize("write", ["step", "output"])
def test_nothing_is_written_after_the_fence(owner: int, write: str) -> None:
    """A cancel waits for the write that came before it, and after it there is none."""
    assert _nothing_is_written_after_the_fence(owner, write)
    assert violated() == []


def test_step_without_the_row_lock_is_found(owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It appears after the cancel has returned, and no invariant is broken."""
    monkeypatch.setattr(journal, "_STEP", _without(journal._STEP, "FOR NO KEY UPDATE"))

    assert not _nothing_is_written_after_the_fence(owner, "step")
    assert violated() == []


def test_output_without_the_row_lock_is_found(owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk that takes its place from a mere reading of the task appears after the cancel, too."""
    taking = r"UPDATE tasks_task t SET output_bytes = .*? (WHERE .*?) RETURNING (.*?)\),\nchunk"
    reading, count = re.subn(taking, r"SELECT \2 FROM tasks_task t \1),\nchunk", journal._OUTPUT, flags=re.DOTALL)
    assert count == 1
    monkeypatch.setattr(journal, "_OUTPUT", reading.replace("t.output_bytes - %(size)s::bigint", "t.output_bytes"))

    assert not _nothing_is_written_after_the_fence(owner, "output")
    assert violated() == []


def _renewed_lease_is_respected(owner: int) -> bool:
    """The reaper has found a lease that ran out, and waits; the heartbeat that it waits for has renewed it."""
    scene = prepared(running, owner, at=LEASE_LAPSED)

    told = race(partial(VERBS["heartbeat"], scene), store.reap, at=LEASE_LAPSED, blocks=True)

    assert told[0] == "held"
    return store.holds(scene.claim) and told[1] == 0


def test_reaper_respects_a_lease_that_was_just_renewed(owner: int) -> None:
    """Who was told that the lease is renewed still holds the task."""
    assert _renewed_lease_is_respected(owner)
    assert violated() == []


def test_reaper_that_ignores_a_fresh_heartbeat_is_found(owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the task from a worker that was just told that it holds it."""
    reaping = import_module("tasks_app.store.reap")
    monkeypatch.setattr(reaping, "_LOSE", _without(reaping._LOSE, "AND lease_until < tasks_now()"))

    assert not _renewed_lease_is_respected(owner)
    assert violated() == []
