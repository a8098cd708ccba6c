"""The watch over an attempt: when it gives a tool up, and how long it lets it go on."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import Stop, StorageUnavailable
from tasks_app.engine import tool, watch
from tasks_app.engine.registry import Tool, tool_of
from tasks_app.engine.watch import Watch, Watched
from tests.conftest import Person
from tests.tasks_app.store.life import claimed, look
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_registry")]


@pytest.fixture
def slow() -> Tool:
    """A tool that may run for a minute."""

    @tool(name="echo", timeout=60, retries=0)
    def sleeps() -> None:
        return None

    return tool_of(sleeps)


def test_tool_that_ran_too_long_has_the_whole_grace(alice: Person, slow: Tool, settings: Settings) -> None:
    """Nobody asked before: only a request that a heartbeat found may be older than the moment that it is seen."""
    settings.TASKDECK_LEASE, settings.TASKDECK_HEARTBEAT, settings.TASKDECK_GRACE = 30, 10, 30
    timed_out, cancelled = Watched(claimed(alice), slow), Watched(claimed(alice), slow)
    idle = Watch(leave=lambda: None)
    late, beat = timed_out.begun + 60, cancelled.beat_at

    idle._check_time(timed_out, late)
    store.cancel(cancelled.claim.task_id, owner_id=alice.id, by=alice.acts())
    idle._beat(cancelled, beat)

    assert isinstance(timed_out.signal, Stop)
    assert (timed_out.kill_at, cancelled.kill_at) == (late + 30, beat + 20)
    store.stopped(cancelled.claim)


def test_tool_is_told_of_its_time_out_only_once_that_is_settled(
    alice: Person, slow: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that returns as soon as it is told would be in time after all; an outage keeps nobody from telling it."""
    watched = Watched(claimed(alice), slow)
    idle = Watch(leave=lambda: None)
    told: list[bool] = []

    def away(_: store.Ending) -> store.Snapshot:
        told.append(watched.signal is not None)
        raise StorageUnavailable

    with monkeypatch.context() as outage:
        outage.setattr(store, "record", away)
        with pytest.raises(StorageUnavailable):
            idle._check_time(watched, watched.begun + 60)
    kill_at = watched.kill_at
    idle._check_time(watched, watched.begun + 61)

    assert (told, isinstance(watched.signal, Stop), watched.kill_at) == ([False], True, kill_at)
    assert watched.is_timed_out
    assert look(watched.claim.task_id).status.value == "failed"


def test_attempt_whose_lease_cannot_be_renewed_is_stopped_before_it_is_over(
    alice: Person, slow: Tool, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before another worker may start the same task, this one has given up: two never run at once."""
    settings.TASKDECK_LEASE, settings.TASKDECK_HEARTBEAT, settings.TASKDECK_GRACE = 30, 10, 600

    def away(_: store.Claim) -> store.Beat:
        raise StorageUnavailable

    watched = Watched(claimed(alice), slow)
    guard = Watch(leave=lambda: None)
    monkeypatch.setattr(store, "heartbeat", away)

    told = []
    for seconds in (10, 20, 25, 26):
        monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda at=watched.begun + seconds: at))
        guard._watched = watched
        guard._look_after(watched)
        told.append(watched.signal is not None)

    assert told == [False, False, False, True], "a lease is 30 s, and nobody else may start before that"
    assert "could not be renewed" in str(watched.signal)
    assert look(watched.claim.task_id).active_attempt == 1, "the row is left to the reaper"


def test_process_of_a_tool_that_is_deaf_to_its_time_out_ends_after_the_grace(
    alice: Person, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TASKDECK_GRACE = 0.1

    @tool(name="echo", timeout=0.1, retries=0)
    def deaf() -> None:
        return None

    monkeypatch.setattr(watch, "_pause", lambda: 0.01)
    left = threading.Event()
    guard = Watch(leave=left.set)

    watched = guard.begin(claimed(alice), tool_of(deaf))

    assert left.wait(20)
    guard.end()
    until(lambda: watched.is_timed_out)
    assert look(watched.claim.task_id).status.value == "failed"
