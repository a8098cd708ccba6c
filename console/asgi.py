"""The ASGI entry point: answers lifespan itself, hands the protocol and the live socket on, and the rest to Django."""

from __future__ import annotations

import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings.embedded")

pages = get_asgi_application()

# Only now: these read models, and those need Django to be set up.
from console.live.routing import websockets  # noqa: E402
from tasks_app.mcp.endpoint import endpoint, running, serves  # noqa: E402


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Route one connection by its type."""
    if scope["type"] == "http":
        serve = endpoint if serves(scope["path"]) else pages
        await serve(scope, receive, send)
    elif scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await websockets(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    await receive()
    async with running():
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
