"""What the end of many tasks costs: expiry, purge and export. `python -m tests.bench.retention [--rows N | --long]`.

Starts a Postgres with its durability on, a Valkey and one web process, and fills the tables with finished tasks that
are past their time. Expires and purges them in the store's batches, in turns of a second with and without, while the
endpoint is asked for other tasks. Then a page exports their records. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from statistics import median

from tests.bench.measure import server_cpu, table
from tests.bench.polling import CONNECTIONS, RATE, Looks, Polled, looking
from tests.bench.store import say
from tests.bench.world import Side, World, world

ROWS = 100_000
LONG_ROWS = 1_000_000
OWNERS = 50
POLLED = 200
# The tasks lived so long ago that all of them are past their time, those that asked something too.
LONG_AGO_SECONDS = 12 * 86_400
PURGE_AFTER_SECONDS = "0.001"
TURN_SECONDS = 1.0
GROUPS = 5
FEWEST_BATCHES = 20
PIECE = 2**16
LOOK_EVERY_BYTES = 2**20
MOST_BATCH_RATIO = 1.5
MOST_P99_RATIO = 2.0
MOST_GROWTH_MB = 50.0
HEAD = ("what", "tasks", "a second", "first tenth ms", "last tenth ms", "first CPU ms", "last CPU ms", "last / first",
        "p99 ms", "p99 ms at rest", "with / without")  # fmt: skip
TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')

Spans = list[tuple[float, float]]


@dataclass(slots=True)
class Sweep:
    """Every full batch of one kind, and when it was at work and when it rested."""

    batches: list[float] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    """The processor's seconds that the server's process had used before the first batch, and after each."""
    done: int = 0
    busy: Spans = field(default_factory=list)
    quiet: Spans = field(default_factory=list)

    def tenths(self) -> tuple[Tenth, Tenth]:
        """The first tenth of the batches, and the last."""
        size = max(1, len(self.batches) // 10)
        used = (self.spent[size] - self.spent[0], self.spent[-1] - self.spent[-1 - size])
        first, last = median(self.batches[:size]), median(self.batches[-size:])
        return Tenth(first, used[0] / size), Tenth(last, used[1] / size)

    @property
    def rate(self) -> float:
        """Tasks a second while it was at work."""
        return self.done / sum(ended - begun for begun, ended in self.busy)


@dataclass(frozen=True, slots=True)
class Tenth:
    """What a batch of one tenth took, and what the server spent on it, in seconds."""

    took: float
    spent: float


@dataclass(slots=True)
class Report:
    """The table, and the goals that were missed."""

    lines: list[tuple[str, ...]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(self, what: str, sweep: Sweep, looks: Looks) -> None:
        """One kind of sweep, beside the looks of its turns."""
        first, last = sweep.tenths()
        # What others do on this machine makes a batch slower, but not dearer.
        growth = last.spent / first.spent
        during, without = (looks.percentile(0.99, spans) for spans in (sweep.busy, sweep.quiet))
        slower = median(_ratios(sweep, looks))
        figures = (first.took, last.took, first.spent, last.spent, during, without)
        shown = (f"{growth:.2f}", *(f"{1000 * each:.1f}" for each in figures[4:]), f"{slower:.2f}")
        self.lines.append(
            (what, f"{sweep.done:,}", f"{sweep.rate:,.0f}", *(f"{1000 * each:.0f}" for each in figures[:4]), *shown)
        )
        self.goal(f"{what}: what a batch costs, last tenth to first", growth, MOST_BATCH_RATIO)
        self.goal(f"{what}: p99 of requests, with to without", slower, MOST_P99_RATIO)

    def goal(self, what: str, reached: float, most: float) -> None:
        """Compare one figure with the most that it may be."""
        if reached > most:
            self.missed.append(f"{what}: {reached:.2f}, at most {most:.2f}")


def _ratios(sweep: Sweep, looks: Looks) -> Iterator[float]:
    """How the 99th percentile of some turns at work compares with that of the turns at rest between them."""
    size = max(1, len(sweep.busy) // GROUPS)
    for start in range(0, len(sweep.busy) - size + 1, size):
        during, without = (spans[start : start + size] for spans in (sweep.busy, sweep.quiet))
        yield looks.percentile(0.99, during) / looks.percentile(0.99, without)


def fill(rows: int) -> list[Polled]:
    """So many finished tasks that are past their time, and some that are held: those can be asked for."""
    from django.db import connection

    from tasks_app import store
    from tasks_app.domain.identity import Actor, ActorKind
    from tasks_app.models import Task
    from tasks_app.store.seed import Plot, load

    by = Actor(ActorKind.SYSTEM, via="bench", reason="to be asked for")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('tasks.fake_now', (clock_timestamp() - %s * interval '1 second')::text, false)",
            [LONG_AGO_SECONDS],
        )
        for _ in load(Plot(tasks=rows, owners=OWNERS, seed=rows)):
            pass
        asked = list(Task.objects.filter(expired_at=None, outcome="result").values_list("id", "owner_id")[:POLLED])
        for task_id, _ in asked:
            store.hold(task_id, held=True, owner_id=None, by=by)
        for task_id in Task.objects.filter(finished_at=None).values_list("id", flat=True):
            store.cancel(task_id, owner_id=None, by=by)
        cursor.execute("SELECT set_config('tasks.fake_now', '', false)")
        # Their leases are long over.
        while store.reap():
            pass
        tokens = {owner: store.create_token(owner, name="bench", by=by)[0] for owner in {owner for _, owner in asked}}
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")
    connection.close()
    return [Polled(tokens[owner], str(task_id)) for task_id, owner in asked]


def sweep_all(batch: Callable[[], int], *, size: int, server: int) -> Sweep:
    """Sweep until nothing is left, in turns: a while at rest, a while at work. `server` is the process that does it."""
    sweep, is_over = Sweep(spent=[server_cpu(server)]), False
    while not is_over:
        rested = time.perf_counter()
        time.sleep(TURN_SECONDS)
        begun = time.perf_counter()
        sweep.quiet.append((rested, begun))
        while not is_over and time.perf_counter() < begun + TURN_SECONDS:
            started = time.perf_counter()
            done = batch()
            is_over = not done
            sweep.done += done
            if done == size:
                sweep.batches.append(time.perf_counter() - started)
                sweep.spent.append(server_cpu(server))
        sweep.busy.append((begun, time.perf_counter()))
    return sweep


def measure_sweeps(side: Side, polled: list[Polled], report: Report) -> None:
    """Expiry, then purge, each under the load."""
    from tasks_app import store
    from tasks_app.store import expiry
    from tasks_app.store.db import rows

    [(server,)] = rows("SELECT pg_backend_pid()")
    for what, batch in {"expire": store.expire, "purge": store.purge}.items():
        with looking(side.ports[0], polled) as looks:
            sweep = sweep_all(batch, size=expiry.BATCH, server=server)
        if len(sweep.batches) < FEWEST_BATCHES:
            raise SystemExit(f"{len(sweep.batches)} batches are too few to compare: give more rows.")
        report.add(what, sweep, looks)
        say(f"{what}: {sweep.done:,} tasks in {len(sweep.batches)} full batches, {len(looks.seen):,} requests")


def sign_in() -> str:
    """The session of an operator, who may export everyone's."""
    from django.contrib.auth.models import Group, User
    from django.test import Client

    user = User.objects.create_user("bench")
    user.groups.add(Group.objects.get_or_create(name="operator")[0])
    browser = Client()
    browser.force_login(user)
    return str(browser.cookies["sessionid"].value)


