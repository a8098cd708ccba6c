"""Real web processes, workers and engine loops for tests, on the test database: such tests are transactional.

Every process of a parallel run has a database of its own in the broker, so that no hint reaches another's worker.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlencode

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import sql

from console.celery import app

PROJECT = Path(__file__).resolve().parent.parent
BROKER_DATABASES = 16
STOP_SECONDS = 20.0
START_SECONDS = 30.0
LOOK_EVERY = 0.05


class Running:
    """A process under test."""

    def __init__(self, command: Sequence[str], *, output: IO[bytes], environment: dict[str, str]) -> None:
        self._output = output
        self._process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process itself."""
        self._process.send_signal(number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """The exit code; fails the test when the process does not end in time."""
        return self._process.wait(seconds)

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        """Everything that it has said so far."""
        return Path(self._output.name).read_text(errors="replace")

    def end(self) -> None:
        """Make sure that nothing of it is left."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


def start_worker(*, app: str = "console.celery", slots: int = 2, **environment: str) -> AbstractContextManager[Running]:
    """A Celery worker, ended with the block."""
    options = ["--concurrency", str(slots), "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    return _start([sys.executable, "-m", "celery", "-A", app, "worker", *options], environment)


def start_engine(**environment: str) -> AbstractContextManager[Running]:
    """An engine loop, ended with the block."""
    return _start([sys.executable, "manage.py", "engine"], environment)


@contextmanager
def start_web(**environment: str) -> Iterator[tuple[Running, str]]:
    """A web process that answers, and its address; ended with the block."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--port", str(port), "--no-access-log"]
    with _start(command, environment) as web:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            assert time.monotonic() < deadline, f"the web process does not answer: {web.output()}"
            time.sleep(LOOK_EVERY)
        yield web, f"http://127.0.0.1:{port}"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _start(command: Sequence[str], environment: dict[str, str]) -> Iterator[Running]:
    addresses = {
        "DJANGO_SETTINGS_MODULE": "console.settings.test",
        "DATABASE_URL": database_url(),
        "BROKER_URL": broker_url(),
        "PYTHONUNBUFFERED": "1",
    }
    with tempfile.NamedTemporaryFile(prefix="taskdeck-process-") as output:
        running = Running(command, output=output, environment=addresses | environment)
        try:
            yield running
        finally:
            running.end()
            # Shown by pytest when the test fails, and only then.
            sys.stdout.write(running.output())


def database_url(*, name: str = "") -> str:
    """The address of the database that the tests use, or of another one beside it."""
    values = connection.settings_dict
    user = quote(values["USER"], safe="") + (f":{quote(values['PASSWORD'], safe='')}" if values["PASSWORD"] else "")
    where = {"host": values["HOST"], "port": values["PORT"]}
    query = urlencode({name: value for name, value in where.items() if value})
    return f"postgresql://{user}@/{quote(name or values['NAME'], safe='')}?{query}"


@contextmanager
def database_away() -> Iterator[None]:
    """Nobody new can connect to the database of the tests; the test's own connection goes on."""
    connection.ensure_connection()
    name = connection.settings_dict["NAME"]
    switch = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(database_url(name="postgres"), autocommit=True) as beside:
        beside.execute(switch.format(sql.Identifier(name), sql.SQL("false")))
        try:
            yield
        finally:
            beside.execute(switch.format(sql.Identifier(name), sql.SQL("true")))


def broker_url() -> str:
    """The broker of the tests, in the database of this process of a parallel run."""
    address: str = settings.CELERY_BROKER_URL
    number = _number_of_this_process() % BROKER_DATABASES
    if address.startswith("redis+socket:"):
        return f"{address}{'&' if '?' in address else '?'}virtual_host={number}"
    return re.sub(r"(//[^/]+)(/\d*)?$", rf"\g<1>/{number}", address)


def hint_through(address: str) -> None:
    """Let this process send its hints there; connections to another broker are let go."""
    app.conf.broker_url = address
    app._pool = None
    app.amqp._producer_pool = None


def _number_of_this_process() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
