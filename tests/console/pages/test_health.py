"""`/healthz` and `/readyz`: what is ready, what is not and why, and an answer in time whatever is silent."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

from console.celery import app
from console.embedded.binaries import valkey_binary
from tasks_app.engine.registry import registry
from tasks_app.store import workers
from tests.processes import database_away
from tests.rows import make_due_task, make_running_task
from tests.waiting import until

PARTS = {"database", "broker", "workers", "dispatch"}
WORKER = "host:1:a"
# What was promised, and a little for a busy machine.
IN_TIME = 3.5

with_database = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_probe_left() -> Iterator[None]:
    """A probe that still waits for a silent part would answer the next test."""
    yield
    until(lambda: not _probes())


@pytest.fixture
def worker(transactional_db: None) -> None:
    """A worker with one slot that was seen just now."""
    workers.beat(WORKER, slots=1, draining=False)


def _probes() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "readyz"]


def _ask(client: Client) -> tuple[int, dict[str, Any]]:
    """Status and parts of `/readyz`, which must agree with each other."""
    response = client.get("/readyz")
    body = response.json()
    assert set(body) == {"ready", "parts"}
    assert set(body["parts"]) == PARTS
    assert body["ready"] is (response.status_code == 200) is all(part["ok"] for part in body["parts"].values())
    return response.status_code, body["parts"]


def _broken(parts: dict[str, Any]) -> set[str]:
    return {name for name, part in parts.items() if not part["ok"]}


@contextmanager
def _black_hole() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield server.getsockname()[1]


def test_healthz_answers_without_a_database(client: Client) -> None:
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


@pytest.mark.usefixtures("worker")
def test_readyz_is_ready_with_database_broker_and_worker(client: Client) -> None:
    status, parts = _ask(client)

    assert status == 200
    assert parts == {name: {"ok": True} for name in PARTS}


@with_database
@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_health_is_never_cached_and_only_read(client: Client, address: str) -> None:
    got, head, posted = client.get(address), client.head(address), client.post(address)

    assert "no-store" in got["Cache-Control"]
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert posted.status_code == 405
    assert posted["Allow"] == "GET, HEAD"
    assert "Set-Cookie" not in got


@with_database
def test_readyz_misses_a_worker(client: Client) -> None:
    status, parts = _ask(client)

    assert status == 503
    assert _broken(parts) == {"workers"}
    assert parts["workers"]["problem"] == "No live worker takes work."
    assert "celery" in parts["workers"]["remedy"]


@with_database
def test_readyz_does_not_count_a_worker_that_is_draining(client: Client) -> None:
    workers.beat(WORKER, slots=1, draining=True)

    status, parts = _ask(client)

    assert (status, _broken(parts)) == (503, {"workers"})


@pytest.mark.usefixtures("worker")
def test_readyz_sees_a_task_that_waits_although_a_slot_is_free(client: Client) -> None:
    """section 2 item 22: the health page knows how long work waits."""
    make_due_task(wake_at=datetime.now(UTC) - timedelta(seconds=20))

    status, parts = _ask(client)

    assert (status, _broken(parts)) == (503, {"dispatch"})
    assert "manage.py engine" in parts["dispatch"]["remedy"]


@pytest.mark.usefixtures("worker")
def test_readyz_lets_a_task_wait_for_a_cap(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """section 2 item 18: a queue behind a tool that runs alone must not make the server unready."""
    monkeypatch.setattr(registry, "caps", lambda: {"echo": 1})
    now = datetime.now(UTC)
    make_running_task(worker="host:9:elsewhere", since=now)
    make_due_task(wake_at=now - timedelta(seconds=20))

    status, parts = _ask(client)

    assert (status, _broken(parts)) == (200, set())


@pytest.mark.usefixtures("worker")
def test_readyz_lets_a_task_wait_for_a_moment(client: Client) -> None:
    make_due_task(wake_at=datetime.now(UTC) - timedelta(seconds=5))

    status, _ = _ask(client)

    assert status == 200


@pytest.mark.usefixtures("worker")
def test_readyz_lets_a_task_wait_while_every_slot_is_taken(client: Client) -> None:
    make_running_task(worker=WORKER, since=datetime.now(UTC))
    make_due_task(wake_at=datetime.now(UTC) - timedelta(minutes=5))

    status, _ = _ask(client)

    assert status == 200


@with_database
def test_readyz_says_that_the_database_is_away_and_is_ready_again_after_it(client: Client) -> None:
    workers.beat(WORKER, slots=1, draining=False)

    with database_away():
        away, parts = _ask(client)
    back, _ = _ask(client)

    assert (away, back) == (503, 200)
    assert _broken(parts) == {"database", "workers", "dispatch"}
    assert "DATABASE_URL" in parts["database"]["remedy"]


@pytest.mark.usefixtures("worker")
def test_readyz_says_at_once_that_the_broker_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", "redis+socket:///nowhere/valkey.sock")

    started = time.monotonic()
    status, parts = _ask(client)

    assert (status, _broken(parts)) == (503, {"broker"})
    assert "BROKER_URL" in parts["broker"]["remedy"]
    assert time.monotonic() - started < 2


@pytest.mark.usefixtures("worker")
def test_readyz_tells_no_addresses_names_or_errors(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", "redis+socket:///nowhere/valkey.sock")

    with database_away():
        text = client.get("/readyz").content.decode()

    for secret in ("nowhere", str(connection.settings_dict["NAME"]), WORKER, "Error", "Traceback"):
        assert secret not in text


@with_database
def test_readyz_answers_in_time_when_database_and_broker_are_silent(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _black_hole() as port, monkeypatch.context() as patch:
        patch.setitem(connections.settings["default"], "HOST", "127.0.0.1")
        patch.setitem(connections.settings["default"], "PORT", str(port))
        patch.setattr(app.conf, "broker_write_url", f"redis://127.0.0.1:{port}/0")

        started = time.monotonic()
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: _ask(Client()), range(6)))
            seconds = time.monotonic() - started

    assert seconds < IN_TIME
    assert [status for status, _ in answers] == [503] * 6
    assert {frozenset(_broken(parts)) for _, parts in answers} == {frozenset(PARTS)}


@with_database
def test_many_who_ask_share_one_question_to_a_silent_database(monkeypatch: pytest.MonkeyPatch) -> None:
    with _black_hole() as port, monkeypatch.context() as patch:
        patch.setitem(connections.settings["default"], "HOST", "127.0.0.1")
        patch.setitem(connections.settings["default"], "PORT", str(port))
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(_ask, Client()) for _ in range(6)]
            until(lambda: len(_probes()) == 1)
            most = 0
            while not all(answer.done() for answer in asked):
                most = max(most, len(_probes()))
                time.sleep(0.01)

    assert most <= 2, "at most one to the database and one to the broker"


@pytest.mark.usefixtures("worker")
def test_readyz_knows_a_broker_on_a_port(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with _valkey_on_a_port(tmp_path) as port:
        monkeypatch.setattr(app.conf, "broker_write_url", f"redis://127.0.0.1:{port}/0")

        status, _ = _ask(client)

    assert status == 200


@contextmanager
def _valkey_on_a_port(place: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(valkey_binary()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(place)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until(lambda: _accepts(port))
        yield port
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
