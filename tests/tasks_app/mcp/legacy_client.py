"""A client of 2025-11-25 in a session of its own: calls, open streams, and answers to what it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from tests.asgi_client import Answer, Client, Exchange
from tests.tasks_app.mcp.helpers import LOOK_SECONDS, WAIT_SECONDS, result_of

VERSION = "2025-11-25"
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
RELATED = "io.modelcontextprotocol/related-task"


@dataclass
class Session:
    """One session of one client."""

    client: Client
    id: str
    version: str = VERSION

    @classmethod
    async def begin(
        cls, client: Client, *, capabilities: dict[str, Any] | None = None, version: str = VERSION
    ) -> Session:
        """Shake hands."""
        return cls(client, await client.initialize(capabilities=capabilities, version=version), version)

    @property
    def headers(self) -> dict[str, str]:
        """What every request of the session carries."""
        return {"mcp-session-id": self.id, "mcp-protocol-version": self.version}

    async def send(self, message: dict[str, Any]) -> Answer:
        """Send one message as it is."""
        return await self.client.post({"jsonrpc": "2.0", **message}, headers=self.headers)

    async def request(self, method: str, params: dict[str, Any] | None = None, *, id: Any = 1) -> Answer:  # noqa: A002
        """Send a request and wait for the whole answer."""
        return await self.send({"id": id, "method": method, "params": params or {}})

    async def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request that succeeds."""
        return result_of(await self.request(method, params))

    async def error(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error of a request that fails, which is no failure of HTTP."""
        answer = await self.request(method, params)
        assert answer.status == 200
        found: dict[str, Any] = last_message(answer)["error"]
        return found

    async def notify(self, method: str, params: dict[str, Any]) -> Answer:
        """Send a notification."""
        return await self.send({"method": method, "params": params})

    async def respond(self, id: Any, result: Any = None, *, error: Any = None) -> Answer:  # noqa: A002
        """Answer a request of the server."""
        return await self.send({"id": id, "result": result} if error is None else {"id": id, "error": error})

    def opened(
        self,
        method: str,
        params: dict[str, Any],
        *,
        id: Any = 1,  # noqa: A002
    ) -> AbstractAsyncContextManager[Exchange]:
        """A request whose answer comes bit by bit; at the end of the block the client goes away."""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return self.client.opened("POST", json.dumps(message).encode(), headers=self.headers)

    def stream(self, *, after: str = "-") -> AbstractAsyncContextManager[Exchange]:
        """The stream of a GET, or the rest of another one after this event."""
        return self.client.opened("GET", headers={**self.headers, "last-event-id": after})

    async def make(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A new task of this tool."""
        params = {"name": tool, "arguments": arguments or {}, "task": {}, **more}
        task: dict[str, Any] = (await self.result("tools/call", params))["task"]
        return task

    async def get(self, task_id: str) -> dict[str, Any]:
        """A task as the client sees it."""
        return await self.result("tasks/get", {"taskId": task_id})

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """The task once it has one of these statuses; fails the test when that never comes."""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                shown = await self.get(task_id)
                if shown["status"] in statuses:
                    return shown
                await asyncio.sleep(LOOK_SECONDS)

    async def ended(self, task_id: str) -> dict[str, Any]:
        """The task once it has ended."""
        return await self.until(task_id, "completed", "failed", "cancelled")


def last_message(answer: Answer) -> dict[str, Any]:
    """The response in an answer, whether it came as one object or as a stream."""
    is_stream = answer.headers["content-type"] == "text/event-stream"
    found: dict[str, Any] = answer.events[-1] if is_stream else answer.json
    return found


async def heard(exchange: Exchange, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first message of an open stream of which this holds; fails the test when it never comes."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            exchange.changed.clear()
            for message in exchange.answer.events if exchange.answer.status else []:
                if holds(message):
                    return dict(message)
            await exchange.changed.wait()


async def asked(exchange: Exchange, method: str = "elicitation/create") -> dict[str, Any]:
    """The request that the server sends on an open stream."""
    return await heard(exchange, lambda message: message.get("method") == method)


async def response(exchange: Exchange, *, id: Any = 1) -> dict[str, Any]:  # noqa: A002
    """The response that an open stream ends with."""
    return await heard(exchange, lambda message: "method" not in message and message.get("id") == id)


def event_ids(answer: Answer) -> list[str]:
    """The ids of the events of a stream, in order."""
    lines = answer.body.decode().split("\r\n")
    return [line.removeprefix("id: ") for line in lines if line.startswith("id: ")]
