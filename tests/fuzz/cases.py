"""Requests to the endpoint, as bytes and headers: every kind that a client may send, whole and well-formed.

Tasks and sessions are named by stand-ins, which the world that is asked replaces by its own (`Case.told`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tasks_app.mcp.headers import encode_value
from tests.asgi_client import JSON_HEADERS, modern_headers, modern_message

Pair: TypeAlias = tuple[str, str]

WORKING = "11111111-1111-4111-8111-111111111111"
ASKING = "22222222-2222-4222-8222-222222222222"
FINISHED = "33333333-3333-4333-8333-333333333333"
FOREIGN = "44444444-4444-4444-8444-444444444444"
EXPIRED = "55555555-5555-4555-8555-555555555555"
MISSING = "66666666-6666-4666-8666-666666666666"
KEY = "key-of-the-question"
SESSION = "session-of-alice"
TOKEN = "token-of-alice"

ALWAYS: tuple[Pair, ...] = (*JSON_HEADERS.items(), ("authorization", f"Bearer {TOKEN}"))
ANSWERS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
IN_SESSION: tuple[Pair, ...] = (("mcp-session-id", SESSION), ("mcp-protocol-version", "2025-11-25"))
FORM = {
    "mode": "form",
    "message": "Which port?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "port": {"type": "integer", "minimum": 1},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "note": {"type": "string", "maxLength": 5},
            "day": {"type": "string", "format": "date"},
        },
        "required": ["port"],
    },
}
"""What the asking task asks."""
PORT = {"action": "accept", "content": {"port": 80, "colour": "red", "note": "short", "day": "2026-02-28"}}


@dataclass(frozen=True)
class Case:
    """One request; `body` may come in parts."""

    body: tuple[bytes, ...] = (b"",)
    headers: tuple[Pair, ...] = ALWAYS
    http_method: str = "POST"
    leaves: bool = False
    """The client goes away as soon as it has sent everything."""
    stalls: bool = False
    """The client says that there is more to come, and then sends nothing."""

    def told(self, names: Mapping[str, str]) -> Case:
        """The same with the real names instead of the stand-ins."""
        body = tuple(_renamed_bytes(part, names) for part in self.body)
        return replace(self, body=body, headers=tuple((name, _renamed(value, names)) for name, value in self.headers))


@dataclass(frozen=True)
class Request:
    """A request whose message is not yet written down, so that it can be changed."""

    message: Any
    headers: tuple[Pair, ...] = ()
    is_modern: bool = False
    http_method: str = "POST"

    def case(self, *, of: Any = None) -> Case:
        """The case of this request; `of` is the message that the routing headers speak of, if not its own."""
        routing = routing_headers(self.message if of is None else of) if self.is_modern else ()
        body = b"" if self.message is None else json.dumps(self.message).encode()
        return Case((body,), with_headers(*self.headers, *routing), self.http_method)


def with_headers(*pairs: Pair) -> tuple[Pair, ...]:
    """The headers of every request, and these; those of the same name are replaced."""
    names = {name for name, _ in pairs}
    return (*(pair for pair in ALWAYS if pair[0] not in names), *pairs)


def routing_headers(message: Any) -> tuple[Pair, ...]:
    """The headers of 2026-07-28 as far as a message, which may be anything, names what they repeat."""
    try:
        found = modern_headers(message)
    except (KeyError, TypeError, AttributeError):
        return (("mcp-protocol-version", "2026-07-28"),)
    return tuple((name, encode_value(value)) for name, value in found.items() if isinstance(value, str))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for stand_in, name in names.items():
        text = text.replace(stand_in, name)
    return text


def _renamed_bytes(data: bytes, names: Mapping[str, str]) -> bytes:
    for stand_in, name in names.items():
        data = data.replace(stand_in.encode(), name.encode())
    return data


@dataclass
class _Requests:
    """Collects them by name."""

    found: dict[str, Request] = field(default_factory=dict)

    def modern(self, method: str, params: dict[str, Any] | None = None, *pairs: Pair, note: str = "") -> None:
        """A request of 2026-07-28 that declares everything."""
        message = modern_message(method, params, tasks=True, capabilities=ANSWERS)
        self.found[f"modern {method} {note}".strip()] = Request(message, pairs, is_modern=True)

    def legacy(self, method: str, params: dict[str, Any] | None = None, *, note: str = "", **more: Any) -> None:
        """A request of 2025-11-25 in a session."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **more}
        self.found[f"legacy {method} {note}".strip()] = Request(message, IN_SESSION)

    def plain(self, name: str, message: Any, *pairs: Pair, http_method: str = "POST") -> None:
        """A request as it is, in a session."""
        self.found[name] = Request(message, (*IN_SESSION, *pairs), http_method=http_method)


