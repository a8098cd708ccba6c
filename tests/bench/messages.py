"""What the load says and expects to hear, in each dialect. The standard library only."""

from __future__ import annotations

import itertools
import json
from typing import Any, Protocol

from tests.bench.connection import Connection

TOOL = "noop"
RESULT = "done"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}

_numbers = itertools.count(1)


class Dialect(Protocol):
    """How to make a task and look at one."""

    async def greet(self, connection: Connection) -> None:
        """Whatever comes before the first call."""

    def create(self) -> bytes:
        """The request that makes a task."""

    def poll(self, task_id: str) -> bytes:
        """The request that looks at one."""

    def made(self, body: bytes) -> str:
        """The id of the task that was made. Raises for any other answer."""

    def is_done(self, body: bytes, task_id: str) -> bool:
        """Whether the task that was looked at has completed. Raises when it is another, or went wrong."""


def dialect(name: str, token: str) -> Dialect:
    """The dialect of this name, for the owner of a token."""
    return _Modern(token) if name == MODERN else _Legacy(token)


def _request(token: str, version: str, headers: str, message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {version}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def _call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"id": next(_numbers), "method": method, "params": params}


def _result(body: bytes) -> dict[str, Any]:
    message = json.loads(body)
    if "result" not in message:
        raise AssertionError(f"{message}")
    result: dict[str, Any] = message["result"]
    return result


def _is_done(task: dict[str, Any], task_id: str) -> bool:
    if task["taskId"] != task_id or task["status"] not in ("working", "completed"):
        raise AssertionError(f"{task_id} was asked for, not {task}")
    return bool(task["status"] == "completed")


class _Modern:
    """2026-07-28: every request stands alone, and a poll brings the result."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def greet(self, connection: Connection) -> None:
        """Nothing to say."""

    def create(self) -> bytes:
        return self._say("tools/call", TOOL, {"name": TOOL, "arguments": {"number": next(_numbers)}})

    def poll(self, task_id: str) -> bytes:
        return self._say("tasks/get", task_id, {"taskId": task_id})

    def made(self, body: bytes) -> str:
        task = _result(body)
        if task["resultType"] != "task" or task["status"] not in ("working", "completed"):
            raise AssertionError(f"{task}")
        return str(task["taskId"])

    def is_done(self, body: bytes, task_id: str) -> bool:
        task = _result(body)
        done = _is_done(task, task_id)
        if done and task["result"]["content"][0]["text"] != RESULT:
            raise AssertionError(f"{task}")
        return done

    def _say(self, method: str, name: str, params: dict[str, Any]) -> bytes:
        headers = f"Mcp-Method: {method}\r\nMcp-Name: {name}\r\n"
        return _request(self._token, MODERN, headers, _call(method, {**params, "_meta": META}))


class _Legacy:
    """2025-11-25: in a session, and the caller asks for the task."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._headers = ""

    async def greet(self, connection: Connection) -> None:
        """Begin a session."""
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        said = _result(await connection.request(self._say("initialize", params)))
        assert said["protocolVersion"] == LEGACY
        self._headers = f"Mcp-Session-Id: {connection.header('mcp-session-id')}\r\n"
        note = {"method": "notifications/initialized"}
        await connection.request(_request(self._token, LEGACY, self._headers, note))

    def create(self) -> bytes:
        params = {"name": TOOL, "arguments": {"number": next(_numbers)}, "task": {}}
        return self._say("tools/call", params)

    def poll(self, task_id: str) -> bytes:
        return self._say("tasks/get", {"taskId": task_id})

    def made(self, body: bytes) -> str:
        return str(_result(body)["task"]["taskId"])

    def is_done(self, body: bytes, task_id: str) -> bool:
        return _is_done(_result(body), task_id)

    def _say(self, method: str, params: dict[str, Any]) -> bytes:
        return _request(self._token, LEGACY, self._headers, _call(method, params))