def ask_for_export(port: int, session: str) -> HTTPResponse:
    """The records of all that expired, as the page's own form asks for them."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", "/expirations/expired/?range=24h&scope=all", headers={"Cookie": f"sessionid={session}"})
    page = connection.getresponse()
    cookie = (page.getheader("Set-Cookie") or "").partition(";")[0]
    found = TOKEN.search(page.read())
    assert found is not None
    body = f"csrfmiddlewaretoken={found[1].decode()}&format=csv"
    headers = {"Cookie": f"sessionid={session}; {cookie}", "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/expirations/expired/export/?range=all&scope=all", body, headers)
    response = connection.getresponse()
    assert response.status == 200, response.status
    return response


def measure_export(side: Side, session: str, report: Report, *, rows: int) -> None:
    """One file with every record, and how much the memory of the web process grew meanwhile."""
    # Twice: what a first export loads for good is not what a longer one would add to.
    ask_for_export(side.ports[0], session).close()
    before = most = side.resident_mb("web")
    begun, size, lines, looked = time.perf_counter(), 0, 0, 0
    response = ask_for_export(side.ports[0], session)
    while piece := response.read(PIECE):
        size += len(piece)
        lines += piece.count(b"\n")
        if size - looked > LOOK_EVERY_BYTES:
            looked, most = size, max(most, side.resident_mb("web"))
    took, most = time.perf_counter() - begun, max(most, side.resident_mb("web"))
    # One line is the head.
    if lines - 1 < rows:
        report.missed.append(f"export: {lines - 1:,} of {rows:,} records")
    say(
        f"export: {lines - 1:,} records, {size / 2**20:.0f} MB in {took:.0f} s; the web process grew from {before:.0f} "
        f"to {most:.0f} MB"
    )
    report.goal("export: growth of the web process, MB", most - before, MOST_GROWTH_MB)


def measure(here: World, rows: int) -> Report:
    """Start, fill, and take every figure."""
    os.environ["TASKDECK_PURGE_AFTER"] = PURGE_AFTER_SECONDS
    _, services = here.services(rows=0)
    begun = time.monotonic()
    polled, session = fill(rows), sign_in()
    say(f"{rows:,} finished tasks are there after {time.monotonic() - begun:.0f} s")
    port, web = here.web()
    report, side = Report(), Side((port,), (), {"web": web.pid} | services)
    measure_sweeps(side, polled, report)
    measure_export(side, session, report, rows=rows - POLLED)
    return report


def main() -> int:
    """Measure, print the table, and say whether every goal was reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="with a million rows")
    parser.add_argument("--rows", type=int, help="with so many rows")
    options = parser.parse_args()
    begun = time.monotonic()
    say(f"Postgres with fsync on, one web process; {RATE:.0f} requests a second over {CONNECTIONS} connections")
    say(f"in turns of {TURN_SECONDS:.0f} s; TASKDECK_PURGE_AFTER={PURGE_AFTER_SECONDS}")
    with world() as here:
        report = measure(here, options.rows or (LONG_ROWS if options.long else ROWS))
    say("\n" + table(HEAD, report.lines))
    say(f"\nThis took {time.monotonic() - begun:.0f} s.")
    for text in report.missed:
        say(f"missed: {text}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
