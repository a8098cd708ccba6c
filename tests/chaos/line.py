"""A line to the database that can go dead: it takes connections and words, and passes nothing on until it is mended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

CHUNK = 65_536
END_SECONDS = 5.0


class Line:
    """A TCP port on loopback before a unix socket, served by a thread of its own while the block lasts."""

    def __init__(self, socket_path: str) -> None:
        self._path = socket_path
        self._loop = asyncio.new_event_loop()
        self._is_up = asyncio.Event()
        self._is_up.set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="line", daemon=True)
        self._server: asyncio.Server | None = None
        self.port = 0
        self.connections = 0
        """How many are open now."""

    def __enter__(self) -> Line:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(END_SECONDS)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(END_SECONDS)

    @contextmanager
    def dead(self) -> Iterator[None]:
        """Nothing passes while the block lasts, in either direction; what was said meanwhile arrives afterwards."""
        self._loop.call_soon_threadsafe(self._is_up.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._is_up.set)

    async def _serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._connect, "127.0.0.1", 0)

    def _end(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._is_up.wait()
            there, back = await asyncio.open_unix_connection(self._path)
            ways = [asyncio.create_task(self._pass_on(*way)) for way in ((reader, back), (there, writer))]
            # One side that leaves ends the connection for both.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for each in ways:
                each.cancel()
            back.close()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._is_up.wait()
                writer.write(data)
                await writer.drain()
