"""Where the socket is: one path, and nothing at any other."""

from __future__ import annotations

from typing import Any

from console.live.consumer import LiveConsumer

PATH = "/live"
NO_SUCH_SOCKET = 4404

_live = LiveConsumer.as_asgi()


async def websockets(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve a websocket by its path."""
    if scope["path"] == PATH:
        await _live(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.close", "code": NO_SUCH_SOCKET})
