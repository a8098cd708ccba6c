"""How fast the endpoint is, in both dialects, beside FastMCP with Redis: `python -m tests.bench.endpoint`.

Everything is started here on loopback. Each round measures one thing on every side, one after the other, so that what
disturbs the machine disturbs all of them; a ratio compares runs of the same round. Durability, authentication and
validation are on, as ever.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.bench.measure import Row, Run, table
from tests.bench.messages import LEGACY, MODERN
from tests.bench.store import say
from tests.bench.world import RAISED, Load, Side, wait_until_idle, world

CLIENTS = (1, 16, 64)
# How long an end-to-end client waits before each look, by the number of clients.
INTERVALS = {1: 0.0005, 16: 0.005, 64: 0.02}
REPEATS = 3
SECONDS = {"create": 0.8, "poll": 1.2, "life": 1.6}
WARM_SECONDS = 0.3
OPEN_SECONDS = 3.0
ROWS = 100_000
PEER = "FastMCP"
OURS = {"2026-07-28": MODERN, "2025-11-25": LEGACY}
MUST: Mapping[str, tuple[float, ...]] = {"poll": (6, 6, 8), "create": (3, 5, 6), "life": (2.5, 4, 6)}
GOAL: Mapping[str, tuple[float, ...]] = {"poll": (12, 25, 40), "create": (4, 12, 16), "life": (3, 8, 13)}
TIMES = "\N{MULTIPLICATION SIGN}"
HEAD = ("what", "clients", "server", "per second", "spread", "p50 ms", "p95 ms", "p99 ms", "CPU µs a request", "ratio")


@dataclass(frozen=True, slots=True)
class Measured(Run):
    """One run, with the CPU seconds of each process."""

    cpu: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """The two sides and the load."""

    load: Load
    ours: Side
    peer: Side

    def sides(self) -> dict[str, tuple[Side, str]]:
        """What is measured, by name: a server and the dialect that it is spoken to in."""
        return {PEER: (self.peer, MODERN)} | {name: (self.ours, dialect) for name, dialect in OURS.items()}

    def run(self, name: str, act: str, clients: int, *, seconds: float, rate: float = 0.0) -> Measured:
        """One run on one side."""
        side, dialect = self.sides()[name]
        order = {"act": act, "clients": clients, "seconds": seconds, "interval": INTERVALS[clients], "rate": rate}
        outcome = self.load.put(side, dialect=dialect, **order)
        cpu = outcome["cpu"]
        servers = sum(cpu.values()) - cpu["client"]
        return Measured(tuple(outcome["latencies"]), outcome["seconds"], cpu["client"], servers, cpu)

    def rounds(self, act: str, clients: int, *, repeats: int) -> dict[str, Row]:
        """One thing on every side, several times."""
        runs: dict[str, list[Run]] = {name: [] for name in self.sides()}
        for name in runs:
            self.run(name, act, clients, seconds=WARM_SECONDS)
        for _ in range(repeats):
            for name, found in runs.items():
                found.append(self.run(name, act, clients, seconds=SECONDS[act]))
        return {name: Row(tuple(found)) for name, found in runs.items()}


def cpu_shown(row: Row) -> str:
    """CPU of one request in each process, in microseconds."""
    names = [name for run in row.runs[:1] if isinstance(run, Measured) for name in run.cpu]
    spent = {
        name: median(run.cpu[name] / len(run.latencies) for run in row.runs if isinstance(run, Measured))
        for name in names
    }
    return ", ".join(f"{name} {used * 1e6:,.0f}" for name, used in spent.items() if used * 1e6 >= 1)


def line(act: str, clients: int | str, name: str, row: Row, *, peer: Row) -> tuple[str, ...]:
    """One row of the table."""
    latencies = (f"{row.milliseconds(share):.1f}" for share in (0.5, 0.95, 0.99))
    ratio = "" if row is peer else f"{row.ratio(peer):.1f}{TIMES}"
    return (act, str(clients), name, f"{row.rate:,.0f}", f"±{row.spread / 2:.0%}", *latencies, cpu_shown(row), ratio)


def verdicts(found: Mapping[tuple[str, int], dict[str, Row]]) -> Iterator[tuple[str, ...]]:
    """What was to be reached, and what was."""
    for (act, clients), rows in found.items():
        place = CLIENTS.index(clients)
        must, goal = MUST[act][place], GOAL[act][place]
        reached = [rows[name].ratio(rows[PEER]) for name in OURS]
        yield (
            act,
            str(clients),
            f"{must:g}{TIMES}",
            f"{goal:g}{TIMES}",
            *(_judged(each, must, goal) for each in reached),
        )
    if ("life", 1) in found:
        rows = found["life", 1]
        shares = [_p50_share(rows[name], rows[PEER]) for name in OURS]
        yield ("life, p50", "1", f"0.6{TIMES}", f"0.33{TIMES}", *(_judged(-each, -0.6, -0.33) for each in shares))


def _p50_share(row: Row, peer: Row) -> float:
    return median(
        mine.percentile(0.5) / theirs.percentile(0.5) for mine, theirs in zip(row.runs, peer.runs, strict=True)
    )


def _judged(reached: float, must: float, goal: float) -> str:
    word = "goal" if reached >= goal else "must" if reached >= must else "missed"
    figure = f"{abs(reached):.2g}" if abs(reached) < 10 else f"{reached:.0f}"
    return f"{figure}{TIMES} ({word})"


def open_rows(bench: Bench, *, repeats: int, rate: float) -> dict[str, Row]:
    """Tasks that begin at a fixed rate, whether the server keeps up or not: queueing shows here."""
    runs: dict[str, list[Run]] = {name: [] for name in bench.sides()}
    for _ in range(repeats):
        for name, found in runs.items():
            found.append(bench.run(name, "life", 64, seconds=OPEN_SECONDS, rate=rate))
    return {name: Row(tuple(found)) for name, found in runs.items()}


def measure_all(bench: Bench, *, acts: Sequence[str], counts: Sequence[int], repeats: int) -> None:
    """Measure, and print the tables."""
    found: dict[tuple[str, int], dict[str, Row]] = {}
    lines: list[tuple[str, ...]] = []
    for act in acts:
        for clients in counts:
            rows = found[act, clients] = bench.rounds(act, clients, repeats=repeats)
            lines += [line(act, clients, name, row, peer=rows[PEER]) for name, row in rows.items()]
    if ("life", 16) in found:
        rate = round(found["life", 16][PEER].rate / 2)
        rows = open_rows(bench, repeats=repeats, rate=rate)
        label = f"{rate} a second"
        lines += [(*line("life, open loop", label, name, row, peer=row)[:-1], "") for name, row in rows.items()]
    say("\n" + table(HEAD, lines) + "\n")
    say(table(("what", "clients", "must", "goal", *OURS), list(verdicts(found))))
    say(f"\nMemory of the web process at the end: {bench.ours.resident_mb('web'):.0f} MB.")


def main() -> None:
    """Start both, measure, and end them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="how many tasks there are before")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--act", choices=tuple(SECONDS), action="append")
    parser.add_argument("--clients", type=int, choices=CLIENTS, action="append")
    options = parser.parse_args()
    begun = time.monotonic()
    say(f"Postgres with fsync on, one web process, a worker with two children; {options.repeats} interleaved rounds;")
    say("raised limits: " + ", ".join(f"{name}={value}" for name, value in RAISED.items()))
    with world() as made:
        ours, peer, load = made.ours(rows=options.rows), made.peer(), Load()
        try:
            wait_until_idle()
            say(f"both are up, {options.rows:,} tasks are there after {time.monotonic() - begun:.0f} s")
            bench = Bench(load, ours, peer)
            acts, counts = options.act or tuple(SECONDS), options.clients or CLIENTS
            measure_all(bench, acts=acts, counts=counts, repeats=options.repeats)
        finally:
            load.end()
    say(f"This took {time.monotonic() - begun:.0f} s.")


if __name__ == "__main__":
    main()
