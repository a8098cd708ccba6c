"""Faults that need processes of their own: a database that falls silent (C6), and clocks that are wrong (C11)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.identity import Actor
from tasks_app.mcp.errors import INVALID_PARAMS
from tasks_app.store.db import rows
from tests.acceptance.remote_modern import Modern
from tests.chaos.cluster import TOOLS
from tests.chaos.faults import Arena
from tests.chaos.line import Line
from tests.chaos.load import patiently
from tests.processes import Running

BY = Actor.system(via="chaos")
START_SECONDS = 120.0
# The pool of a web process, and the few connections that Django's own threads may have.
MOST_CONNECTIONS = 16 + 8
FAILS_WITHIN = 6.5
SILENT_SECONDS = 20.0
SILENT_AT_LEAST = 8.0
HOUR, TEN_MINUTES = 3600.0, 600.0
SHORT_TTL_MS = 4_000


def silent_database(arena: Arena) -> None:
    """C6: the database takes every question of a web process and of a worker, and answers none for a while."""
    path = arena.cluster.postgres.sockets / ".s.PGSQL.5432"
    with Line(str(path)) as line:
        url = f"postgresql://postgres@127.0.0.1:{line.port}/taskdeck"
        with _processes(arena, DATABASE_URL=url) as (client, worker):
            task_id = arena.clients.create("work", owner=arena.clients.owners[0])
            with line.dead():
                _fail_in_time(arena, client, seconds=max(SILENT_AT_LEAST, SILENT_SECONDS / arena.scale))
            mended = time.monotonic()
            if arena.until(partial(_answers, client, task_id), 30, what="C6: the web process answers again") is None:
                return
            arena.journal.recovered("C6 silent database, until the web process answered", time.monotonic() - mended)
            if line.connections > MOST_CONNECTIONS:
                arena.journal.wrong.append(f"C6: {line.connections} connections are open after the silence")
            _until_it_works(arena, worker, what="C6: the worker behind the silent line works again")


def _fail_in_time(arena: Arena, client: Modern, *, seconds: float) -> None:
    """Every request of the silent time ends soon, with an error that says what is wrong."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        said = client.request("tools/call", {"name": "work", "arguments": {"ledger": str(arena.cluster.ledger)}})
        took = time.monotonic() - begun
        arena.journal.recovered("C6 request to a silent database, until it failed", took)
        if took > FAILS_WITHIN:
            arena.journal.wrong.append(f"C6: a request took {took:.1f} s: {said}")
        if said.get("error", {}).get("data", {}).get("reason") != "storage" and time.monotonic() < until:
            arena.journal.wrong.append(f"C6: a request was answered with {said}")


def wrong_clocks(arena: Arena) -> None:
    """C11: the clocks of two workers are an hour off, that of a web process ten minutes; nothing changes."""
    off = arena.random.choice((-TEN_MINUTES, TEN_MINUTES))
    early = arena.cluster.start_worker(slots=1, **_skew(-HOUR))
    try:
        with _processes(arena, **_skew(off), worker_skew=HOUR) as (client, late):
            made = UUID(client.make("work", ledger=str(arena.cluster.ledger)))
            _check_times(arena, made)
            _check_expiry(arena, client)
            for worker in (early, late):
                _until_it_works(arena, worker, what="C11: a worker with a wrong clock works")
                _check_leases(arena, worker)
    finally:
        early.end()


def _check_leases(arena: Arena, worker: Running) -> None:
    """A lease is as long as it should be, however wrong the clock of the process that holds it."""
    text = """SELECT extract(epoch FROM max(a.lease_until - coalesce(a.ended_at, tasks_now())))::float8
                FROM tasks_attempt a WHERE a.worker LIKE %(worker)s"""
    [(longest,)] = patiently(partial(rows, text, {"worker": f"%:{worker.pid}:%"}))
    if longest is None or not -HOUR / 60 < longest <= conf().lease:
        arena.journal.wrong.append(f"C11: a worker with a wrong clock has a lease of {longest} s")


