"""A client of 2025-11-25: it shakes hands, and it may say how long a task is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.client.transport import CLIENT_INFO, Transport

VERSION = "2025-11-25"
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


@dataclass(frozen=True, slots=True)
class Session:
    """One session with the server."""

    transport: Transport
    id: str

    @classmethod
    def begin(cls, url: str, token: str) -> Session:
        """Shake hands with the endpoint at this address. Raises Refused or Unreachable."""
        transport = Transport(url, token)
        params = {"protocolVersion": VERSION, "capabilities": CAPABILITIES, "clientInfo": CLIENT_INFO}
        reply = transport.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, headers={})
        session = cls(transport, reply.headers.get("mcp-session-id", ""))
        session._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return session

    def call_as_task(self, name: str, arguments: Mapping[str, Any] | None = None, *, ttl_ms: int) -> dict[str, Any]:
        """Call a tool as a task that is kept for so long, counted from its creation, and give the task."""
        params = {"name": name, "arguments": dict(arguments or {}), "task": {"ttl": ttl_ms}}
        result = self._send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        task: dict[str, Any] = result["task"]
        return task

    def _send(self, message: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"MCP-Protocol-Version": VERSION, "Mcp-Session-Id": self.id}
        return self.transport.send(message, headers=headers).result
