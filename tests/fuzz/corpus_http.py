"""The bad headers, HTTP methods and connections that everyone should think of, with the statuses to answer them."""

from __future__ import annotations

import base64
from dataclasses import replace

from tests.asgi_client import modern_message
from tests.fuzz import cases
from tests.fuzz.cases import IN_SESSION, Case, Request, with_headers
from tests.fuzz.corpus import DISCOVER, REFUSED, Found

GET = modern_message("tasks/get", {"taskId": cases.WORKING}, tasks=True)


def bad_requests() -> Found:
    """Each case with a name of its own."""
    yield from _routing()
    yield from _sessions()
    yield from _content()
    yield from _transport()


WRONG_VALUES = (
    "", "x", "=?base64?%%%?=", "=?base64?/w==?=", "=?BASE64?eA==?=", "a\rb", "a\nb", "é", "x" * 65_536,
)  # fmt: skip


def _routing() -> Found:
    whole = Request(GET, is_modern=True).case()
    for name in ("mcp-method", "mcp-name", "mcp-protocol-version"):
        twice = (*whole.headers, (name, dict(whole.headers)[name]))
        yield f"{name} twice", replace(whole, headers=twice), REFUSED
        for value in WRONG_VALUES:
            yield f"{name} {value[:20]!a}", _with(whole, name, value), REFUSED
    yield "no mcp-method", _with(whole, "mcp-method", "-"), REFUSED
    yield "no version", _with(whole, "mcp-protocol-version", "-"), REFUSED
    yield "versions contradict each other", _with(whole, "mcp-protocol-version", "2025-11-25"), REFUSED
    call = Request(modern_message("tools/call", {"name": "echo"}, tasks=True), is_modern=True).case()
    for key in ("", "a b", "x" * 201, "é"):
        yield f"key {key[:9]!a}", _with(call, "idempotency-key", key), REFUSED


DEEP = base64.b64encode(b"[" * 9_000).decode()
WRONG_TAILS = ("r.1.%%", "r.-1.MQ==", f"r.{'9' * 5_000}.MQ==", f"r.1.{DEEP}", "r.1.dHJ1ZQ==", "x.1.MQ==")
WRONG_EVENTS = (
    "x", "", ".", "é" * 999, f"{cases.FOREIGN}.r.1.MQ==", *(f"{cases.WORKING}.{tail}" for tail in WRONG_TAILS),
)  # fmt: skip


def _sessions() -> Found:
    for session in ("", "nobody", "\xff", "x" * 65_536):
        headers = with_headers(("mcp-session-id", session), IN_SESSION[1])
        yield f"session {session[:9]!a}", Case((b'{"jsonrpc":"2.0","id":1,"method":"ping"}',), headers), {404}
        yield f"end of session {session[:9]!a}", Case(headers=headers, http_method="DELETE"), {404}
    for event in WRONG_EVENTS:
        again = with_headers(*IN_SESSION, ("last-event-id", event))
        yield f"stream after {event[-20:]!a} of {len(event)}", Case(headers=again, http_method="GET"), REFUSED


def _content() -> Found:
    whole = Request(DISCOVER, is_modern=True).case()
    for kind in ("text/plain", "", "application/json; charset=utf-16", "application/jsonp", "multipart/form-data", "é"):
        yield f"content-type {kind!a}", _with(whole, "content-type", kind), {415}
    for accept in ("-", "", "text/html", "application/json", "text/event-stream;q=0, */json", "é"):
        yield f"accept {accept!a}", _with(whole, "accept", accept), {406}
    for length in ("x", "-1", "1e3", "", "²"):
        yield f"length {length!a}", _with(whole, "content-length", length), REFUSED
    for length in ("9" * 19, "9" * 5_000):
        yield f"length of {len(length)} digits", _with(whole, "content-length", length), {413}


def _transport() -> Found:
    whole = Request(DISCOVER, is_modern=True).case()
    for method in ("PUT", "PATCH", "TRACE", "OPTIONS", "HEAD", "CONNECT", "get", "BREW"):
        yield method, replace(whole, http_method=method), {405}
    for method in ("GET", "DELETE"):
        yield f"modern {method}", replace(whole, http_method=method), {405}
    for host in ("evil.example.com", "", "localhost:x", "[::1", "é", "a" * 65_536):
        yield f"host {host[:20]!a}", _with(whole, "host", host), REFUSED
    for origin in ("null", "https://evil.example.com", "", "file://", "http://localhost.evil.example.com", "é"):
        yield f"origin {origin!a}", _with(whole, "origin", origin), {403}
    for token in ("Bearer", "Bearer a b", "Bearer é"):
        yield f"token {token!a}", _with(whole, "authorization", token), REFUSED
    for token in ("", "Basic eDp5", f"Bearer {'x' * 65_536}", "Bearer td_nobody", "-"):
        yield f"token {token[:12]!a}", _with(whole, "authorization", token), {401}
    yield "two tokens", replace(whole, headers=(*whole.headers, ("authorization", "Bearer x"))), REFUSED
    yield "body that stops coming", replace(whole, stalls=True), {408}
    yield "client that leaves at once", replace(whole, leaves=True), {0, 200}
    yield "client that leaves before it has sent all", replace(whole, body=(), leaves=True), {0}


def _with(case: Case, name: str, value: str) -> Case:
    """A case with another value of a header; "-" leaves the header out."""
    kept = tuple(pair for pair in case.headers if pair[0] != name)
    return replace(case, headers=(*kept, (name, value)))
