"""A client of 2026-07-28: no handshake, and every request says who asks and what it can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.client.transport import CLIENT_INFO, Transport

VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
DEFAULT_POLL_SECONDS = 2.0
"""How long `wait` waits between two looks at a task when the server does not say."""
NAMED = {"tools/call": "name", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}


@dataclass(frozen=True, slots=True)
class Client:
    """What an MCP client can do with this server; each method is one request. They raise Refused or Unreachable."""

    transport: Transport

    @classmethod
    def at(cls, url: str, token: str) -> Client:
        """A client of the endpoint at this address."""
        return cls(Transport(url, token))

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools that there are, page by page."""
        tools: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool: the task that it became (`resultType` is "task"), or its result."""
        return self.request("tools/call", {"name": name, "arguments": dict(arguments or {})})

    def get_task(self, task_id: str) -> dict[str, Any]:
        """How a task stands, with its outcome or with what it asks."""
        return self.request("tasks/get", {"taskId": task_id})

    def wait(self, task_id: str, *, sleep: Callable[[float], object] = time.sleep) -> dict[str, Any]:
        """The task once it has ended or asks something, looked at as often as the server asks for."""
        while True:
            shown = self.get_task(task_id)
            if shown["status"] != "working":
                return shown
            sleep(poll_seconds(shown))

    def answer(self, task_id: str, responses: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what a task asks, by the key of each question."""
        return self.request("tasks/update", {"taskId": task_id, "inputResponses": dict(responses)})

    def cancel(self, task_id: str) -> dict[str, Any]:
        """Cancel a task."""
        return self.request("tasks/cancel", {"taskId": task_id})

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Any request of the protocol, with what every one has to carry."""
        headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
        if method in NAMED:
            headers["Mcp-Name"] = str(params[NAMED[method]])
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _meta()}}
        return self.transport.send(message, headers=headers).result


def poll_seconds(task: Mapping[str, Any]) -> float:
    """When to look at a task again: what the server hints at, or every two seconds where it gives no hint."""
    hint = task.get("pollIntervalMs")
    return DEFAULT_POLL_SECONDS if hint is None else float(hint) / 1000


def _meta() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": {TASKS: {}},
            "elicitation": {"form": {}, "url": {}},
        },
    }
