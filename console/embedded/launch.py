"""The steps of `manage.py up`, in order, from an empty directory to a site that answers, and back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.embedded.account import unprivileged_account
from console.embedded.address import Address, read_address
from console.embedded.children import Child, ChildSpec
from console.embedded.errors import EmbeddedError, Stopped
from console.embedded.output import Output
from console.embedded.paths import DataDirectory, choose_data_directory
from console.embedded.postgres import EmbeddedPostgres
from console.embedded.processes import describe_exit, end, end_group, spawn
from console.embedded.stop import Stop
from console.embedded.supervisor import TURN_SECONDS, Supervisor
from console.embedded.valkey import EmbeddedValkey

DEFAULT_WORKERS = "4"
WEB_GRACE_SECONDS = 5
LARGEST_FRAME_BYTES = 65_536
# Messages are JSON and the embedded worker runs as whoever started it, so this advice helps nobody.
NO_ROOT_WARNING = "ignore:You're running the worker with superuser privileges"
READY_SECONDS = 120.0
FAILURES_BEFORE_READY = 3
STEP_STOP = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True)
class Program:
    """What is to be run: the project, and the commands that greet a newcomer and play the demo, when there are any."""

    project: Path
    first_run: str | None = None
    demo: str | None = None

    def manage(self, *arguments: str) -> list[str]:
        """The command line of one of the project's management commands."""
        return [sys.executable, str(self.project / "manage.py"), *arguments]

    def children(self, address: Address, *, workers: int) -> list[ChildSpec]:
        """The processes of the site, in the order of their start."""
        web = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--no-access-log"]
        web += ["--host", address.host, "--port", str(address.port)]
        web += ["--timeout-graceful-shutdown", str(WEB_GRACE_SECONDS), "--ws-max-size", str(LARGEST_FRAME_BYTES)]
        worker = [sys.executable, "-W", NO_ROOT_WARNING, "-m", "celery", "--quiet", "-A", "console.celery", "worker"]
        worker += ["--concurrency", str(workers)]
        specs = [
            ChildSpec("web", web, grace=WEB_GRACE_SECONDS + 3),
            ChildSpec("worker", worker),
            ChildSpec("engine", self.manage("engine")),
        ]
        return specs if self.demo is None else [*specs, ChildSpec("demo", self.manage(self.demo))]


def launch(program: Program, *, environ: Mapping[str, str], output: Output) -> None:
    """Run the whole site until a stop signal; raises EmbeddedError with the reason when it cannot."""
    with Stop() as stop:
        address = read_address(environ)
        workers = _read_workers(environ)
        account = None if environ.get("DATABASE_URL") else unprivileged_account()
        data = choose_data_directory(program.project, environ=environ, account=account)
        if data.instead_of:
            output.say(f"The database account cannot reach {data.instead_of}, so the data is in {data.path}.")
        try:
            data.create()
            with data.lock():
                data.check_format()
                address.require_free()
                run = _Run(program, data=data, environ=environ, output=output, stop=stop)
                run.until_stopped(address, workers=workers)
        except OSError as error:
            # A full disk, a directory that is not ours, a file system that is read-only …
            raise EmbeddedError(f"{error.filename or data.path}: {error.strerror or error}.") from error
        output.say(f"Stopped. Your data is in {data.path}.")


