"""The engine loop: duties on their schedule, whatever one of them does, and a prompt end."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections

from tasks_app.engine import loop as engine_loop
from tasks_app.engine.loop import Duty, Loop, all_duties, default_duties, register
from tasks_app.models.worker import Worker
from tasks_app.store import workers
from tests.processes import start_engine
from tests.waiting import until

OFTEN = 0.01


class Counted:
    """A duty's function that counts its runs, and fails in some of them."""

    def __init__(self, *, result: int | None = None, fails: Callable[[int], bool] = lambda _: False) -> None:
        self.runs = 0
        self.times: list[float] = []
        self._result = result
        self._fails = fails

    def __call__(self) -> int | None:
        self.runs += 1
        self.times.append(time.monotonic())
        if self._fails(self.runs):
            raise LookupError(f"run {self.runs}")
        return self._result


@contextmanager
def running(*duties: Duty) -> Iterator[Loop]:
    """A loop in its thread, stopped with the block."""
    loop = Loop(duties)
    loop.start()
    try:
        yield loop
    finally:
        assert loop.stop(seconds=5)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry without the duties of other tests."""
    monkeypatch.setattr(engine_loop, "_registered", {})


def test_duty_runs_at_once_and_then_again_and_again() -> None:
    often = Counted()

    with running(Duty("often", OFTEN, often)):
        until(lambda: often.runs >= 5)


def test_duty_waits_for_its_interval() -> None:
    rare, often = Counted(), Counted()

    with running(Duty("rare", 3600, rare), Duty("often", OFTEN, often)):
        until(lambda: often.runs >= 20)

    assert rare.runs == 1
    gaps = [later - earlier for earlier, later in zip(often.times, often.times[1:], strict=False)]
    assert min(gaps) >= OFTEN * 0.5


def test_failing_duty_is_tried_again_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    failing, sound = Counted(fails=lambda run: run <= 3), Counted()

    with caplog.at_level(logging.INFO), running(Duty("fragile", OFTEN, failing), Duty("sound", OFTEN, sound)):
        until(lambda: failing.runs >= 5 and sound.runs >= 5)

    told = [record for record in caplog.records if "fragile" in record.getMessage()]
    assert [record.getMessage().split(",")[0] for record in told] == ["fragile failed"] * 3 + ["fragile works again"]
    assert [record.exc_info is not None for record in told] == [True, False, False, False]


def test_failing_duty_waits_longer_each_time() -> None:
    failing = Counted(fails=lambda _: True)

    with running(Duty("broken", 0.02, failing)):
        until(lambda: failing.runs >= 4)

    first, second, third = [later - earlier for earlier, later in zip(failing.times, failing.times[1:4], strict=False)]
    assert first >= 0.02
    assert second >= 0.04
    assert third >= 0.08


def test_backoff_ends_at_a_few_seconds_or_at_the_own_interval() -> None:
    assert engine_loop._backoff(0.2, failures=100_000) == 2.0
    assert engine_loop._backoff(60, failures=3) == 60


def test_duty_that_exits_does_not_end_the_loop() -> None:
    def leave() -> None:
        raise SystemExit(3)

    sound = Counted()

    with running(Duty("leaving", OFTEN, leave), Duty("sound", OFTEN, sound)):
        until(lambda: sound.runs >= 5)


def test_full_batch_is_followed_by_another_at_once() -> None:
    left = [3, 3, 3, 1]

    with running(Duty("sweep", 3600, lambda: left.pop(0), batch=3)):
        until(lambda: not left)


def test_duty_that_never_has_enough_leaves_the_others_their_turn() -> None:
    """After each batch: dispatch and reap must not wait for the end of a large expiry."""
    order: list[str] = []

    def greedy() -> int:
        order.append("greedy")
        return 100

    def modest() -> None:
        order.append("modest")

    with running(Duty("greedy", 3600, greedy, batch=100), Duty("modest", 0, modest)):
        until(lambda: order.count("greedy") >= 20)

    assert "greedy greedy" not in " ".join(order[:20])


def test_work_done_by_a_duty_without_batches_does_not_hurry_it() -> None:
    dispatch, other = Counted(result=5), Counted()

    with running(Duty("dispatch", 3600, dispatch), Duty("other", OFTEN, other)):
        until(lambda: other.runs >= 10)

    assert dispatch.runs == 1


def test_slow_duty_is_named_in_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(engine_loop, "SLOW_SECONDS", -1.0)
    duty = Counted()

    with caplog.at_level(logging.WARNING), running(Duty("heavy", 3600, duty)):
        until(lambda: "heavy took" in caplog.text)


def test_loop_ends_at_once_although_nothing_is_due() -> None:
    once = Counted()
    loop = Loop([Duty("once", 3600, once)])
    loop.start()
    until(lambda: once.runs == 1)

    assert loop.stop(seconds=5), "it waited for the hour to be over"


def test_loop_without_duties_waits_to_be_stopped() -> None:
    with running():
        assert threading.active_count() > 1


def test_stop_says_so_when_a_duty_does_not_end() -> None:
    is_held = threading.Event()
    entered = threading.Event()

    def hang() -> None:
        entered.set()
        is_held.wait(10)

    loop = Loop([Duty("hanging", 3600, hang)])
    loop.start()
    assert entered.wait(5)

    assert not loop.stop(seconds=0.05)

    is_held.set()
    assert loop.stop(seconds=5)


@pytest.mark.django_db(transaction=True)
def test_loop_goes_on_after_its_connection_was_cut() -> None:
    backends: list[int] = []

    def ask() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.append(cursor.fetchone()[0])

    with running(Duty("ask", OFTEN, ask)):
        until(lambda: len(backends) >= 3)
        kept = set(backends)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [backends[-1]])
        until(lambda: set(backends) - kept)

    assert len(kept) == 1, "one connection serves all runs"


@pytest.mark.django_db(transaction=True)
def test_loop_lets_go_of_its_connection_when_it_ends() -> None:
    backends: list[int] = []

    def ask() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.append(cursor.fetchone()[0])

    with running(Duty("ask", OFTEN, ask)):
        until(lambda: backends)

    until(lambda: not _is_connected(backends[0]))


def _is_connected(backend: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [backend])
        return bool(cursor.fetchone()[0])


@pytest.mark.usefixtures("registry")
def test_registered_duty_joins_those_of_the_engine() -> None:
    own = Duty("send webhooks", 5, Counted())

    register(own)

    assert all_duties() == [*default_duties(), own]


@pytest.mark.usefixtures("registry")
def test_second_duty_of_the_same_name_is_refused() -> None:
    register(Duty("send webhooks", 5, Counted()))

    with pytest.raises(ValueError, match="send webhooks"):
        register(Duty("send webhooks", 9, Counted()))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_engine_command_does_its_duties_until_a_signal_and_exits_with_zero(number: signal.Signals) -> None:
    workers.beat("host:1:gone", slots=1, draining=False)

    with start_engine(TASKDECK_WORKER_GONE="0.01") as engine:
        until(lambda: not Worker.objects.exists())
        engine.send(number)
        code = engine.wait(10)
        said = engine.output()

    assert code == 0
    assert f"the engine loop has stopped: {number.name}" in said
