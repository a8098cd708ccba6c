"""A client of 2026-07-28 over real sockets: one connection a request, so nothing ties two requests together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from tests.asgi_client import JSON_HEADERS, modern_headers, modern_message
from tests.contracts import modern
from tests.contracts.checking import check_json
from tests.tasks_app.mcp.remote_client import SECONDS, Stream

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
ENDED = ("completed", "failed", "cancelled")


class Modern:
    """One owner's client of one server."""

    def __init__(self, origin: str, token: str) -> None:
        self._netloc = urlsplit(origin).netloc
        self._headers = {name: value for name, value in JSON_HEADERS.items() if name != "host"}
        self._headers["authorization"] = f"Bearer {token}"

    def request(self, method: str, params: dict[str, Any], *, tasks: bool = True, **headers: str) -> dict[str, Any]:
        """The whole response to a request."""
        with self._sent(method, params, tasks=tasks, headers=headers) as response:
            found: dict[str, Any] = json.loads(response.read())
        check_json(found, modern, method)
        return found

    def result(self, method: str, params: dict[str, Any], *, tasks: bool = True, **headers: str) -> dict[str, Any]:
        """The result of a request that succeeds."""
        response = self.request(method, params, tasks=tasks, **headers)
        assert "result" in response, response
        found: dict[str, Any] = response["result"]
        return found

    def make(self, tool: str, **arguments: Any) -> str:
        """The id of a new task."""
        return str(self.result("tools/call", {"name": tool, "arguments": arguments})["taskId"])

    def get(self, task_id: str) -> dict[str, Any]:
        """A task as the client sees it."""
        return self.result("tasks/get", {"taskId": task_id})

    def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """The task once it has one of these statuses: listened for, because who polls that often is told to wait."""
        with self.listening(task_id) as told:
            for message in told:
                if message.get("params", {}).get("status") in statuses:
                    break
        found = self.get(task_id)
        assert found["status"] in statuses, found
        return found

    def ended(self, task_id: str) -> dict[str, Any]:
        """The task once it has ended."""
        return self.until(task_id, *ENDED)

    @contextmanager
    def listening(self, *task_ids: str) -> Iterator[Iterator[dict[str, Any]]]:
        """What is told of these tasks, after the server has said that it listens; the client leaves with the block."""
        wanted = {"notifications": {"taskIds": list(task_ids)}}
        with self._sent("subscriptions/listen", wanted) as response:
            messages = Stream(response, asked="subscriptions/listen", contract=modern).messages()
            acknowledged = next(messages)
            assert acknowledged["params"]["notifications"]["taskIds"] == list(task_ids)
            yield messages

    @contextmanager
    def _sent(
        self, method: str, params: dict[str, Any], *, tasks: bool = True, headers: dict[str, str] | None = None
    ) -> Iterator[HTTPResponse]:
        message = modern_message(method, params, tasks=tasks, capabilities=FORMS)
        more = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        connection = HTTPConnection(self._netloc, timeout=SECONDS)
        try:
            connection.request("POST", "/mcp", json.dumps(message), self._headers | modern_headers(message) | more)
            yield connection.getresponse()
        finally:
            connection.close()
