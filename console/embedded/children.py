"""The child processes of the supervisor: each in a group of its own, its output relayed under its name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.embedded.output import Output
from console.embedded.processes import Checkpoint, end_group, nothing, spawn

RELAY_SECONDS = 2.0


@dataclass(frozen=True)
class ChildSpec:
    """What to run, and how many seconds it may take to finish when asked to stop."""

    name: str
    command: Sequence[str]
    grace: float = 10.0


class Child:
    """One child process that can be started again and again."""

    def __init__(self, spec: ChildSpec, *, cwd: Path, environment: Mapping[str, str], output: Output) -> None:
        self.name = spec.name
        self.grace = spec.grace
        self._spec = spec
        self._cwd = cwd
        self._environment = environment
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._relay: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        """The process number while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self, *, checkpoint: Checkpoint = nothing) -> None:
        """Start the process; returns at once."""
        checkpoint()
        # Killed rather than asked when the supervisor dies: a lost lease is repaired, an orphan is not.
        process = spawn(
            self._spec.command,
            cwd=self._cwd,
            output=subprocess.PIPE,
            on_parent_death=signal.SIGKILL,
            environment=self._environment,
        )
        self._process = process
        if process.stdout is not None:
            self._relay = self._output.relay(process.stdout, name=self.name)

    def poll(self) -> int | None:
        """The exit code once it has ended, with whatever it left in its group killed; None while it runs."""
        if self._process is None:
            return None
        code = self._process.poll()
        if code is not None:
            self._clear()
        return code

    def is_running(self) -> bool:
        """Whether there is a living process now."""
        return self._process is not None and self.poll() is None

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the process itself, which knows how to end its own children."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group now, and wait for it."""
        if self._process is None:
            return
        end_group(self._process)
        self._clear()

    def _clear(self) -> None:
        if self._process is not None and self._relay is not None:
            end_group(self._process)
            self._relay.join(RELAY_SECONDS)
            self._relay = None
