"""How fast the console is when there are many tasks and many tabs: `python -m tests.bench.pages [--rows N]`.

Starts a Postgres with its durability on, a Valkey and one web process, and fills the tables. Measures how soon the
first byte of a page comes, how deep paging and search compare with it, and how soon open tabs hear of a change and show
it. Exits with 1 when something is too slow.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlencode
from uuid import UUID

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from tests.bench.measure import table
from tests.bench.sockets import Tab
from tests.bench.world import Side, World, world

ROWS = 100_000
LONG_ROWS = 1_000_000
ROWS_OF_AN_OWNER = 500
REQUESTS = 60
DEEP = 50_000
TABS = 50
CHANGES_PER_SECOND = 15
CHANGING_SECONDS = 10.0
SETTLE_SECONDS = 20.0
MANY_TABS = 500
AT_ONCE = 20
OPEN_SECONDS = 60.0
MANY_SECONDS = 180.0
MOST_KB = 100.0
HEAD = ("what", "p50 ms", "p95 ms", "at most", "")
TARGET_MS = {"page": 150.0, "search": 300.0, "change": 1000.0}


def say(text: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@dataclass(slots=True)
class Report:
    """The lines of the table, and what was not reached."""

    lines: list[tuple[str, ...]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(self, what: str, seconds: Sequence[float], *, target_ms: float) -> None:
        """One figure, beside what it should be at most."""
        ordered = sorted(1000 * each for each in seconds)
        p50, p95 = (ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95))
        verdict = "" if p95 <= target_ms else "too slow"
        if verdict:
            self.missed.append(f"{what}: p95 {p95:.0f} ms, at most {target_ms:.0f}")
        self.lines.append((what, f"{p50:.1f}", f"{p95:.1f}", f"{target_ms:.0f}", verdict))
        # At once, too: a long run that is stopped has not been in vain.
        say(f"{what}: p50 {p50:.0f} ms, p95 {p95:.0f} ms {verdict}".rstrip())


@dataclass(frozen=True, slots=True)
class Site:
    """A web process, and the cookie of somebody who sees everyone's tasks."""

    port: int
    session: str

    def first_bytes(self, path: str) -> Iterator[float]:
        """How long the head of the answer took, again and again; the first tries do not count."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        for number in range(REQUESTS + 5):
            begun = time.perf_counter()
            connection.request("GET", path, headers={"Cookie": f"sessionid={self.session}"})
            answer = connection.getresponse()
            seconds = time.perf_counter() - begun
            body = answer.read()
            assert answer.status == 200, (path, answer.status, body[:200])
            if number >= 5:
                yield seconds
        connection.close()


def fill(rows: int) -> str:
    """So many tasks, and the session of an operator."""
    from django.contrib.auth.models import Group, User
    from django.test import Client

    from tasks_app.store.seed import Plot, load

    for _ in load(Plot(tasks=rows, owners=max(10, rows // ROWS_OF_AN_OWNER), seed=1)):
        pass
    user = User.objects.create_user("bench")
    user.groups.add(Group.objects.get_or_create(name="operator")[0])
    browser = Client()
    browser.force_login(user)
    return str(browser.cookies["sessionid"].value)


def deep_cursor(depth: int) -> str:
    """The place of a page that begins so many rows down the list."""
    from django.core import signing

    from console.pages.board import SALT
    from tasks_app.store.db import row

    found = row(
        "SELECT created_at, id FROM tasks_task ORDER BY created_at DESC, id DESC OFFSET %(depth)s LIMIT 1",
        {"depth": depth},
    )
    assert found is not None
    return signing.dumps([found[0].isoformat(), str(found[1])], salt=SALT)


def measure_pages(site: Site, report: Report, *, rows: int) -> None:
    """The first byte of the pages that grow with the number of tasks."""
    depth = min(DEEP, rows // 2)
    pages = {
        "Tasks, everyone's": {"scope": "all"},
        f"Tasks, {depth:,} rows down": {"scope": "all", "after": deep_cursor(depth)},
        "Tasks, by expiry": {"scope": "all", "sort": "expires"},
        "Tasks, one tool that failed": {"scope": "all", "q": "status:failed tool:sync_crm"},
    }
    for what, query in pages.items():
        report.add(what, list(site.first_bytes(f"/tasks/?{urlencode(query)}")), target_ms=TARGET_MS["page"])
    for argument in ("arg.customer:c-42", "arg.region:eu-west", "arg.customer:nobody"):
        address = f"/tasks/?{urlencode({'scope': 'all', 'q': argument})}"
        report.add(f"search {argument}", list(site.first_bytes(address)), target_ms=TARGET_MS["search"])
    for name in ("inbox", "expirations", "expirations/expired", "overview", "tools"):
        seconds = list(site.first_bytes(f"/{name}/?scope=all"))
        report.add(name.capitalize(), seconds, target_ms=TARGET_MS["page"])


@asynccontextmanager
async def tabs(site: Site, count: int) -> AsyncIterator[list[ClientConnection]]:
    """So many sockets that hear of everyone's tasks."""
    async with AsyncExitStack() as stack:
        found: list[ClientConnection] = []
        while len(found) < count:
            fresh = await asyncio.gather(*(_open(site) for _ in range(min(AT_ONCE, count - len(found)))))
            for socket in fresh:
                stack.push_async_callback(socket.close)
            found += fresh
        yield found


