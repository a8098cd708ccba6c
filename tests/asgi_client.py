"""A tiny client that calls an ASGI application directly: no server, no sockets, and a client that can go away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

HeaderList: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]

JSON_HEADERS = {
    "host": "testserver",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
VERSION = "2026-07-28"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a value."""
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON-RPC error."""
        found: dict[str, Any] = self.json["error"]
        return found

    @property
    def events(self) -> list[Any]:
        """The messages of an event stream, in order; comments and priming events left out."""
        return [json.loads(data) for data in data_of(self.body)]


def data_of(stream: bytes) -> list[bytes]:
    """The data of each server-sent event that has some."""
    frames = [frame.split(b"\r\n") for frame in stream.split(b"\r\n\r\n")]
    found = [line.removeprefix(b"data:").strip() for lines in frames for line in lines if line.startswith(b"data:")]
    return [data for data in found if data]


@dataclass
class Exchange:
    """One request on its way: what was sent is there to look at while the answer still comes."""

    body: list[bytes]
    sent: list[MutableMapping[str, Any]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> dict[str, Any]:
        """The next part of the body, then silence until the client goes away."""
        if self.body:
            part = self.body.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self.body)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Keep what the application says."""
        self.sent.append(message)
        self.changed.set()

    async def until(self, text: bytes, *, seconds: float = 5.0) -> None:
        """Wait until this was sent."""
        async with asyncio.timeout(seconds):
            while text not in self.answer.body:
                self.changed.clear()
                await self.changed.wait()

    @property
    def answer(self) -> Answer:
        """The answer as far as it came."""
        start = next((each for each in self.sent if each["type"] == "http.response.start"), None)
        body = b"".join(each.get("body", b"") for each in self.sent if each["type"] == "http.response.body")
        if start is None:
            return Answer(0, {}, body)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], headers, body)


Check: TypeAlias = Callable[[str, Mapping[str, str], bytes, "Answer"], None]


class Client:
    """Calls one application, with the same headers each time unless told otherwise."""

    check: ClassVar[Check | None] = None
    """Looks at every answer, beside the test that asked for it: HTTP method, headers and body of the request first."""

    def __init__(self, app: Any, *, token: str | None = None, path: str = "/mcp", address: str = "192.0.2.1") -> None:
        self.app = app
        self.path = path
        self.address = address
        self.headers = dict(JSON_HEADERS)
        if token is not None:
            self.headers["authorization"] = f"Bearer {token}"

    async def request(
        self, method: str, body: bytes | list[bytes] = b"", *, headers: HeaderList = (), path: str | None = None
    ) -> Answer:
        """Send one request and wait for the whole answer; a header of the value "-" is left out."""
        exchange = self.exchange(body)
        scope = self.scope(method, headers=headers, path=path)
        await self.app(scope, exchange.receive, exchange.send)
        self._look(scope, body, exchange.answer)
        return exchange.answer

    def exchange(self, body: bytes | list[bytes] = b"") -> Exchange:
        """The client's side of a request."""
        return Exchange(list(body) if isinstance(body, list) else [body])

    def scope(self, method: str, *, headers: HeaderList = (), path: str | None = None) -> dict[str, Any]:
        """What the server tells the application about a request."""
        pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
        replaced = {name.lower() for name, _ in pairs}
        kept = [(name, value) for name, value in self.headers.items() if name not in replaced]
        return {
            "type": "http",
            "method": method,
            "path": path or self.path,
            "query_string": b"",
            "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in kept + pairs if v != "-"],
            "client": (self.address, 50000),
            "server": ("testserver", 80),
        }

    @asynccontextmanager
    async def opened(self, method: str, body: bytes = b"", *, headers: HeaderList = ()) -> AsyncIterator[Exchange]:
        """A request whose answer comes bit by bit; at the end of the block the client goes away."""
        exchange = self.exchange(body)
        scope = self.scope(method, headers=headers)
        running = asyncio.ensure_future(self.app(scope, exchange.receive, exchange.send))
        running.add_done_callback(lambda _: exchange.ended.set())
        try:
            yield exchange
        finally:
            exchange.gone.set()
            async with asyncio.timeout(5):
                await running
        self._look(scope, body, exchange.answer)

    def _look(self, scope: Mapping[str, Any], body: bytes | list[bytes], answer: Answer) -> None:
        check = type(self).check
        if check is not None:
            sent = body if isinstance(body, bytes) else b"".join(body)
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            check(scope["method"], headers, sent, answer)

    async def post(self, message: Any, *, headers: HeaderList = ()) -> Answer:
        """Send one JSON message."""
        return await self.request("POST", json.dumps(message).encode(), headers=headers)

    async def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = 1,  # noqa: A002
        tasks: bool = False,
        capabilities: dict[str, Any] | None = None,
        headers: HeaderList = (),
    ) -> Answer:
        """Send a request of 2026-07-28 with everything that it needs."""
        message = modern_message(method, params, id=id, tasks=tasks, capabilities=capabilities)
        return await self.post(message, headers=modern_headers(message) | dict(headers))

    async def legacy(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = 1,  # noqa: A002
        session: str = "-",
    ) -> Answer:
        """Send a request of 2025-11-25, in a session if one is given."""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        return await self.post(message, headers={"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"})

    async def initialize(self, *, capabilities: dict[str, Any] | None = None, version: str = "2025-11-25") -> str:
        """Begin a session of 2025-11-25 and give its id."""
        client = {"name": "tester", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client}
        answer = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert answer.status == 200, answer.body
        return answer.headers["mcp-session-id"]


def modern_message(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    id: Any = 1,  # noqa: A002
    tasks: bool = False,
    capabilities: dict[str, Any] | None = None,
    version: str = VERSION,
) -> dict[str, Any]:
    """A request of 2026-07-28."""
    declared = dict(capabilities or {})
    if tasks:
        declared["extensions"] = {"io.modelcontextprotocol/tasks": {}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": declared,
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    }
    given = dict(params or {})
    meta |= given.pop("_meta", {})
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**given, "_meta": meta}}


def modern_headers(message: Mapping[str, Any]) -> dict[str, str]:
    """The routing headers that a request of 2026-07-28 needs."""
    params = message["params"]
    headers = {"mcp-protocol-version": VERSION, "mcp-method": message["method"]}
    named = params.get("taskId") or params.get("name") or params.get("uri")
    return headers | ({"mcp-name": named} if isinstance(named, str) else {})
