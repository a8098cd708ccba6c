"""The order of steps and questions, and what counts as a changed tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import ToolChanged
from tasks_app.engine.journal import Entry, EntryKind
from tasks_app.engine.replay import Replay

STEP, QUESTION = EntryKind.STEP, EntryKind.QUESTION

names = st.lists(st.text("abcdef", min_size=1, max_size=2), min_size=1, max_size=8, unique=True)


def recorded(*order: str, kind: EntryKind = STEP) -> list[Entry]:
    return [Entry(position=n, name=name, kind=kind, value=1) for n, name in enumerate(order)]


def test_replay_without_history_numbers_what_comes() -> None:
    replay = Replay([])

    places = [replay.visit("plan", STEP), replay.visit("approve", QUESTION)]

    assert [(place.position, place.entry) for place in places] == [(0, None), (1, None)]


def test_replay_gives_what_is_recorded_in_its_place() -> None:
    history = recorded("plan", "push")
    replay = Replay(history)

    assert [replay.visit("plan", STEP).entry, replay.visit("push", STEP).entry] == history


def test_replay_gives_a_name_the_same_place_when_it_is_used_again() -> None:
    replay = Replay(recorded("plan"))

    first, again, after = replay.visit("plan", STEP), replay.visit("plan", STEP), replay.visit("push", STEP)

    assert again == first
    assert after.position == 1


def test_replay_finds_what_this_run_recorded() -> None:
    replay = Replay([])
    place = replay.visit("plan", STEP)
    entry = Entry(position=place.position, name="plan", kind=STEP, value=7)

    replay.record(entry)

    assert replay.visit("plan", STEP).entry == entry


def test_replay_diverges_when_another_name_stands_in_the_place() -> None:
    replay = Replay(recorded("plan", "push"))
    replay.visit("plan", STEP)

    with pytest.raises(ToolChanged, match=r"The tool changed while it waited .*expected step 'push', got step 'pull'"):
        replay.visit("pull", STEP)


def test_replay_diverges_when_a_recorded_name_comes_at_another_place() -> None:
    replay = Replay([Entry(position=1, name="push", kind=STEP, value=1)])

    with pytest.raises(ToolChanged, match="'push' was number 2, now it is number 1"):
        replay.visit("push", STEP)


@pytest.mark.parametrize("history", [recorded("same"), []], ids=["earlier run", "this run"])
def test_replay_diverges_when_a_step_becomes_a_question(history: list[Entry]) -> None:
    replay = Replay(history)
    replay.visit("same", STEP)

    with pytest.raises(ToolChanged, match="'same' was a step, now it is a question"):
        replay.visit("same", QUESTION)


def test_replay_leaves_room_for_a_step_that_failed_before_it_was_recorded() -> None:
    replay = Replay([Entry(position=1, name="second", kind=STEP, value=2)])

    assert replay.visit("first", STEP).entry is None
    assert replay.visit("second", STEP).entry is not None


def test_replay_does_not_hold_an_answer_without_a_place_against_the_order() -> None:
    replay = Replay([Entry(position=None, name="who", kind=QUESTION, value={})])

    replay.visit("plan", STEP)
    place = replay.visit("who", QUESTION)

    assert place.position == 1
    assert place.entry is not None


def test_replay_diverges_when_an_answer_without_a_place_is_now_a_step() -> None:
    replay = Replay([Entry(position=None, name="who", kind=QUESTION, value={})])

    with pytest.raises(ToolChanged, match="'who' was a question, now it is a step"):
        replay.visit("who", STEP)


def test_replay_that_diverged_says_so_again_at_every_visit() -> None:
    replay = Replay(recorded("plan"))
    with pytest.raises(ToolChanged) as first:
        replay.visit("other", STEP)

    with pytest.raises(ToolChanged) as second:
        replay.visit("plan", STEP)

    assert second.value is first.value is replay.diverged


@given(order=names, cut=st.integers(0, 8))
def test_replay_of_any_recorded_prefix_never_diverges(order: list[str], cut: int) -> None:
    prefix = order[:cut]
    replay = Replay(recorded(*prefix))

    found = [replay.visit(name, STEP).entry for name in order]

    assert [entry is not None for entry in found] == [n < len(prefix) for n in range(len(order))]


@given(order=names.filter(lambda order: len(order) > 1), data=st.data())
def test_replay_in_any_other_order_of_the_recorded_names_diverges(order: list[str], data: st.DataObject) -> None:
    other = data.draw(st.permutations(order).filter(lambda shuffled: shuffled != order))
    replay = Replay(recorded(*order))

    with pytest.raises(ToolChanged):
        _walk(replay, other)


def _walk(replay: Replay, order: list[str]) -> None:
    for name in order:
        replay.visit(name, STEP)
