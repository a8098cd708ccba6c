"""How fast the store is, from Python through psycopg, beside bare rows on the same pool: `python -m tests.bench.store`.

Starts a Postgres of its own with its durability on, fills it, and measures create, poll and the whole life of a task at
several numbers of clients. Every figure stands beside the bare one of the same rounds: only the ratio means something.
Exits with 1 when a ratio misses the goal by far.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command
from django.db import connections

from console.embedded.postgres import EmbeddedPostgres
from tests.bench.measure import Row, Run, measure, measure_threads, table

if TYPE_CHECKING:
    from tests.bench.acts import Cast

CLIENTS = (1, 16, 64)
REPEATS = 3
SECONDS = 0.8
POOL = 16
SIZES = (1_000, 100_000)
LONG_SIZES = (*SIZES, 1_000_000)
GOAL = 0.60
# A goal that is missed by more than this fails the run: below it, the noise of a shared machine decides.
BY_FAR = 0.20
BESIDE = {"create": ("one bare row", "bare rows of a task"), "get": ("one bare get",)}
# What would stand in the way of measuring: printed with the result.
RAISED = {"TASKDECK_LIVE_TASKS": "10000000", "TASKDECK_OWNER_BYTES": str(2**50)}
ENVIRONMENT = RAISED | {
    "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
    "TASKDECK_SECRET_KEY": "a key for benchmarks, long enough and secret to nobody at all",
    "BROKER_URL": "redis://127.0.0.1:1/0",
    "CHANNEL_URL": "redis://127.0.0.1:1/1",
}
HEAD = ("rows", "clients", "what", "per second", "spread", "p50 ms", "p95 ms", "p99 ms", "client µs", "server µs",
        "to bare")  # fmt: skip


def say(text: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def database() -> Iterator[int]:
    """A Postgres of our own, as it comes (fsync on), known to Django; gives the process number of the server."""
    root = Path(tempfile.mkdtemp(prefix="taskdeck-bench-"))
    root.chmod(0o755)
    postgres = EmbeddedPostgres(root / "pg", settings={"max_connections": "200"})
    try:
        postgres.start()
        postgres.create_database()
        os.environ.update(ENVIRONMENT | {"DATABASE_URL": postgres.url})
        django.setup()
        call_command("migrate", verbosity=0)
        yield postgres.pid or 0
    finally:
        postgres.stop()
        shutil.rmtree(root, ignore_errors=True)


async def rounds(cast: Cast, *, clients: int, postmaster: int) -> dict[str, Row]:
    """Create and get beside their bare rows, one after the other, several times."""
    from tasks_app.store import aio
    from tests.bench.acts import acts

    pool = await aio.open_pool(min_size=min(clients, POOL), max_size=min(clients, POOL))
    try:
        await pool.wait()
        all_acts = acts(pool, cast)
        runs: dict[str, list[Run]] = {name: [] for name in all_acts}
        for act in all_acts.values():
            # Until every connection has prepared its statements.
            await measure(act, clients=clients, seconds=SECONDS / 4, postmaster=postmaster)
        for _ in range(REPEATS):
            for name, act in all_acts.items():
                runs[name].append(await measure(act, clients=clients, seconds=SECONDS, postmaster=postmaster))
    finally:
        await pool.close()
    return {name: Row(tuple(each)) for name, each in runs.items()}


def lives(cast: Cast, *, clients: int, postmaster: int) -> Row:
    """The whole life of a task, several times."""
    from tests.bench.acts import life

    act, leave = life(cast), connections.close_all
    measured = (
        measure_threads(act, clients=clients, seconds=SECONDS, postmaster=postmaster, leave=leave)
        for _ in range(REPEATS)
    )
    return Row(tuple(measured))


def line(size: int, clients: int, name: str, row: Row, *, beside: Sequence[Row]) -> tuple[str, ...]:
    """One row of the table; the ratios are to the bare rows of the same rounds."""
    client, server = row.cpu_microseconds()
    ratio = " / ".join(f"{row.ratio(bare):.0%}" for bare in beside)
    latencies = (f"{row.milliseconds(share):.2f}" for share in (0.5, 0.95, 0.99))
    cpu = (f"{client:.0f}", f"{server:.0f}")
    return (f"{size:,}", str(clients), name, f"{row.rate:,.0f}", f"±{row.spread / 2:.0%}", *latencies, *cpu, ratio)


def judge(size: int, clients: int, name: str, row: Row, *, beside: Sequence[Row]) -> str | None:
    """What is wrong with the ratio to the bare rows that leave as much behind, or None."""
    if not beside or (reached := row.ratio(beside[-1])) >= GOAL * (1 - BY_FAR):
        return None
    return f"{name} with {size:,} rows and {clients} clients: {reached:.0%} of the bare rows, not {GOAL:.0%}"


def compare(sizes: Sequence[int], *, postmaster: int, missed: list[str]) -> Iterator[tuple[str, ...]]:
    """The lines of the table, in the order in which they are measured; adds what missed its goal by far."""
    from tests.bench.acts import fill

    for size in sizes:
        begun = time.monotonic()
        cast = fill(size)
        say(f"{size:,} tasks are there after {time.monotonic() - begun:.0f} s")
        for clients in CLIENTS:
            found = asyncio.run(rounds(cast, clients=clients, postmaster=postmaster))
            found["life"] = lives(cast, clients=clients, postmaster=postmaster)
            for name, row in found.items():
                beside = [found[bare] for bare in BESIDE.get(name, ())]
                missed += filter(None, [judge(size, clients, name, row, beside=beside)])
                yield line(size, clients, name, row, beside=beside)


def main() -> int:
    """Measure, print the table, and say whether the goal was reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="with a million rows, too")
    options = parser.parse_args()
    begun, missed = time.monotonic(), list[str]()
    say(f"Postgres with fsync on, a pool of {POOL}, {REPEATS} interleaved rounds of {SECONDS} s; raised limits:")
    say(", ".join(f"{name}={value}" for name, value in RAISED.items()))
    with database() as postmaster:
        lines = list(compare(LONG_SIZES if options.long else SIZES, postmaster=postmaster, missed=missed))
    say("\n" + table(HEAD, lines))
    say(f"\nThe goal is {GOAL:.0%} of the bare rows. This took {time.monotonic() - begun:.0f} s.")
    for text in missed:
        say(f"missed: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