async def _open(site: Site) -> ClientConnection:
    headers = {"Cookie": f"sessionid={site.session}"}
    address, origin = f"ws://127.0.0.1:{site.port}/live", Origin(f"http://127.0.0.1:{site.port}")
    patience = {"open_timeout": OPEN_SECONDS, "ping_timeout": OPEN_SECONDS, "close_timeout": 1.0}
    socket = await connect(address, additional_headers=headers, origin=origin, **patience)  # type: ignore[arg-type]
    await socket.send('{"watch": ["tasks"], "scope": "all"}')
    await asyncio.wait_for(socket.recv(), OPEN_SECONDS)
    return socket


class Changing:
    """A task that says something new, again and again, and when it was said."""

    def __init__(self) -> None:
        from tasks_app import store
        from tasks_app.domain.identity import OwnerKind

        owner = store.find_or_make_owner(OwnerKind.USER, subject="bench-changes")
        self._store = store
        self.task_id: UUID = store.create(store.NewTask(owner_id=owner, tool="bench_changes")).task.id
        claim = None
        while claim is None or claim.task_id != self.task_id:
            claim = store.claim_next(store.Claimant("bench"))
            assert claim is not None
        self._claim = claim
        self.said: dict[int, float] = {}

    def change(self) -> int:
        """Say something; gives the version that everybody should hear of."""
        begun = time.perf_counter()
        version = self._store.set_message(self._claim, f"now {begun}").version
        self.said[version] = begun
        return version

    async def keep_changing(self, seconds: float) -> None:
        """Say something so many times a second, for a while."""
        begun = time.perf_counter()
        for number in range(int(seconds * CHANGES_PER_SECOND)):
            await asyncio.sleep(max(0.0, begun + number / CHANGES_PER_SECOND - time.perf_counter()))
            await asyncio.to_thread(self.change)


async def measure_changes(site: Site, report: Report) -> None:
    """From the change to each of the sockets, and to the row that its page then shows."""
    changing = await asyncio.to_thread(Changing)
    async with tabs(site, TABS) as sockets:
        pages = [Tab(site.port, site.session, changing.task_id) for _ in sockets]
        following = [asyncio.create_task(tab.follow(each)) for tab, each in zip(pages, sockets, strict=True)]
        await changing.keep_changing(CHANGING_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await asyncio.gather(*(tab.has_shown(max(changing.said)) for tab in pages))
        for task in following:
            task.cancel()
        ended = await asyncio.gather(*following, return_exceptions=True)
    failed = [each for each in ended if not isinstance(each, asyncio.CancelledError)]
    if failed:
        raise RuntimeError("a tab broke off") from failed[0]
    what = f"change to {TABS} tabs, {CHANGES_PER_SECOND} a second"
    delays = [at - changing.said[v] for tab in pages for v, at in tab.heard if v in changing.said]
    report.add(f"{what}, until heard", delays, target_ms=TARGET_MS["change"])
    report.add(f"{what}, until shown", _shown(pages, changing, report), target_ms=TARGET_MS["change"])


def _shown(pages: Sequence[Tab], changing: Changing, report: Report) -> list[float]:
    found = [delay for tab in pages for delay in tab.delays(changing.said)]
    if len(found) < len(pages) * len(changing.said):
        report.missed.append(f"{len(pages) * len(changing.said) - len(found)} changes were never shown")
    return found


async def measure_many(site: Site, side: Side, report: Report) -> None:
    """Many sockets on one process: what they hold, and how soon all of them hear of one change."""
    changing = await asyncio.to_thread(Changing)
    before = side.resident_mb("web")
    async with tabs(site, MANY_TABS) as sockets:
        held = 1024 * (side.resident_mb("web") - before) / MANY_TABS
        delays = []
        for _ in range(5):
            begun = time.perf_counter()
            await asyncio.to_thread(changing.change)
            await asyncio.gather(*(asyncio.wait_for(socket.recv(), 60) for socket in sockets))
            delays.append(time.perf_counter() - begun)
    report.add(f"change to the last of {MANY_TABS} sockets", delays, target_ms=TARGET_MS["change"])
    say(f"A socket holds {held:.0f} kB of the web process.")
    if held > MOST_KB:
        report.missed.append(f"a socket holds {held:.0f} kB, at most {MOST_KB:.0f}")


def measure(here: World, rows: int) -> Report:
    """Start, fill, and take every figure."""
    _, services = here.services(rows=0)
    begun = time.monotonic()
    session = fill(rows)
    say(f"{rows:,} tasks are there after {time.monotonic() - begun:.0f} s")
    port, web = here.web()
    site, report = Site(port, session), Report()
    side = Side((port,), (), {"web": web.pid} | services)
    measure_pages(site, report, rows=rows)
    asyncio.run(measure_changes(site, report))
    try:
        asyncio.run(asyncio.wait_for(measure_many(site, side, report), MANY_SECONDS))
    except TimeoutError:
        report.missed.append(f"{MANY_TABS} sockets were not served within {MANY_SECONDS:.0f} s")
    return report


def main() -> int:
    """Measure, print the table, and say whether everything was fast enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="with a million rows")
    parser.add_argument("--rows", type=int, help="with so many rows")
    options = parser.parse_args()
    with world() as here:
        report = measure(here, options.rows or (LONG_ROWS if options.long else ROWS))
    say("\n" + table(HEAD, report.lines))
    for text in report.missed:
        say(f"missed: {text}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