def _check_times(arena: Arena, task_id: UUID) -> None:
    text = """SELECT abs(extract(epoch FROM tasks_now() - created_at)), extract(epoch FROM expires_at - created_at)
                FROM tasks_task WHERE id = %(task)s"""
    [(age, lifetime)] = patiently(partial(rows, text, {"task": task_id}))
    if age > HOUR / 60 or abs(float(lifetime) - HOUR) > 1:
        arena.journal.wrong.append(f"C11: a task made under a wrong clock is {age} s old and lives for {lifetime} s")


def _check_expiry(arena: Arena, client: Modern) -> None:
    """A web process whose clock is wrong shows a task until its time has come, and not longer."""
    begun = time.monotonic()
    # Long enough that it does not end before: what has ended stays readable for minutes.
    long = {"parts": 1000}
    task_id = arena.clients.create("work", owner=arena.clients.owners[0], arguments=long, ttl_ms=SHORT_TTL_MS)
    if not _answers(client, task_id):
        arena.journal.wrong.append("C11: a task is not shown before its time has come")
    arena.until(partial(_is_gone, client, task_id), 30, what="C11: a task is gone when its time has come")
    took = time.monotonic() - begun
    if took < SHORT_TTL_MS / 1000:
        arena.journal.wrong.append(f"C11: a task of {SHORT_TTL_MS} ms was gone after {took:.1f} s")


@contextmanager
def _processes(arena: Arena, *, worker_skew: float = 0.0, **environment: str) -> Iterator[tuple[Modern, Running]]:
    """A web process and a worker in this environment: a client of the one, and the other; ended with the block."""
    token, _ = patiently(partial(store.create_token, arena.clients.owners[0], name="chaos", by=BY))
    web, origin = arena.cluster.start_web(**environment)
    worker = arena.cluster.start_worker(slots=1, **(environment | (_skew(worker_skew) if worker_skew else {})))
    client = Modern(origin, token)
    try:
        probe = arena.clients.create("work", owner=arena.clients.owners[0])
        arena.until(partial(_answers, client, probe), START_SECONDS, what="a web process starts")
        _until_it_works(arena, worker, what="another worker starts")
        yield client, worker
    finally:
        web.end()
        worker.end()


def _skew(seconds: float) -> dict[str, str]:
    return {"CHAOS_SKEW": str(seconds), "TASKDECK_TOOL_MODULES": f"{TOOLS},tests.chaos.skew"}


def _answers(client: Modern, task_id: UUID) -> bool:
    """Whether the web process shows this task to its owner."""
    try:
        return "result" in client.request("tasks/get", {"taskId": str(task_id)})
    except OSError:
        return False


def _is_gone(client: Modern, task_id: UUID) -> bool:
    """Whether the web process says that there is no such task, and not only that it was asked too often."""
    error = client.request("tasks/get", {"taskId": str(task_id)}).get("error")
    return isinstance(error, dict) and error.get("code") == INVALID_PARAMS


def _until_it_works(arena: Arena, worker: Running, *, what: str) -> None:
    """Give work until this worker has completed some of it that began after now."""
    text = """SELECT 1 FROM tasks_attempt
               WHERE worker LIKE %(worker)s AND started_at > %(since)s AND outcome = 'completed' LIMIT 1"""
    asked = {"worker": f"%:{worker.pid}:%", "since": _now()}
    done: Callable[[], Any] = partial(rows, text, asked)
    begun = time.monotonic()
    while not patiently(done):
        if time.monotonic() > begun + START_SECONDS:
            arena.journal.wrong.append(f"{what}: not within {START_SECONDS:.0f} s")
            return
        for _ in range(8):
            arena.clients.create("work", arguments={"parts": 1})
        time.sleep(0.5)


def _now() -> Any:
    return patiently(partial(rows, "SELECT tasks_now()"))[0][0]
