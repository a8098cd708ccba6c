"""The worker's row: there while the worker lives, draining while it stops, old once it was killed."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable

import pytest
from django.db import connection
from pytest_django import Settings

from console.celery import app
from tasks_app.engine.worker import Pulse, worker_id
from tasks_app.models.worker import Worker
from tasks_app.store.workers import WorkerView, live_workers
from tests.processes import database_away, start_worker
from tests.tasks_app.engine.gated_worker import GATE, OCCUPY
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def only_worker() -> WorkerView | None:
    """The live worker, if there is one."""
    return next(iter(live_workers()), None)


def test_worker_is_on_the_list_while_it_runs_and_off_it_after_its_end() -> None:
    with start_worker(slots=2) as process:
        worker = until(only_worker)
        process.send(signal.SIGTERM)
        code = process.wait()

    assert worker.id.split(":")[1] == str(process.pid)
    assert (worker.slots, worker.busy, worker.draining) == (2, 0, False)
    assert code == 0
    assert not Worker.objects.exists()


def test_worker_is_draining_until_its_children_have_finished() -> None:
    with start_worker(app="tests.tasks_app.engine.gated_worker", slots=1) as process, connection.cursor() as cursor:
        worker = until(only_worker)
        cursor.execute("SELECT pg_advisory_lock(%s)", [GATE])
        _send_hint(OCCUPY)
        until(lambda: _shows_itself(worker.id))

        process.send(signal.SIGTERM)
        draining = until(lambda: next((each for each in live_workers() if each.draining), None))
        cursor.execute("SELECT pg_advisory_unlock(%s)", [GATE])
        code = process.wait()

    assert (draining.id, draining.slots) == (worker.id, 1)
    assert code == 0
    assert live_workers() == []


def test_killed_worker_is_not_live_once_it_was_silent_for_long(settings: Settings) -> None:
    settings.TASKDECK_WORKER_GONE = 1

    with start_worker() as process:
        until(only_worker)
        process.send(signal.SIGKILL)
        process.wait()
        until(lambda: live_workers() == [])

    assert Worker.objects.count() == 1, "it could not take leave, so its row grows old"


def test_worker_is_heard_again_after_the_database_was_away(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), database_away():
        pulse = _pulse(slots=lambda: 3)
        until(lambda: "cannot say that it is alive" in caplog.text)

    worker = until(only_worker)
    pulse.leave(seconds=5)

    assert (worker.id, worker.slots) == ("host:1:test", 3)
    assert caplog.text.count("cannot say that it is alive") == 1, "told once, however long it lasts"
    assert live_workers() == []


def test_pulse_says_that_it_drains_without_waiting_for_the_next_beat(settings: Settings) -> None:
    settings.TASKDECK_WORKER_BEAT = 3600
    pulse = _pulse(slots=lambda: 3)
    until(only_worker)

    pulse.drain()
    pulse.drain()

    until(lambda: [worker.draining for worker in live_workers()] == [True], 5)
    pulse.leave(seconds=5)


def test_pulse_keeps_the_last_number_of_slots_while_the_pool_is_taken_down() -> None:
    gone = threading.Event()

    def slots() -> int:
        if gone.is_set():
            raise AttributeError("no pool")
        return 3

    pulse = _pulse(slots=slots)
    until(only_worker)

    pulse.drain()
    gone.set()
    draining = until(lambda: next((each for each in live_workers() if each.draining), None))
    pulse.leave(seconds=5)

    assert draining.slots == 3


def test_pulse_keeps_no_connection_between_beats(settings: Settings) -> None:
    settings.TASKDECK_WORKER_BEAT = 3600
    before = _other_connections()
    pulse = _pulse(slots=lambda: 3)
    until(only_worker)

    until(lambda: _other_connections() == before)
    pulse.leave(seconds=5)


def test_process_that_is_no_worker_has_no_worker_id() -> None:
    assert worker_id() == ""


def _pulse(*, slots: Callable[[], int]) -> Pulse:
    pulse = Pulse("host:1:test", slots=slots)
    pulse.start()
    return pulse


def _send_hint(name: str) -> None:
    app.send_task(name, ignore_result=True)


def _shows_itself(name: str) -> bool:
    # Postgres keeps the first 63 bytes of an application's name.
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = left(%s::text, 63)", [name])
        return bool(cursor.fetchone()[0])


def _other_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])
