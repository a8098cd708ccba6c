"""A browser's socket without a browser: it talks to the ASGI application directly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from console.live.consumer import LiveConsumer

SOON = 15.0
SILENCE = 0.4
HOST = "testserver"
ORIGIN = f"http://{HOST}"
CHECK_SECONDS = 0.1

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Socket:
    """What was sent to the browser, and what it says itself."""

    def __init__(self) -> None:
        self.to_server: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.to_browser: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def say(self, value: object) -> None:
        """Send a value as JSON."""
        await self.send(text=json.dumps(value))

    async def send(self, **data: str | bytes) -> None:
        """Send a frame as it is."""
        await self.to_server.put({"type": "websocket.receive", **data})

    async def watch(self, *topics: str, scope: str = "mine") -> dict[str, Any]:
        """Ask for these topics; what was granted."""
        await self.say({"watch": list(topics), "scope": scope})
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        frame = await self._next()
        assert frame["type"] == "websocket.send", frame
        found: dict[str, Any] = json.loads(frame["text"])
        return found

    async def is_silent(self) -> bool:
        """Whether nothing comes for a while."""
        try:
            await asyncio.wait_for(self.to_browser.get(), SILENCE)
        except TimeoutError:
            return True
        return False

    async def ended(self) -> int:
        """The code with which the server ends it; what it says before that is passed over."""
        while (frame := await self._next())["type"] != "websocket.close":
            pass
        return int(frame.get("code", 1000))

    async def answered(self) -> str:
        """What became of the handshake."""
        return str((await self._next())["type"])

    async def _next(self) -> dict[str, Any]:
        async with asyncio.timeout(SOON):
            return await self.to_browser.get()


@asynccontextmanager
async def connecting(
    *, session: str = "", origin: str | None = ORIGIN, host: str = HOST, application: Application | None = None
) -> AsyncIterator[Socket]:
    """A socket whose handshake is under way; it leaves with the block, and the server must then be done with it."""
    socket = Socket()
    headers = [(b"host", host.encode()), (b"cookie", f"theme=dark; sessionid={session}".encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    serve = application or LiveConsumer.as_asgi(check_seconds=CHECK_SECONDS)
    scope = {"type": "websocket", "path": "/live", "headers": headers, "subprotocols": []}
    await socket.to_server.put({"type": "websocket.connect"})
    serving = asyncio.create_task(serve(scope, socket.to_server.get, socket.to_browser.put))  # type: ignore[arg-type]
    try:
        yield socket
    finally:
        await socket.to_server.put({"type": "websocket.disconnect", "code": 1001})
        await asyncio.wait_for(serving, SOON)


@asynccontextmanager
async def connected(session: str, **options: Any) -> AsyncIterator[Socket]:
    """A socket that was accepted."""
    async with connecting(session=session, **options) as socket:
        assert await socket.answered() == "websocket.accept"
        yield socket
