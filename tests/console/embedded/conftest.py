"""What the tests of the embedded services share: places, bounded waiting, and runs of real processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
STAND_IN = Path(__file__).with_name("stand_in.py")
PATIENCE_SECONDS = 120
OURS = ("DATABASE_URL", "BROKER_URL", "CHANNEL_URL", "HOST", "PORT", "STUBBORN")


def wait_until(condition: Callable[[], object], *, what: str) -> None:
    """Return as soon as the condition holds; fail the test when it does not in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def processes_naming(path: Path) -> dict[int, str]:
    """Living processes with the path in their arguments or environment, by number."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()
            known = arguments + b"\0" + (entry / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(path) in known:
            found[int(entry.name)] = arguments.replace(b"\0", b" ").decode(errors="replace")
    return found


class Run:
    """One process under test: its lines, its signals, its end."""

    def __init__(self, command: Sequence[str], *, data: Path, user: int | None = None, **environment: str) -> None:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("TASKDECK_") and name not in OURS
        }
        self.data = data
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            cwd=data.parent,
            env=kept | {"PYTHONPATH": str(PROJECT), "TASKDECK_DATA": str(data)} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str, *, times: int = 1) -> None:
        wait_until(lambda: self.text.count(text) >= times or self._is_over(), what=f"{text!r} in:\n{self.text}")
        assert self.text.count(text) >= times, self.text

    def _is_over(self) -> bool:
        return self.process.poll() is not None and not self._reader.is_alive()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def code(self) -> int:
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    def pid_of(self, part: str) -> int:
        """The number of the child whose arguments contain the text; waits until there is exactly one."""
        wait_until(lambda: len(self._matching(part)) == 1, what=f"one process with {part!r}")
        return self._matching(part)[0]

    def _matching(self, part: str) -> list[int]:
        found = processes_naming(self.data)
        return [pid for pid, arguments in found.items() if part in arguments and "tether.py" not in arguments]

    def is_clean(self) -> bool:
        return not processes_naming(self.data)

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in processes_naming(self.data):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        wait_until(self.is_clean, what="the end of everything this test started")
        self._reader.join(PATIENCE_SECONDS)


@pytest.fixture
def place() -> Iterator[Path]:
    """A fresh directory that every user of the machine can enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="taskdeck-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def eventually() -> Callable[..., None]:
    """`eventually(condition, what=…)`: bounded waiting."""
    return wait_until


@pytest.fixture
def naming() -> Callable[[Path], dict[int, str]]:
    """`naming(path)`: the living processes that know a path."""
    return processes_naming


@pytest.fixture
def run(place: Path) -> Iterator[Callable[..., Run]]:
    """`run(command, data=…)`: a process under test; nothing of it outlives the test."""
    runs: list[Run] = []

    def start(command: Sequence[str], *, data: Path | None = None, user: int | None = None, **environment: str) -> Run:
        runs.append(Run(command, data=data or place / "data", user=user, **environment))
        return runs[-1]

    yield start
    for each in reversed(runs):
        each.clean_up()


@pytest.fixture
def launch(run: Callable[..., Run], free_port: int) -> Callable[..., Run]:
    """`launch()`: the whole start with stand-ins for the site's own processes."""

    def start(**environment: str) -> Run:
        given = {"PORT": str(free_port)} | environment
        return run([sys.executable, str(STAND_IN)], **given)

    return start


@pytest.fixture
def up(run: Callable[..., Run], free_port: int) -> Callable[..., Run]:
    """`up()`: the real `manage.py up`."""

    def start(**environment: str) -> Run:
        given = {"PORT": str(free_port), "DJANGO_SETTINGS_MODULE": "console.settings.embedded"} | environment
        return run([sys.executable, str(PROJECT / "manage.py"), "up"], **given)

    return start
