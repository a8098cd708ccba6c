"""The supervisor with small real children: restarts, names, order and the end."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.embedded.children import Child, ChildSpec
from console.embedded.errors import EmbeddedError, Stopped
from console.embedded.output import Output
from console.embedded.processes import Checkpoint, command_line, describe_exit
from console.embedded.stop import Stop
from console.embedded.supervisor import Backoff, Supervisor

SLEEPER = "import signal; print('at work', flush=True); signal.pause()"
PARENT = """
import subprocess
process = subprocess.Popen(["/bin/sleep", "600"])
print("child", process.pid, flush=True)
process.wait()
"""
DEAF = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    signal.pause()
"""
POLITE = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *arguments: sys.exit(print("bye")))
print("up", flush=True)
signal.pause()
"""


class Desk:
    """A supervisor on this process's own output, with children to put into it."""

    def __init__(self, place: Path, stop: Stop) -> None:
        self.stream = io.BytesIO()
        self.output = Output(self.stream)
        self.stop = stop
        self.supervisor = Supervisor(output=self.output, stop=stop)
        self._place = place

    @property
    def text(self) -> str:
        return self.stream.getvalue().decode()

    def add(self, name: str, code: str, *, grace: float = 10.0) -> Child:
        spec = ChildSpec(name, [sys.executable, "-c", code], grace=grace)
        child = Child(spec, cwd=self._place, environment=dict(os.environ), output=self.output)
        self.supervisor.start_child(child)
        return child

    def tend_until(self, condition: Any, *, what: str) -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.text}"
            self.supervisor.tend()
            self.stop.wait(0.02)


class Server:
    """A server that only notes what is done to it."""

    def __init__(self, name: str, notes: list[str], *, fails: int = 0) -> None:
        self.name = name
        self.code: int | None = None
        self._notes = notes
        self._fails = fails

    def start(self, *, checkpoint: Checkpoint) -> None:
        if self.code is not None and self._fails:
            self._fails -= 1
            raise EmbeddedError("no room")
        self.code = None
        self._notes.append(f"start {self.name}")

    def poll(self) -> int | None:
        return self.code

    def stop(self) -> None:
        self._notes.append(f"stop {self.name}")


@pytest.fixture
def desk(place: Path) -> Iterator[Desk]:
    with Stop() as stop:
        desk = Desk(place, stop)
        yield desk
        desk.supervisor.shut_down()


def is_gone(pid: int) -> bool:
    return command_line(pid) in ([], [""])


def test_child_output_carries_its_name_line_by_line(desk: Desk) -> None:
    desk.add("web", "print('one'); print('zwei: ö', flush=True); import signal; signal.pause()")

    desk.tend_until(lambda: "zwei" in desk.text, what="the second line")

    assert desk.text.splitlines() == ["web    | one", "web    | zwei: ö"]


def test_child_that_dies_is_named_and_started_again(desk: Desk) -> None:
    child = desk.add("worker", SLEEPER)
    first = child.pid
    assert first is not None

    os.kill(first, signal.SIGKILL)
    desk.tend_until(lambda: child.pid not in (None, first), what="a new worker")

    assert "worker was killed by signal 9 (SIGKILL); starting it again in 0.5 s." in desk.text


def test_child_that_keeps_failing_waits_longer_each_time(desk: Desk) -> None:
    desk.add("engine", "raise SystemExit(3)")

    desk.tend_until(lambda: desk.supervisor.failures("engine") == 2, what="two ends")

    ends = [line for line in desk.text.splitlines() if line.startswith("engine ")]
    assert ends == [
        "engine ended with exit code 3; starting it again in 0.5 s.",
        "engine ended with exit code 3; starting it again in 1 s.",
    ]


def test_back_off_doubles_up_to_30_seconds_and_forgets_after_a_healthy_while() -> None:
    backoff = Backoff()

    ill = [backoff.delay(lived=1) for _ in range(8)]
    well = [backoff.delay(lived=31), backoff.delay(lived=1)]

    assert ill == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert well == [0.5, 1]


def test_child_takes_its_own_children_along_when_it_is_killed(desk: Desk, eventually: Any) -> None:
    child = desk.add("worker", PARENT)
    desk.tend_until(lambda: "child " in desk.text, what="the grandchild")
    grandchild = int(desk.text.split()[-1])
    assert child.pid is not None

    os.kill(child.pid, signal.SIGKILL)
    desk.tend_until(lambda: desk.supervisor.failures("worker") == 1, what="the notice")

    eventually(lambda: is_gone(grandchild), what="the end of the grandchild")


def test_shut_down_asks_children_first_and_then_stops_servers_in_reverse(desk: Desk) -> None:
    notes: list[str] = []
    desk.supervisor.start_server(Server("postgres", notes))
    desk.supervisor.start_server(Server("valkey", notes))
    last_words = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(print('bye'))); print('up', flush=True)"
    )
    child = desk.add("web", last_words + "\nwhile True: signal.pause()")
    desk.tend_until(lambda: "up" in desk.text, what="the child")

    desk.supervisor.shut_down()

    assert "web    | bye" in desk.text
    assert child.pid is None
    assert notes == ["start postgres", "start valkey", "stop valkey", "stop postgres"]


def test_shut_down_kills_a_child_that_does_not_listen(desk: Desk) -> None:
    child = desk.add("worker", DEAF, grace=0.2)
    desk.tend_until(lambda: "deaf" in desk.text, what="the child")

    desk.supervisor.shut_down()

    assert "worker did not stop in time and was killed." in desk.text
    assert child.poll() == -signal.SIGKILL


def test_server_that_cannot_be_started_again_is_tried_until_it_can(desk: Desk) -> None:
    notes: list[str] = []
    server = Server("postgres", notes, fails=1)
    desk.supervisor.start_server(server)

    server.code = -9
    desk.tend_until(lambda: notes.count("start postgres") == 2, what="a new start")

    assert "postgres did not start (no room); starting it again in 1 s." in desk.text


def test_stop_signal_ends_a_wait_and_every_checkpoint() -> None:
    with Stop() as stop:
        stop.check()

        os.kill(os.getpid(), signal.SIGTERM)
        stop.wait(20)

        assert stop.requested
        assert not stop.forced
        with pytest.raises(Stopped):
            stop.check()


def test_stop_signals_that_come_together_are_one_wish(eventually: Any) -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        forced_at_once = stop.forced

        def hurry() -> bool:
            os.kill(os.getpid(), signal.SIGINT)
            return stop.forced

        eventually(hurry, what="a later signal to count")

    assert not forced_at_once


def test_output_that_nobody_reads_does_not_stop_anything() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        output = Output(stream)

        output.say("into the void")
        output.say("and again")

    assert stream.closed


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with exit code 0"), (-15, "was killed by signal 15 (SIGTERM)"), (-99, "was killed by signal 99 (99)")],
)
def test_exit_codes_read_as_words(code: int, words: str) -> None:
    assert describe_exit(code) == words


def test_command_line_of_a_zombie_is_empty(eventually: Any) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])

    eventually(lambda: is_gone(dead.pid), what="the end of the process, which nobody has waited for")

    assert dead.wait() == 0
