"""Workers in threads of the test's own process: the engine's own code, without Celery and without a start-up time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from tasks_app import store
from tasks_app.engine.registry import Tool
from tasks_app.engine.run import run_attempt, settle
from tasks_app.engine.watch import Watch, Watched

IDLE_SECONDS = 0.01
END_SECONDS = 10.0


class Unwatched(Watch):
    """Renews no lease and ends no process: the tools of these tests are done long before that would matter."""

    def __init__(self) -> None:
        """Start no thread, which would keep a connection for ever."""

    def begin(self, claim: store.Claim, tool: Tool) -> Watched:
        """Begin an attempt."""
        return Watched(claim, tool)

    def end(self) -> None:
        """End it."""


@contextmanager
def working(*, threads: int = 2) -> Iterator[None]:
    """What is due is run while the block lasts."""
    stop = threading.Event()
    started = [threading.Thread(target=_work, args=(number, stop), daemon=True) for number in range(threads)]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in started:
            thread.join(END_SECONDS)
            assert not thread.is_alive(), "a tool of the test did not end"


def _work(number: int, stop: threading.Event) -> None:
    watch = Unwatched()
    claimant = store.Claimant(f"thread:{number}")
    try:
        while not stop.is_set():
            claim = store.claim_next(claimant)
            if claim is None:
                stop.wait(IDLE_SECONDS)
                continue
            ending = run_attempt(claim, watch)
            if ending is not None:
                settle(ending, None)
    finally:
        connections.close_all()
