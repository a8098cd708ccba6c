"""A small load of looks at tasks, in the open loop, for as long as a block runs: each look with the moment it began."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.bench.connection import Connection
from tests.bench.messages import MODERN, dialect

RATE = 100.0
CONNECTIONS = 16
END_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Polled:
    """A task that is looked at, and the token of its owner."""

    token: str
    task_id: str


@dataclass
class Looks:
    """What the load saw: when each look was due, and how long it took from then."""

    seen: list[tuple[float, float]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)

    def percentile(self, share: float, during: Sequence[tuple[float, float]]) -> float:
        """What so many of the looks that began in these spans of time did not exceed, in seconds."""
        found = sorted(took for at, took in self.seen if any(begun <= at < ended for begun, ended in during))
        return found[min(int(share * len(found)), len(found) - 1)]


@contextmanager
def looking(port: int, polled: Sequence[Polled]) -> Iterator[Looks]:
    """Look at these tasks while the block runs, so many times a second. Raises when an answer was wrong."""
    looks, end = Looks(), threading.Event()
    thread = threading.Thread(target=_run, args=(port, polled, looks, end), name="looks", daemon=True)
    thread.start()
    try:
        yield looks
    finally:
        end.set()
        thread.join(END_SECONDS)
    if looks.failures:
        raise looks.failures[0]


def _run(port: int, polled: Sequence[Polled], looks: Looks, end: threading.Event) -> None:
    try:
        asyncio.run(_look(port, polled, looks, end))
    except BaseException as error:
        looks.failures.append(error)


async def _look(port: int, polled: Sequence[Polled], looks: Looks, end: threading.Event) -> None:
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await Connection.open(port))

    async def one(target: Polled, planned: float) -> None:
        connection = await free.get()
        said = json.loads(await connection.request(dialect(MODERN, target.token).poll(target.task_id)))
        looks.seen.append((planned, time.perf_counter() - planned))
        free.put_nowait(connection)
        if said.get("result", {}).get("taskId") != target.task_id:
            raise AssertionError(f"{target.task_id} was asked for, not {said}")

    begun, targets = time.perf_counter(), itertools.cycle(polled)
    async with asyncio.TaskGroup() as group:
        for number in itertools.count():
            planned = begun + number / RATE
            await asyncio.sleep(max(0.0, planned - time.perf_counter()))
            if end.is_set():
                break
            group.create_task(one(next(targets), planned))
    while not free.empty():
        free.get_nowait().close()
