"""Keeps the parts running: whatever ends is named and started again, and a stop takes everything down in order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from console.embedded.children import Child
from console.embedded.errors import EmbeddedError
from console.embedded.output import Output
from console.embedded.processes import Checkpoint, describe_exit
from console.embedded.stop import Stop

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
HEALTHY_SECONDS = 30.0
TURN_SECONDS = 0.1


class Part(Protocol):
    """Something that runs and may end: a child or an embedded server."""

    name: str

    def start(self, *, checkpoint: Checkpoint) -> None: ...

    def poll(self) -> int | None: ...


class Server(Part, Protocol):
    """A part that the children need; it is stopped after them."""

    def stop(self) -> None: ...


class Backoff:
    """How long to wait before the next start: doubling, and short again after a healthy while."""

    def __init__(self) -> None:
        self._next = FIRST_DELAY_SECONDS

    def delay(self, *, lived: float) -> float:
        """The pause after a life of that many seconds."""
        if lived >= HEALTHY_SECONDS:
            self._next = FIRST_DELAY_SECONDS
        pause, self._next = self._next, min(2 * self._next, LONGEST_DELAY_SECONDS)
        return pause


class Keeper:
    """Watches one part and starts it again when it has ended."""

    def __init__(self, part: Part, *, output: Output) -> None:
        self.part = part
        self.failures = 0
        self._output = output
        self._backoff = Backoff()
        self._began = time.monotonic()
        self._start_at: float | None = None

    def start(self, *, checkpoint: Checkpoint) -> None:
        """Start the part for the first time; errors are the caller's."""
        self._began = time.monotonic()
        self.part.start(checkpoint=checkpoint)

    def tend(self, *, checkpoint: Checkpoint) -> None:
        """Look once: name an end, or start again when the pause is over."""
        now = time.monotonic()
        if self._start_at is None:
            code = self.part.poll()
            if code is not None:
                self._plan_restart(describe_exit(code))
        elif now >= self._start_at:
            self._restart(checkpoint)

    def _plan_restart(self, what: str) -> None:
        now = time.monotonic()
        pause = self._backoff.delay(lived=now - self._began)
        self.failures += 1
        self._start_at = now + pause
        self._output.say(f"{self.part.name} {what}; starting it again in {pause:g} s.")

    def _restart(self, checkpoint: Checkpoint) -> None:
        self._start_at = None
        self._began = time.monotonic()
        try:
            self.part.start(checkpoint=checkpoint)
        except (EmbeddedError, OSError) as error:
            self._plan_restart(f"did not start ({error})")


class Supervisor:
    """Servers first, children after them; `run` until asked to stop, then `shut_down`."""

    def __init__(self, *, output: Output, stop: Stop) -> None:
        self._output = output
        self._stop = stop
        self._servers: list[Server] = []
        self._children: list[Child] = []
        self._keepers: list[Keeper] = []

    def start_server(self, server: Server) -> None:
        """Start a server and keep it running; raises EmbeddedError when it cannot be started now."""
        self._servers.append(server)
        self._keep(server)

    def start_child(self, child: Child) -> None:
        """Start a child and keep it running."""
        self._children.append(child)
        self._keep(child)

    def tend(self) -> None:
        """Look after every part once."""
        for keeper in self._keepers:
            keeper.tend(checkpoint=self._stop.check)

    def failures(self, name: str) -> int:
        """How often the named part has ended or could not be started."""
        return sum(keeper.failures for keeper in self._keepers if keeper.part.name == name)

    def run(self) -> None:
        """Keep everything running; raises Stopped on a stop signal."""
        while True:
            self._stop.check()
            self.tend()
            self._stop.wait(TURN_SECONDS)

    def shut_down(self) -> None:
        """Stop the children, then the servers in the reverse order of their start; nothing is left running."""
        self._stop_children()
        for server in reversed(self._servers):
            try:
                server.stop()
            except (EmbeddedError, OSError) as error:
                self._output.say(f"{server.name} could not be stopped: {error}")

    def _keep(self, part: Part) -> None:
        keeper = Keeper(part, output=self._output)
        self._keepers.append(keeper)
        keeper.start(checkpoint=self._stop.check)

    def _stop_children(self) -> None:
        began = time.monotonic()
        for child in self._children:
            child.ask_to_stop()
        waiting = [child for child in self._children if child.is_running()]
        while waiting and not self._stop.forced:
            late = [child for child in waiting if time.monotonic() - began > child.grace]
            self._kill(late)
            waiting = [child for child in waiting if child.is_running()]
            if waiting:
                self._stop.wait(TURN_SECONDS / 2)
        self._kill(waiting)

    def _kill(self, children: Sequence[Child]) -> None:
        for child in children:
            if child.is_running():
                self._output.say(f"{child.name} did not stop in time and was killed.")
            child.kill()