def _all() -> dict[str, Request]:
    made = _Requests()
    _modern_tasks(made)
    _modern_tools(made)
    _legacy(made)
    for method, params in _CONTENT.items():
        made.modern(method, params)
        made.legacy(method, params)
    return made.found


_CONTENT: dict[str, dict[str, Any]] = {
    "tools/list": {},
    "prompts/list": {},
    "prompts/get": {"name": "review", "arguments": {"language": "python"}},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "notes://atlas/pages/3"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "review"},
                            "argument": {"name": "language", "value": "p"}},
}  # fmt: skip


def _modern_tasks(made: _Requests) -> None:
    made.modern("server/discover")
    for task in (WORKING, ASKING, FINISHED):
        made.modern("tasks/get", {"taskId": task}, note=task[0])
    made.modern("tasks/update", {"taskId": ASKING, "inputResponses": {KEY: PORT}})
    made.modern("tasks/cancel", {"taskId": WORKING})
    made.modern("subscriptions/listen", {"notifications": {"taskIds": [WORKING, FOREIGN, FINISHED]}})


def _modern_tools(made: _Requests) -> None:
    noted = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug", "taskdeck/idempotencyKey": "k-1"}
    made.modern("tools/call", {"name": "greet", "arguments": {"name": "Ada"}}, note="here")
    made.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}, "_meta": noted}, note="as a task")
    made.modern("tools/call", {"name": "echo", "arguments": {}}, ("idempotency-key", "k-2"), note="with a key")
    made.modern(
        "tools/call", {"name": "query", "arguments": {"region": "eu"}}, ("mcp-param-region", "eu"), note="header"
    )
    answers = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}
    rounds = {"name": "introduce", "arguments": {}, "inputResponses": answers}
    made.modern("tools/call", rounds, note="with answers")
    made.modern("tools/call", {**rounds, "requestState": "eyJh:1v:x"}, note="with a state")


def _legacy(made: _Requests) -> None:
    info = {"name": "fuzz", "version": "1"}
    made.legacy("initialize", {"protocolVersion": "2025-11-25", "capabilities": ANSWERS, "clientInfo": info})
    made.legacy("ping")
    made.legacy("logging/setLevel", {"level": "info"})
    ways: dict[str, dict[str, Any]] = {"waiting": {}, "as a task": {"task": {}}, "a while": {"task": {"ttl": 60_000}}}
    for note, more in ways.items():
        meta = {"_meta": {"progressToken": 7}}
        made.legacy("tools/call", {"name": "echo", "arguments": {"text": "x"}, **more, **meta}, note=note)
    made.legacy("tasks/get", {"taskId": WORKING})
    made.legacy("tasks/result", {"taskId": FINISHED}, note="finished")
    made.legacy("tasks/result", {"taskId": ASKING}, note="asking")
    made.legacy("tasks/list", {})
    made.legacy("tasks/cancel", {"taskId": WORKING})
    made.legacy("resources/subscribe", {"uri": "notes://welcome"})
    made.plain("legacy initialized", {"jsonrpc": "2.0", "method": "notifications/initialized"})
    taken_back = {"requestId": 1, "reason": "enough"}
    made.plain("legacy cancelled", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": taken_back})
    made.plain("legacy answer", {"jsonrpc": "2.0", "id": f"{ASKING}/{KEY}", "result": PORT})
    made.plain("legacy refusal", {"jsonrpc": "2.0", "id": f"{ASKING}/{KEY}", "error": {"code": -1, "message": "no"}})
    made.plain("legacy stream", None, http_method="GET")
    made.plain("legacy stream again", None, ("last-event-id", f"{WORKING}.r.3.MQ=="), http_method="GET")
    made.plain("legacy end", None, http_method="DELETE")


VALID: dict[str, Request] = _all()
"""Every kind of request, by a name for people."""
