"""The bad messages that everyone should think of, each with the statuses that may answer it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.asgi_client import modern_message
from tests.fuzz import cases
from tests.fuzz.cases import IN_SESSION, Case, Request, routing_headers, with_headers

Found: TypeAlias = Iterator[tuple[str, Case, set[int]]]

MIB = 1024 * 1024
DISCOVER = modern_message("server/discover")
ROUTED = with_headers(*routing_headers(DISCOVER))
REFUSED = {400}


def bad_messages() -> Found:
    """Each case with a name of its own."""
    yield from _bodies()
    yield from _envelopes()
    yield from _parameters()
    yield from _task_ids()
    yield from _answers()


def _bodies() -> Found:
    text = json.dumps(DISCOVER)
    whole = text.encode()
    bodies = {
        "empty": b"",
        "null": b"null",
        "empty list": b"[]",
        "batch": b"[" + whole + b"," + whole + b"]",
        "deep lists": b"[" * 10_000 + b"]" * 10_000,
        "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        "deep without end": b"[" * 10_000,
        "truncated": whole[:-7],
        "trailing garbage": whole + b"}",
        "two messages": whole + whole,
        "byte order mark": b"\xef\xbb\xbf" + whole,
        "utf-16": text.encode("utf-16"),
        "utf-32": text.encode("utf-32"),
        "invalid utf-8": whole.replace(b"tester", b"te\xc3\x28er"),
        "overlong utf-8": whole.replace(b"tester", b"\xc0\xaf"),
        "raw surrogates": whole.replace(b"tester", b"\xed\xa0\x80"),
        "duplicate keys": whole.replace(b'"id": 1', b'"id": 1, "id": 2'),
        "single quotes": whole.replace(b'"', b"'"),
        "raw control characters": whole.replace(b"tester", b"te\x00er"),
        "NaN": whole.replace(b'"id": 1', b'"id": NaN'),
        "Infinity": whole.replace(b'"id": 1', b'"id": -Infinity'),
        "1e400": whole.replace(b'"id": 1', b'"id": 1e400'),
        "5000 digits": whole.replace(b'"id": 1', b'"id": ' + b"9" * 5000),
        "just text": b'"hello"',
        "just a number": b"7",
        "not JSON": b"<xml/>",
        "NUL bytes": b"\x00" * 100,
    }
    for name, body in bodies.items():
        yield name, Case((body,), ROUTED), REFUSED
    yield "one byte over the limit", Case((b" " * (MIB + 1),), ROUTED), {413}
    yield "100 MB in chunks", Case((b"x" * MIB,) * 100, ROUTED), {413}
    yield "byte by byte", Case(tuple(whole[at : at + 1] for at in range(len(whole))), ROUTED), {200}
    yield "gzip bomb", Case((gzip.compress(b" " * 10 * MIB),), (*ROUTED, ("content-encoding", "gzip"))), {415}
    yield "gzip without a word", Case((gzip.compress(whole),), ROUTED), REFUSED


STRANGE_IDS: list[Any] = [None, {}, [1], True, False, 1.0, 1.5, "x" * 10_000]
USUAL_IDS: list[Any] = [0, -1, "", "\x00", "\ud800", 2**63, -(2**63) - 1, "é"]
NO_METHODS: list[Any] = [7, None, "", [], {}]
UNKNOWN_METHODS = [
    "x" * (MIB // 2), "__proto__", "tasks/../get", "TASKS/GET", "tasks/get\x00", "rpc.discover", "é", " ping",
]  # fmt: skip
NO_PARAMS: list[Any] = [[], [1], None, "x", 7, True]
RESPONSES: list[dict[str, Any]] = [
    {"result": {}}, {"error": {"code": 1, "message": "x"}}, {"result": 7}, {"error": None}, {},
]  # fmt: skip


def _envelopes() -> Found:
    for id_ in STRANGE_IDS:
        yield f"id {str(id_)[:9]} {type(id_).__name__}", _discover({"id": id_}), REFUSED
    for id_ in USUAL_IDS:
        yield f"id {id_!a}", _discover({"id": id_}), {200}
    yield "id -0", Case((json.dumps(DISCOVER).replace('"id": 1', '"id": -0').encode(),), ROUTED), {200}
    for version in (None, "2.1", 2, 2.0, "", ["2.0"]):
        yield f"jsonrpc {version!r}", _discover({"jsonrpc": version}), REFUSED
    yield "jsonrpc missing", _without("jsonrpc"), REFUSED
    for method in NO_METHODS:
        yield f"method {method!r}", _discover({"method": method}), REFUSED
    for method in UNKNOWN_METHODS:
        yield f"method {method[:20]!a}", _modern(method, {}), {404}
        yield f"legacy method {method[:20]!a}", _legacy(method), {200}
    for params in NO_PARAMS:
        yield f"params {params!r}", _discover({"params": params}), REFUSED
    yield "params missing", _without("params"), REFUSED
    yield "request and response", _discover({"result": {}}), REFUSED
    for member in RESPONSES:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, **member}).encode()
        yield f"modern response {member!r}", Case((body,), ROUTED), REFUSED


NO_META: list[Any] = [None, [], {}, "x", {"io.modelcontextprotocol/protocolVersion": 7}]
WRONG_CALLS: dict[str, dict[str, Any]] = {
    "arguments list": {"arguments": []},
    "arguments null": {"arguments": None},
    "name missing": {"name": None},
    "name number": {"name": 7},
    "unknown tool": {"name": "'; DROP TABLE tasks_task; --"},
    "responses list": {"inputResponses": [1]},
    "10k responses": {"inputResponses": {str(number): {} for number in range(10_000)}},
    "state forged": {"requestState": "e30:1uQ:AAAA"},
    "state number": {"requestState": 7},
    "token a list": {"_meta": {"progressToken": [1]}},
    "token true": {"_meta": {"progressToken": True}},
    "level unknown": {"_meta": {"io.modelcontextprotocol/logLevel": "loud"}},
    "level a list": {"_meta": {"io.modelcontextprotocol/logLevel": ["info"]}},
    "key with a blank": {"_meta": {"taskdeck/idempotencyKey": "a b"}},
    "key a number": {"_meta": {"taskdeck/idempotencyKey": 7}},
}
LIFETIMES: list[Any] = [-1, 0, 1.5, "60", True, [], 2**63, 1e300]
ARGUMENTS: list[Any] = ["\x00", "\ud800", "x" * 300_000, 7, None, {"a": [[[]]]}]
CURSORS: list[Any] = ["", "x", 7, None, {}, "\ud800", "eyJ:x:y", "eyJ:x:\ud800"]


def _parameters() -> Found:
    for meta in NO_META:
        yield f"_meta {meta!r}", _discover({"params": {"_meta": meta}}), REFUSED
    for name, changes in WRONG_CALLS.items():
        yield f"call, {name}", _modern("tools/call", {"name": "echo", "arguments": {}, **changes}), REFUSED
    for ttl in LIFETIMES:
        params = {"name": "echo", "arguments": {}, "task": {"ttl": ttl}}
        yield f"ttl {ttl!r}", _legacy("tools/call", params), {200}
    for argument in ARGUMENTS:
        params = {"name": "echo", "arguments": {"text": argument}}
        yield f"argument {str(argument)[:8]!a}", _modern("tools/call", params), {200, 400}
    for cursor in CURSORS:
        yield f"cursor {cursor!a}", _legacy("tasks/list", {"cursor": cursor}), {200}
        yield f"modern cursor {cursor!a}", _modern("tools/list", {"cursor": cursor}), {200, 400}


NO_TASKS: list[Any] = [
    "", " ", "ABCDEF00-0000-4000-8000-000000000000", f" {cases.WORKING} ", f"{{{cases.WORKING}}}", "%00", "\x00",
    "' OR 1=1 --", "\ud800", "é" * 99, 7, None, True, [], {}, cases.FOREIGN, cases.EXPIRED, cases.MISSING,
]  # fmt: skip
NO_TASK_LISTS: list[Any] = [7, {}, None, [1], [None], ["x"] * 101, [cases.WORKING, 7]]


def _task_ids() -> Found:
    for named in NO_TASKS:
        shown = f"{str(named)[:9]!a} {type(named).__name__}"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            yield f"{method} {shown}", _modern(method, {"taskId": named, "inputResponses": {}}), REFUSED
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            yield f"legacy {method} {shown}", _legacy(method, {"taskId": named}), {200}
    for ids in NO_TASK_LISTS:
        params = {"notifications": {"taskIds": ids}}
        yield f"listen {str(ids)[:20]}", _modern("subscriptions/listen", params), REFUSED


NO_ANSWERS: list[Any] = [None, [], "x", 7, True]
WRONG_ANSWERS: dict[str, Any] = {
    "no object": "yes",
    "a list": [],
    "null": None,
    "no action": {},
    "wrong action": {"action": "maybe"},
    "action a list": {"action": ["accept"]},
    "content missing": {"action": "accept"},
    "content a list": {"action": "accept", "content": []},
    "required missing": {"action": "accept", "content": {}},
}
WRONG_FIELDS: dict[str, Any] = {
    "wrong type": {"port": "eighty"},
    "a boolean": {"port": True},
    "a float": {"port": 1.5},
    "too small": {"port": 0},
    "a text of digits": {"port": "8" * 100_000},
    "another colour": {"port": 80, "colour": "mauve"},
    "too long": {"port": 80, "note": "123456"},
    "no such day": {"port": 80, "day": "2026-02-30"},
    "a nested note": {"port": 80, "note": {"text": "x"}},
}


def _answers() -> Found:
    for given in NO_ANSWERS:
        yield f"update, {given!r}", _update(given), REFUSED
    yield "update, 10k keys", _update({str(number): {} for number in range(10_000)}), REFUSED
    yield "update, unknown keys", _update({"nobody": {"ignored": True}, "": None, "\x00": 7, "\ud800": []}), {200}
    yield "update, one key of 100 kB", _update({"x" * 100_000: None}), {200, 400}
    fields = {name: {"action": "accept", "content": content} for name, content in WRONG_FIELDS.items()}
    for name, wrong in (WRONG_ANSWERS | fields).items():
        yield f"update, {name}", _update({cases.KEY: wrong}), REFUSED
        yield f"response, {name}", _response(f"{cases.ASKING}/{cases.KEY}", wrong), REFUSED
    for id_ in ("nobody", "/", f"{cases.ASKING}/", f"{cases.FOREIGN}/in-1", f"{cases.ASKING}/x/y", 7):
        yield f"response to {id_}", _response(id_, {"action": "cancel"}), {202}


def _discover(changes: dict[str, Any]) -> Case:
    return Request(DISCOVER | changes, is_modern=True).case(of=DISCOVER)


def _without(member: str) -> Case:
    message = {name: value for name, value in DISCOVER.items() if name != member}
    return Request(message, is_modern=True).case(of=DISCOVER)


def _modern(method: str, params: dict[str, Any]) -> Case:
    return Request(modern_message(method, params, tasks=True), is_modern=True).case()


def _legacy(method: str, params: dict[str, Any] | None = None) -> Case:
    return Request({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}, IN_SESSION).case()


def _update(given: Any) -> Case:
    return _modern("tasks/update", {"taskId": cases.ASKING, "inputResponses": given})


def _response(id_: str | int, result: Any) -> Case:
    body = json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode()
    return Case((body,), with_headers(*IN_SESSION))