class _Run:
    """One run of the site on a data directory that is already ours."""

    def __init__(
        self, program: Program, *, data: DataDirectory, environ: Mapping[str, str], output: Output, stop: Stop
    ) -> None:
        self._program = program
        self._data = data
        self._environment = {**environ, "TASKDECK_DATA": str(data.path), "PYTHONUNBUFFERED": "1"}
        self._output = output
        self._stop = stop
        self._supervisor = Supervisor(output=output, stop=stop)

    def until_stopped(self, address: Address, *, workers: int) -> None:
        """Start everything, say so, and keep it running until a stop signal; everything is down afterwards."""
        try:
            self._start_servers()
            greeting = self._prepare_site(address)
            self._start_children(address, workers=workers)
            self._wait_until_ready(address)
            self._output.say(f"Taskdeck is ready: {address.url}")
            if greeting:
                self._output.say(greeting)
            self._supervisor.run()
        except Stopped:
            self._output.say("Stopping…")
        finally:
            self._supervisor.shut_down()

    def _start_servers(self) -> None:
        environment = self._environment
        if not environment.get("TASKDECK_SECRET_KEY"):
            environment["TASKDECK_SECRET_KEY"] = self._data.secret_key()
        if not environment.get("DATABASE_URL"):
            self._start_postgres()
        if not (environment.get("BROKER_URL") and environment.get("CHANNEL_URL")):
            self._start_valkey()

    def _start_postgres(self) -> None:
        self._output.say("Starting Postgres…")
        postgres = EmbeddedPostgres(self._data.path / "pg")
        self._supervisor.start_server(postgres)
        postgres.create_database()
        for name in [name for name in self._environment if name.startswith("PG") and name.isupper()]:
            del self._environment[name]  # PGPORT, PGSERVICE … would lead the children elsewhere
        self._environment["DATABASE_URL"] = postgres.url

    def _start_valkey(self) -> None:
        self._output.say("Starting Valkey…")
        valkey = EmbeddedValkey(self._data.path / "valkey")
        self._supervisor.start_server(valkey)
        self._environment["BROKER_URL"] = self._environment.get("BROKER_URL") or valkey.broker_url
        self._environment["CHANNEL_URL"] = self._environment.get("CHANNEL_URL") or valkey.channel_url

    def _prepare_site(self, address: Address) -> str:
        """Migrate, then let the first-run command speak; returns what it said."""
        self._environment |= {"HOST": address.host, "PORT": str(address.port), "TASKDECK_URL": address.url}
        self._output.say("Migrating…")
        self._do(self._program.manage("migrate", "--noinput"), what="The migration")
        if self._program.first_run is None:
            return ""
        return self._do(self._program.manage(self._program.first_run), what="The first-run command").strip()

    def _start_children(self, address: Address, *, workers: int) -> None:
        self._output.say("Starting web, worker and engine…")
        for spec in self._program.children(address, workers=workers):
            child = Child(spec, cwd=self._program.project, environment=self._environment, output=self._output)
            self._supervisor.start_child(child)

    def _wait_until_ready(self, address: Address) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not address.is_healthy():
            self._stop.check()
            self._supervisor.tend()
            if self._supervisor.failures("web") >= FAILURES_BEFORE_READY:
                raise EmbeddedError("The web server ends as soon as it is started; its output above says why.")
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{address.url}healthz did not answer with 200 in {READY_SECONDS:g} s.")
            self._stop.wait(TURN_SECONDS)

    def _do(self, command: Sequence[str], *, what: str) -> str:
        """Run a command to its end and return its output; shows it and raises EmbeddedError when it fails."""
        process = spawn(
            command,
            cwd=self._program.project,
            output=subprocess.PIPE,
            on_parent_death=signal.SIGKILL,
            environment=self._environment,
        )
        try:
            said = self._collect(process)
        finally:
            end(process, steps=STEP_STOP)
            end_group(process)
        if process.returncode:
            self._output.say(said.rstrip())
            raise EmbeddedError(f"{what} {describe_exit(process.returncode)}; its output above says why.")
        return said

    def _collect(self, process: subprocess.Popen[bytes]) -> str:
        while True:
            self._stop.check()
            with contextlib.suppress(subprocess.TimeoutExpired):
                said, _ = process.communicate(timeout=TURN_SECONDS)
                return os.fsdecode(said)


def _read_workers(environ: Mapping[str, str]) -> int:
    text = environ.get("TASKDECK_WORKERS") or DEFAULT_WORKERS
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise EmbeddedError(f"TASKDECK_WORKERS={text} is not a number of workers. Leave it out for {DEFAULT_WORKERS}.")
    return int(text)
