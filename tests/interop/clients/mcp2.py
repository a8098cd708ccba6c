"""The official SDK of version 2, which has no tasks: the core of 2026-07-28, and the handshake of 2025-11-25."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2  # type: ignore[import-not-found]
import mcp_types as types  # type: ignore[import-not-found]
from mcp import Client, MCPError  # type: ignore[import-not-found]
from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found]

from tests.interop.clients.report import TOKEN, URL, run

ANSWERS = {"What is your name?": "Ada", "Which colour, Ada?": "blue"}
READ_SECONDS = 20.0
LEGACY = "legacy"
MODERN = "auto"


class Person:
    """Who is asked: answers what they know, and remembers the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: Any) -> Any:
        """Answer one question."""
        self.asked.append(params.message)
        field = next(iter(params.requested_schema["properties"]))
        return types.ElicitResult(action="accept", content={field: ANSWERS[params.message]})


@asynccontextmanager
async def connected(mode: str, person: Person | None = None, token: str = TOKEN) -> AsyncIterator[Any]:
    """A client of one era."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=READ_SECONDS) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=person) as client:
            yield client


async def _core(mode: str) -> Any:
    async with connected(mode) as client:
        here = await client.call_tool("add_here", {"left": 1, "right": 2})
        away = await client.call_tool("add", {"left": 3, "right": 4})
        refused = await client.call_tool("refuse", {})
        read = await client.read_resource("interop://motto")
        said = await client.get_prompt("hello", {"name": "Ada"})
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "here": here.structured_content,
            "away": away.structured_content,
            "refused": [refused.is_error, refused.content[0].text],
            "resource": read.contents[0].text,
            "prompt": said.messages[0].content.text,
        }


async def modern_core() -> Any:
    """Tools, a resource and a prompt."""
    return await _core(MODERN)


async def legacy_core() -> Any:
    """The same after a handshake."""
    return await _core(LEGACY)


async def _progress(mode: str) -> Any:
    told: list[tuple[float, float | None, str | None]] = []

    async def tell(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with connected(mode) as client:
        result = await client.call_tool("count", {"to": 2}, progress_callback=tell)
        return {"told": told, "text": result.content[0].text}


async def modern_progress() -> Any:
    """What is told while a call is under way."""
    return await _progress(MODERN)


async def legacy_progress() -> Any:
    """The same after a handshake."""
    return await _progress(LEGACY)


async def _asked(mode: str) -> Any:
    person = Person()
    async with connected(mode, person) as client:
        result = await client.call_tool("introduce", {})
        return {"asked": person.asked, "text": result.content[0].text}


async def modern_questions() -> Any:
    """Two questions, each in a round of its own."""
    return await _asked(MODERN)


async def legacy_questions() -> Any:
    """Two questions on the stream of the call."""
    return await _asked(LEGACY)


async def always_a_task() -> Any:
    """What a client without tasks hears of a tool that is always one."""
    async with connected(MODERN) as client:
        try:
            return await client.call_tool("report", {})
        except MCPError as refused:
            return refused.error.code


async def wrong_token() -> Any:
    """A client whom nobody knows."""
    async with connected(MODERN, token="wrong") as client:
        return await client.list_tools()


if __name__ == "__main__":
    run(
        [modern_core, legacy_core, modern_progress, legacy_progress, modern_questions, legacy_questions,
         always_a_task, wrong_token]
    )  # fmt: skip
