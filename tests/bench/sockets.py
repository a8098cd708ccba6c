"""What a tab does with what it hears, as static/taskdeck/rows.js and pages.js do: it fetches the row, and the page.

The row comes a moment after the first change since the last time; the page too, but not more often than once a second,
and both less often where a reading takes long.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from uuid import UUID

from websockets.asyncio.client import ClientConnection

from tests.bench.connection import Connection

# As in static/taskdeck/pages.js.
COALESCE_SECONDS = 0.25
PAGE_PAUSE_SECONDS = 1.0
ROWS_SHARE = 10
PAGE_SHARE = 40
LONGEST_PAUSE_SECONDS = 10.0


def paced(pause: float, share: int, took: float) -> float:
    """How long a tab waits until it reads again, after a reading that took so long."""
    return min(max(pause, share * took), LONGEST_PAUSE_SECONDS)


@dataclass
class Tab:
    """A page of everyone's tasks on which one changes: when each version was heard of, and when it was shown."""

    port: int
    session: str
    task_id: UUID
    heard: list[tuple[int, float]] = field(default_factory=list)
    shown: list[tuple[int, float]] = field(default_factory=list)
    _wants_row: asyncio.Event = field(default_factory=asyncio.Event)
    _wants_page: asyncio.Event = field(default_factory=asyncio.Event)
    _has_read: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, socket: ClientConnection) -> None:
        """Listen and fetch, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen(socket))
            group.create_task(self._read_rows())
            group.create_task(self._read_pages())

    async def has_shown(self, version: int) -> None:
        """Return once this version, or a later one, has been on the page."""
        while not any(found >= version for found, _ in self.shown):
            self._has_read.clear()
            await self._has_read.wait()

    def delays(self, said: Mapping[int, float]) -> Iterator[float]:
        """How long each version took from when it was said until the row, or a later one, was shown."""
        for version, begun in said.items():
            shown = [at for found, at in self.shown if found >= version]
            if shown:
                yield min(shown) - begun

    async def _listen(self, socket: ClientConnection) -> None:
        async for text in socket:
            at = time.perf_counter()
            changes = json.loads(text).get("tasks", ())
            self.heard.extend((task["v"], at) for task in changes)
            if changes:
                self._wants_row.set()
                self._wants_page.set()

    async def _read_rows(self) -> None:
        took = 0.0
        with closing(await Connection.open(self.port)) as connection:
            while True:
                await self._wants_row.wait()
                await asyncio.sleep(paced(COALESCE_SECONDS, ROWS_SHARE, took))
                self._wants_row.clear()
                begun = time.perf_counter()
                self._show(await self._read(connection, f"/tasks/rows/?ids={self.task_id}"))
                took = time.perf_counter() - begun

    async def _read_pages(self) -> None:
        last = took = 0.0
        with closing(await Connection.open(self.port)) as connection:
            while True:
                await self._wants_page.wait()
                pause = paced(PAGE_PAUSE_SECONDS, PAGE_SHARE, took)
                await asyncio.sleep(max(COALESCE_SECONDS, last + pause - time.perf_counter()))
                # What is heard during a reading may be missing in it: it is read again.
                self._wants_page.clear()
                begun = time.perf_counter()
                self._show(await self._read(connection, "/tasks/?scope=all"))
                last = time.perf_counter()
                took = last - begun

    async def _read(self, connection: Connection, path: str) -> bytes:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Live: 1\r\nCookie: sessionid={self.session}\r\n\r\n"
        return await connection.request(head.encode("ascii"))

    def _show(self, body: bytes) -> None:
        row = re.search(rb'id="task-%s"[^>]*data-v="(\d+)"' % str(self.task_id).encode(), body)
        assert row is not None, body[:300]
        self.shown.append((int(row[1]), time.perf_counter()))
        self._has_read.set()
