"""Both servers of the benchmark of the endpoint, side by side on loopback, and the process that puts load on them.

Ours: a Postgres with its durability on, a Valkey, web processes, workers with two children and an engine loop, as
`make run` starts them. The other: FastMCP in its own environment with a Valkey of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.db import connection

from console.embedded.postgres import EmbeddedPostgres
from console.embedded.valkey import EmbeddedValkey
from tests.interop.environments import environment
from tests.processes import Running, free_port
from tests.waiting import until

OWNERS = 16
CHILDREN = 2
START_SECONDS = 60.0
# What would stand in the way of measuring: printed with the result.
RAISED = {
    "TASKDECK_LIVE_TASKS": "1000000",
    "TASKDECK_OWNER_BYTES": str(2**50),
    "TASKDECK_REQUESTS_PER_SECOND": "1000000",
    "TASKDECK_REQUESTS_BURST": "1000000",
    "TASKDECK_ADDRESS_REQUESTS_PER_SECOND": "1000000",
    "TASKDECK_POLLS_PER_INTERVAL": "1000000",
    "TASKDECK_POLLS_BURST": "1000000",
}
SITE = {
    "DJANGO_SETTINGS_MODULE": "console.settings.embedded",
    "TASKDECK_SECRET_KEY": "a key for benchmarks, long enough and secret to nobody at all",
    "TASKDECK_TOOL_MODULES": "tests.bench.noop",
    "TASKDECK_DEMO": "0",
    "PYTHONUNBUFFERED": "1",
}


@dataclass(frozen=True)
class Side:
    """One server: where it answers, to whom, and its processes by name."""

    ports: tuple[int, ...]
    tokens: tuple[str, ...]
    processes: dict[str, int] = field(default_factory=dict)

    def resident_mb(self, name: str) -> float:
        """The memory that a process holds now."""
        pages = int(Path(f"/proc/{self.processes[name]}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class World:
    """Starts what is asked for in a folder of its own, and ends all of it with the block."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._count = 0

    def ours(self, *, rows: int) -> Side:
        """Our server, its tables filled with so many tasks."""
        tokens, services = self.services(rows=rows)
        return self.serve(tokens, services)

    def services(self, *, rows: int) -> tuple[tuple[str, ...], dict[str, int]]:
        """Postgres and Valkey with so many tasks; gives tokens of those who will call, and the process numbers."""
        postgres = EmbeddedPostgres(self._folder / "pg", settings={"max_connections": "200"})
        valkey = EmbeddedValkey(self._folder / "valkey")
        for service in (postgres, valkey):
            service.start()
            self._stack.callback(service.stop)
        postgres.create_database()
        addresses = {
            "DATABASE_URL": postgres.url,
            "BROKER_URL": valkey.broker_url,
            "CHANNEL_URL": valkey.channel_url,
        }
        os.environ.update(RAISED | SITE | addresses)
        django.setup()
        call_command("migrate", verbosity=0)
        return _fill(rows), {"postgres": postgres.pid or 0, "valkey": valkey.pid or 0}

    def serve(self, tokens: tuple[str, ...], services: dict[str, int], **given: str) -> Side:
        """A web process, a worker and an engine loop on what `services` started."""
        worker, engine = self.worker(**given), self.run(sys.executable, "manage.py", "engine", **given)
        port, web = self.web(**given)
        until(lambda: " ready." in worker.output(), START_SECONDS)
        return Side((port,), tokens, {"web": web.pid, "worker": worker.pid, "engine": engine.pid} | services)

    def web(self, **given: str) -> tuple[int, Running]:
        """A web process that answers."""
        port = free_port()
        uvicorn = (sys.executable, "-m", "uvicorn", "console.asgi:application", "--no-access-log")
        return port, self._answering(port, *uvicorn, "--port", str(port), **given)

    def worker(self, **given: str) -> Running:
        """A worker with two children."""
        celery = (sys.executable, "-m", "celery", "-A", "console.celery", "worker", "--concurrency", str(CHILDREN))
        return self.run(*celery, "--loglevel", "INFO", "--hostname", f"worker-{self._count}@bench", **given)

    @contextmanager
    def inner(self) -> Iterator[World]:
        """A world within: what is started in it ends with the block."""
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            yield World(folder, stack)

    def peer(self) -> Side:
        """FastMCP with tasks on a Valkey of its own."""
        valkey = EmbeddedValkey(self._folder / "peer")
        valkey.start()
        self._stack.callback(valkey.stop)
        tokens = tuple(secrets.token_urlsafe(24) for _ in range(OWNERS))
        port = free_port()
        given = {"PEER_TOKENS": ",".join(tokens), "FASTMCP_DOCKET_URL": valkey.channel_url}
        server = self._answering(port, str(environment("fastmcp")), "-m", "tests.bench.peer", str(port), **given)
        return Side((port,), tokens, {"server": server.pid, "valkey": valkey.pid or 0})

    def run(self, *command: str, **given: str) -> Running:
        """Start a process that is ended with the block."""
        self._count += 1
        output = self._stack.enter_context((self._folder / f"{self._count}.log").open("wb"))
        running = Running(command, output=output, environment=given)
        self._stack.callback(running.end)
        return running

    def _answering(self, port: int, *command: str, **given: str) -> Running:
        running = self.run(*command, **given)
        until(lambda: _is_open(port), START_SECONDS)
        return running


@contextmanager
def world() -> Iterator[World]:
    """An empty world."""
    folder = Path(tempfile.mkdtemp(prefix="taskdeck-bench-"))
    # Postgres runs as somebody else, who must be able to come in.
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield World(folder, stack)


def _is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _fill(rows: int) -> tuple[str, ...]:
    """Old tasks of others, and the tokens of those who will call."""
    from tasks_app import store
    from tasks_app.domain.identity import Actor, OwnerKind
    from tasks_app.models import Task
    from tasks_app.store.seed import Plot, load

    by = Actor.system(via="bench")
    for _ in load(Plot(tasks=rows, owners=OWNERS, seed=rows)):
        pass
    # No worker here knows their tools: those that are live would be tried again and again.
    for task_id in Task.objects.filter(finished_at=None).values_list("id", flat=True):
        store.cancel(task_id, owner_id=None, by=by)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_attempt SET lease_until = tasks_now() WHERE ended_at IS NULL")
    while store.reap():
        pass
    # Or the loop would still be sealing what was loaded while the clients are measured.
    while store.seal():
        pass
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")
    owners = [store.find_or_make_owner(OwnerKind.USER, subject=f"bench-{number}") for number in range(OWNERS)]
    tokens = tuple(store.create_token(owner, name="bench", by=by)[0] for owner in owners)
    connection.close()
    return tokens


class Load:
    """The process that plays the clients."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def put(self, side: Side, **order: Any) -> dict[str, Any]:
        """Let the clients do something, and give what they saw. Raises when an answer was wrong."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({**asdict(side), **order}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the clients gave up; what they said stands above")
        outcome: dict[str, Any] = json.loads(line)
        return outcome

    def end(self) -> None:
        """Send the clients home."""
        self._process.communicate(timeout=START_SECONDS)


def wait_until_idle() -> None:
    """Return once nothing runs: the engine loop has closed the attempts that were loaded as running."""
    until(_is_idle, START_SECONDS)
    connection.close()


def _is_idle() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT NOT EXISTS (SELECT 1 FROM tasks_attempt WHERE ended_at IS NULL)")
        return bool(cursor.fetchone()[0])
