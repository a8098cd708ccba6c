"""What a tab does with what it hears: it notes when, and fetches the row that changed as the page's script does."""

from __future__ import annotations

import asyncio
import json
import re
import time
from http.client import HTTPConnection
from uuid import UUID

from websockets.asyncio.client import ClientConnection

# As in static/taskdeck/pages.js.
COALESCE_SECONDS = 0.25
VERSION = re.compile(rb'data-v="(\d+)"')


async def listen(socket: ClientConnection, heard: list[tuple[int, float]]) -> None:
    """Note every version that the socket hears of, and when."""
    async for text in socket:
        message = json.loads(text)
        at = time.perf_counter()
        heard.extend((task["v"], at) for task in message.get("tasks", ()))


class Tab:
    """A page that shows one task, and fetches its row a moment after it has heard of a change."""

    def __init__(self, port: int, session: str, task_id: UUID) -> None:
        self._port = port
        self._session = session
        self._task_id = task_id
        self.shown: list[tuple[int, float]] = []

    async def follow(self, heard: list[tuple[int, float]]) -> None:
        """Fetch whenever something new was heard."""
        seen = 0
        while True:
            await asyncio.sleep(0.01)
            if len(heard) > seen:
                await asyncio.sleep(COALESCE_SECONDS)
                news = [version for version, _ in heard[seen:]]
                seen += len(news)
                shown = await asyncio.to_thread(self._fetch)
                at = time.perf_counter()
                self.shown.extend((version, at) for version in news if version <= shown)

    def _fetch(self) -> int:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Cookie": f"sessionid={self._session}", "X-Live": "1"}
        connection.request("GET", f"/tasks/rows/?ids={self._task_id}", headers=headers)
        body = connection.getresponse().read()
        connection.close()
        found = VERSION.search(body)
        assert found is not None, body[:300]
        return int(found[1])
