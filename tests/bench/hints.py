"""What hints that drain are worth: tasks a second, and how soon they start, beside one message for each task.

`python -m tests.bench.hints`. The same server twice on the same database, in turns; only how it hints is different.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from django.db import connection

from tests.bench.endpoint import INTERVALS
from tests.bench.measure import table
from tests.bench.messages import MODERN
from tests.bench.store import say
from tests.bench.world import Load, Side, World, world

CLIENTS = (1, 16, 64)
REPEATS = 3
SECONDS = 2.0
WARM_SECONDS = 0.5
ROWS = 20_000
WAYS = {
    "hints that drain": "tests.bench.noop",
    "one hint a task": "tests.bench.noop,tests.bench.one_hint",
}
HEAD = ("clients", "hints", "tasks a second", "p50 ms", "start p50 ms", "start p95 ms", "start p99 ms")
_NOW = "SELECT now()"
_STARTS = """
SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM a.started_at - t.created_at))
  FROM tasks_task t JOIN tasks_attempt a ON a.task_id = t.id AND a.number = 1 WHERE t.created_at > %s
"""

Figures = tuple[float, ...]


def one(load: Load, side: Side, clients: int) -> Figures:
    """Rate, latency and when tasks started, of one run."""
    order: dict[str, Any] = {"dialect": MODERN, "act": "life", "clients": clients, "interval": INTERVALS[clients]}
    load.put(side, seconds=WARM_SECONDS, **order)
    begun = _ask(_NOW)
    outcome = load.put(side, seconds=SECONDS, **order)
    latencies = sorted(outcome["latencies"])
    starts = _ask(_STARTS, begun)
    half = latencies[len(latencies) // 2]
    return (len(latencies) / outcome["seconds"], half * 1000, *(each * 1000 for each in starts))


def _ask(text: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        found = cursor.fetchone()
    return found and found[0]


def measure_all(made: World, *, repeats: int) -> dict[tuple[int, str], list[Figures]]:
    """Every way in turn, several times."""
    tokens, services = made.services(rows=ROWS)
    found: dict[tuple[int, str], list[Figures]] = {(clients, way): [] for clients in CLIENTS for way in WAYS}
    load = Load()
    try:
        for _ in range(repeats):
            for way, modules in WAYS.items():
                with made.inner() as inner:
                    side = inner.serve(tokens, services, TASKDECK_TOOL_MODULES=modules)
                    for clients in CLIENTS:
                        found[clients, way].append(one(load, side, clients))
    finally:
        load.end()
    return found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    begun = time.monotonic()
    with world() as made:
        found = measure_all(made, repeats=repeats)
    lines = [
        (str(clients), way, *(f"{median(values):,.1f}" for values in zip(*figures, strict=True)))
        for (clients, way), figures in found.items()
    ]
    say(table(HEAD, lines))
    say(f"\nThe median of {repeats} turns. This took {time.monotonic() - begun:.0f} s.")


if __name__ == "__main__":
    main()
