"""A client of 2025-11-25 over real sockets, for servers in processes of their own; what it reads keeps the contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from tests.contracts import legacy
from tests.contracts.checking import check_json, check_message

SECONDS = 20.0
INFO = {"name": "remote", "version": "1"}


class Stream:
    """A stream of events as it is read: the answer to this method of a revision."""

    def __init__(self, response: HTTPResponse, *, asked: str, contract: ModuleType = legacy) -> None:
        self._response = response
        self._asked = asked
        self._contract = contract
        self.last_event = ""

    def messages(self) -> Iterator[dict[str, Any]]:
        """Each message, until the server ends the stream."""
        for raw in self._response:
            line = raw.decode().strip()
            if line.startswith("id: "):
                self.last_event = line.removeprefix("id: ")
            if line.startswith("data: ") and line != "data: ":
                message = json.loads(line.removeprefix("data: "))
                check_message(message, self._contract, self._asked)
                yield message

    def primed(self) -> str:
        """The id of the first event, once it is there."""
        while not self.last_event:
            line = self._response.readline().decode().strip()
            assert line or not self._response.isclosed(), "the stream ended before it began"
            self.last_event = line.removeprefix("id: ") if line.startswith("id: ") else ""
        return self.last_event

    def asked(self) -> dict[str, Any]:
        """The next request of the server."""
        return next(each for each in self.messages() if "method" in each and "id" in each)

    def response(self) -> dict[str, Any]:
        """The response that the stream ends with."""
        return next(each for each in self.messages() if "method" not in each)


class Remote:
    """One owner's client of one server; a session may be that of another server."""

    def __init__(self, origin: str, token: str, *, session: str = "") -> None:
        self.origin = origin
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        self.session = session or self._begin()

    def _begin(self) -> str:
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": INFO}
        with self._sent("POST", {"id": 0, "method": "initialize", "params": params}) as response:
            response.read()
            found = response.getheader("mcp-session-id")
        assert found
        return found

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The response to a request that is answered with plain JSON."""
        with self._sent("POST", {"id": 1, "method": method, "params": params or {}}) as response:
            found: dict[str, Any] = json.loads(response.read())
        check_json(found, legacy, method)
        return found

    def status(self, http_method: str, message: dict[str, Any] | None = None) -> int:
        """How HTTP answers."""
        with self._sent(http_method, message) as response:
            response.read()
            return response.status

    @contextmanager
    def stream(self, method: str, params: dict[str, Any], *, id: Any = 1) -> Iterator[Stream]:  # noqa: A002
        """A request that is answered with a stream; the client goes away with the block."""
        with self._sent("POST", {"id": id, "method": method, "params": params}) as response:
            yield Stream(response, asked=method)

    @contextmanager
    def resumed(self, last_event: str) -> Iterator[Stream]:
        """The rest of a stream after this event."""
        with self._sent("GET", None, {"Last-Event-ID": last_event}) as response:
            assert response.status == 200, response.read()
            yield Stream(response, asked="GET")

    @contextmanager
    def _sent(
        self, http_method: str, message: dict[str, Any] | None, more: dict[str, str] | None = None
    ) -> Iterator[HTTPResponse]:
        connection = HTTPConnection(urlsplit(self.origin).netloc, timeout=SECONDS)
        session = {"Mcp-Session-Id": self.session} if hasattr(self, "session") else {}
        body = None if message is None else json.dumps({"jsonrpc": "2.0", **message})
        try:
            connection.request(http_method, "/mcp", body, self._headers | session | (more or {}))
            yield connection.getresponse()
        finally:
            connection.close()
