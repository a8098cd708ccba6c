"""What the chaos run breaks: a Postgres and a Valkey of its own, web processes, workers and engine loops."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from console.embedded.postgres import EmbeddedPostgres
from console.embedded.valkey import EmbeddedValkey
from tests.processes import Running, free_port

WEBS = 2
WORKERS = 4
LOOPS = 2
SLOTS = 2
TOOLS = "tests.chaos.tools"
WARM_STOP_SECONDS = 30.0


class Cluster:
    """Everything but the driver itself. Servers are started by the main thread only: they die with their thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger"
        self.postgres = EmbeddedPostgres(folder / "pg")
        self.valkey = EmbeddedValkey(folder / "valkey")
        self.workers: list[Running] = []
        self.loops: list[Running] = []
        self.webs: list[Running] = []
        self.origins: list[str] = []
        self._started = 0

    def start_services(self) -> None:
        """Both servers, and the environment that leads to them: for this process and all that it starts."""
        self.postgres.start()
        self.postgres.create_database()
        self.valkey.start()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "console.settings.test",
            "DATABASE_URL": self.postgres.url,
            "BROKER_URL": self.valkey.broker_url,
            "CHANNEL_URL": self.valkey.channel_url,
            "TASKDECK_TOOL_MODULES": TOOLS,
            "TASKDECK_LIVE_TASKS": "100000",
            "TASKDECK_REQUESTS_PER_SECOND": "100000",
            "TASKDECK_REQUESTS_BURST": "100000",
            "TASKDECK_ADDRESS_REQUESTS_PER_SECOND": "100000",
            "TASKDECK_POLLS_PER_INTERVAL": "100000",
            "TASKDECK_POLLS_BURST": "100000",
            "TASKDECK_LOG_LEVEL": "WARNING",
        }

    def start_processes(self) -> None:
        """Web processes, workers and engine loops; returns at once."""
        for web, origin in [self.start_web() for _ in range(WEBS)]:
            self.webs.append(web)
            self.origins.append(origin)
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        command = [sys.executable, "manage.py", "engine"]
        self.loops = [self._start(command, name="engine", environment={}) for _ in range(LOOPS)]

    def start_worker(self, *, slots: int = SLOTS, **environment: str) -> Running:
        """One more worker; returns at once."""
        options = ["--concurrency", str(slots), "--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
        # Named apart, or they would take each other for one.
        options += ["--hostname", f"worker-{self._started}@chaos"]
        command = [sys.executable, "-m", "celery", "-A", "console.celery", "worker", *options]
        return self._start(command, name="worker", environment=environment)

    def start_web(self, **environment: str) -> tuple[Running, str]:
        """A web process, and the address at which it will answer; returns at once."""
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--port", str(port), "--no-access-log"]
        return self._start(command, name="web", environment=environment), f"http://127.0.0.1:{port}"

    def replace_worker(self, index: int) -> int:
        """Tell a worker to go, wait for it, start another in its place, and give the exit code of the old one."""
        old = self.workers[index]
        old.send(signal.SIGTERM)
        code = old.wait(WARM_STOP_SECONDS)
        self.workers[index] = self.start_worker()
        return code

    def restart_postgres(self, *, at_once: bool) -> float:
        """Stop the database, fast or without a checkpoint, and start it; gives how long it was away."""
        begun = time.monotonic()
        pid = self.postgres.pid
        if at_once and pid is not None:
            os.kill(pid, signal.SIGQUIT)
            while self.postgres.poll() is None:
                time.sleep(0.02)
        self.postgres.stop()
        self.postgres.start()
        return time.monotonic() - begun

    def child_of_ours(self, worker: str) -> int | None:
        """The number of the process behind the name on an attempt, if it is a living child of one of our workers."""
        name, _, child = worker.partition("/")
        parents = {str(process.pid) for process in self.workers}
        if not child.isdigit() or name.split(":")[1] not in parents:
            return None
        with suppress(OSError, IndexError):
            status = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            return int(child) if status[1] in parents else None
        return None

    def deaths(self) -> list[str]:
        """The processes that ended by themselves: nothing that breaks around them may do that."""
        processes = {"worker": self.workers, "engine loop": self.loops, "web process": self.webs}
        return [
            f"a {name} ended by itself with {process.exit_code}"
            for name, some in processes.items()
            for process in some
            if process.exit_code is not None
        ]

    def stop(self) -> None:
        """End everything."""
        for process in [*self.webs, *self.workers, *self.loops]:
            process.end()
        self.valkey.stop()
        self.postgres.stop()

    def _start(self, command: list[str], *, name: str, environment: dict[str, str]) -> Running:
        self._started += 1
        output = (self.folder / f"{name}-{self._started}.log").open("ab")
        return Running(command, output=output, environment={"PYTHONUNBUFFERED": "1", **environment})
