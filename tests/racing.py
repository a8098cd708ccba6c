"""Two writers at once, for certain: one is stopped before its commit while the other is seen to wait, or to return.

Each writer is a thread with a connection and a frozen clock of its own. Every wait is bounded.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Queue
from typing import Any

from django.db import connection, connections, transaction

from tasks_app.domain.errors import TaskdeckError
from tasks_app.store.db import rows
from tests.properties.observing import set_clock
from tests.waiting import until

SECONDS = 5.0
STEP_SECONDS = 0.001


def said(verb: Callable[[], object]) -> object:
    """What a verb gives, or the name of the error with which it refuses."""
    try:
        return verb()
    except TaskdeckError as error:
        return type(error).__name__


class Writer:
    """A verb in a thread of its own; `holds` keeps its transaction open until it is let go."""

    def __init__(self, verb: Callable[[], object], *, at: int | None, holds: bool = False) -> None:
        self._verb, self._at, self._holds = verb, at, holds
        self._backend: Queue[int] = Queue()
        self._may_commit = threading.Event()
        self.has_run = threading.Event()
        self._done: Future[object] = Future()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.backend = self._backend.get(timeout=SECONDS)

    def _run(self) -> None:
        try:
            connection.ensure_connection()
            if self._at is not None:
                set_clock(self._at)
            self._backend.put(connection.connection.info.backend_pid)
            self._done.set_result(self._hold() if self._holds else said(self._verb))
        except BaseException as error:  # whatever it is belongs to the test that waits
            self._done.set_exception(error)
        finally:
            self.has_run.set()
            connections.close_all()

    def _hold(self) -> object:
        with transaction.atomic():
            done = said(self._verb)
            self.has_run.set()
            assert self._may_commit.wait(SECONDS), "nobody let the writer commit"
        return done

    def commit(self) -> object:
        """Let it go on, and give what its verb said."""
        self._may_commit.set()
        return self.result()

    def result(self) -> object:
        """What its verb said, once it has ended."""
        try:
            return self._done.result(SECONDS)
        finally:
            self._thread.join(SECONDS)

    def is_blocked(self) -> bool:
        """Whether Postgres says that it waits for a lock of another."""
        found = rows("SELECT wait_event_type FROM pg_stat_activity WHERE pid = %(pid)s", {"pid": self.backend})
        return bool(found) and found[0][0] == "Lock"


def race(first: Callable[[], object], second: Callable[[], object], *, at: int | None, then: int | None = None,
         blocks: bool) -> tuple[object, object]:  # fmt: skip
    """Run the second while the first has not committed: seen to wait for it, or else to return before it does."""
    holder = Writer(first, at=at, holds=True)
    assert holder.has_run.wait(SECONDS)
    other = Writer(second, at=at if then is None else then)
    try:
        until(lambda: other.has_run.is_set() or other.is_blocked(), SECONDS)
        assert other.has_run.is_set() != blocks, "it returned at once" if blocks else "it waited"
    finally:
        done = holder.commit()
    return done, other.result()


@contextmanager
def crowd(size: int) -> Iterator[Callable[..., list[Any]]]:
    """Threads that live for many rounds: gives a function that runs one verb in each, all let go at once."""
    barrier = threading.Barrier(size)
    pools = [ThreadPoolExecutor(1) for _ in range(size)]

    def at_once(*verbs: Callable[[], object]) -> list[Any]:
        def run(verb: Callable[[], object]) -> object:
            barrier.wait(SECONDS)
            return said(verb)

        return [
            done.result(SECONDS) for done in [pool.submit(run, verb) for pool, verb in zip(pools, verbs, strict=True)]
        ]

    try:
        yield at_once
    finally:
        for pool in pools:
            pool.submit(connections.close_all).result(SECONDS)
            pool.shutdown()


class HeadStart:
    """How much earlier one of two goes. It moves against whoever won: the rounds stay where the race is close, and
    over many of them each wins, however fast the machine is."""

    def __init__(self) -> None:
        self._of_first = 0.0

    def given(
        self, first: Callable[[], object], second: Callable[[], object]
    ) -> tuple[Callable[[], object], Callable[[], object]]:
        """The two, one of them held back for a moment."""
        return _after(-self._of_first, first), _after(self._of_first, second)

    def move(self, *, first_won: bool) -> None:
        """Make the next round harder for the winner."""
        step = random.uniform(0, STEP_SECONDS)
        self._of_first += -step if first_won else step


def _after(seconds: float, verb: Callable[[], object]) -> Callable[[], object]:
    def late() -> object:
        if seconds > 0:
            threading.Event().wait(seconds)
        return verb()

    return late
