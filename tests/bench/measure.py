"""How something is measured: closed-loop clients for a while, their latencies, and the CPU time of both ends."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: how long each operation took, over how long, and what it cost in CPU seconds."""

    latencies: tuple[float, ...]
    seconds: float
    client_cpu: float
    server_cpu: float

    @property
    def rate(self) -> float:
        """Operations a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """The latency, in seconds, that so many operations did not exceed."""
        ordered = sorted(self.latencies)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@dataclass(frozen=True, slots=True)
class Row:
    """What several runs of one thing came to."""

    runs: tuple[Run, ...]

    @property
    def rate(self) -> float:
        """The median rate."""
        return median(run.rate for run in self.runs)

    @property
    def spread(self) -> float:
        """How far the runs lie apart, as a share of the median."""
        rates = [run.rate for run in self.runs]
        return (max(rates) - min(rates)) / self.rate

    def ratio(self, other: Row) -> float:
        """How its rate compares, round by round: what disturbs the machine disturbs both."""
        return median(mine.rate / theirs.rate for mine, theirs in zip(self.runs, other.runs, strict=True))

    def milliseconds(self, share: float) -> float:
        """The median of a percentile."""
        return median(run.percentile(share) for run in self.runs) * 1000

    def cpu_microseconds(self) -> tuple[float, float]:
        """CPU time of an operation at the client and at the server."""
        client = median(run.client_cpu / len(run.latencies) for run in self.runs)
        server = median(run.server_cpu / len(run.latencies) for run in self.runs)
        return client * 1e6, server * 1e6


def server_cpu(postmaster: int) -> float:
    """CPU seconds that the server's processes have used so far, those that have ended included."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == postmaster:
            total += int(fields[11]) + int(fields[12])
        elif int(stat.parent.name) == postmaster:
            # Its own, and that of the children that it has seen end.
            total += sum(map(int, fields[11:15]))
    return total / TICKS


async def measure(act: Callable[[], Awaitable[None]], *, clients: int, seconds: float, postmaster: int) -> Run:
    """So many clients on this event loop, each doing it again as soon as it is done."""
    latencies: list[float] = []

    async def client(until: float) -> None:
        while (begun := time.perf_counter()) < until:
            await act()
            latencies.append(time.perf_counter() - begun)

    before, mine, begun = server_cpu(postmaster), time.process_time(), time.perf_counter()
    await asyncio.gather(*(client(begun + seconds) for _ in range(clients)))
    passed = time.perf_counter() - begun
    return Run(tuple(latencies), passed, time.process_time() - mine, server_cpu(postmaster) - before)


def measure_threads(
    act: Callable[[], None], *, clients: int, seconds: float, postmaster: int, leave: Callable[[], None]
) -> Run:
    """The same with a thread a client, for what is synchronous; each thread ends with `leave`."""
    latencies: list[float] = []
    failures: list[BaseException] = []
    barrier = threading.Barrier(clients + 1)

    def client() -> None:
        try:
            act()
            barrier.wait()
            until = time.perf_counter() + seconds
            while (begun := time.perf_counter()) < until:
                act()
                latencies.append(time.perf_counter() - begun)
        except BaseException as error:
            failures.append(error)
            barrier.abort()
        finally:
            leave()

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    with suppress(threading.BrokenBarrierError):  # what broke it is raised below
        barrier.wait()
    before, mine, begun = server_cpu(postmaster), time.process_time(), time.perf_counter()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    passed = time.perf_counter() - begun
    return Run(tuple(latencies), passed, time.process_time() - mine, server_cpu(postmaster) - before)


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Lines of a Markdown table whose columns stand below each other."""
    lines = [list(head), *map(list, body)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    shown = [
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")
    return "\n".join(shown)
