"""Making good requests bad: strategies that change a message, its headers and its bytes in one to four places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.fuzz import cases
from tests.fuzz.cases import ASKING, FINISHED, KEY, SESSION, VALID, WORKING, Case, Pair, Request

Draw: TypeAlias = st.DrawFn
Path: TypeAlias = tuple[Any, ...]
Bytes: TypeAlias = Callable[[Draw, bytes], bytes]

# What JSON can say and Python cannot: written in place of a text of this form.
RAW = "@raw@{}@"
METHODS = sorted({request.message["method"] for request in VALID.values() if "method" in (request.message or {})})
TEXTS = [
    "", " ", "\x00", "\ud800", "\udc00\ud800", "é", "😀", "\u202e", "\u200b", "\r\n", "x" * 5_000, "__proto__",
    "../../etc/passwd", "'; DROP TABLE tasks_task; --", "%00", "%s", "{{7*7}}", "<svg onload=alert(1)>",
    "accept", "decline", "true", "null", "2025-11-25", "2026-07-28", "2024-11-05", "9999-99-99", "=?base64?eA==?=",
    WORKING, ASKING, FINISHED, cases.FOREIGN, cases.EXPIRED, cases.MISSING, WORKING.upper(), f"{{{WORKING}}}",
    KEY, SESSION, f"{ASKING}/{KEY}",
    "eyJhIjoxfQ:1uQ:sig", "eyJ:x:\ud800", "notes://welcome", "notes://a/pages/x", *METHODS,
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 7, 1.5, -0.0, 1e300, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400,
    *(RAW.format(text) for text in ("-0", "1e400", "-1e400", "NaN", "Infinity", "1E+2", "9" * 5_000, "01", "1.")),
]  # fmt: skip
SHAPES: list[Any] = [
    None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": {}}}, list(range(150)),
    {f"k{number}": number for number in range(150)}, {"__proto__": {}}, {"taskId": WORKING}, {"action": "accept"},
]  # fmt: skip
NAMES = ["id", "method", "params", "result", "error", "jsonrpc", "_meta", "task", "taskId", "arguments", "cursor", "",
         "inputResponses", "requestState", "notifications", "progressToken", "taskdeck/idempotencyKey", "constructor",
         "io.modelcontextprotocol/related-task", "io.modelcontextprotocol/protocolVersion", "uri", "name", "\ud800",
         "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel"]  # fmt: skip
HEADERS = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "mcp-param-region", "idempotency-key",
           "last-event-id", "content-type", "accept", "content-length", "content-encoding", "host", "origin", "cookie",
           "x-request-id", "transfer-encoding", "x-forwarded-host", "authorization"]  # fmt: skip
HEADER_VALUES = ["", "-", "x", "*/*", "text/event-stream", "application/json", "gzip", "chunked", "null", "0", "-5",
                 "9" * 5_000, "=?base64?%%?=", "=?base64?7aCA?=", "=?base64?AA==?=", "a\rb", "a\nb", "\x00",
                 "\xff" * 40, "x" * 70_000, "testserver", "2025-11-25", "2025-03-26", "2026-07-28", "1999-01-01",
                 SESSION, WORKING, f"{FINISHED}.r.0.MQ==", f"{WORKING}.c.9.IlwieCI=", "http://testserver",
                 *METHODS]  # fmt: skip

names = st.sampled_from(NAMES) | st.text(max_size=4)
json_values = st.recursive(
    st.sampled_from([*TEXTS, *NUMBERS, *SHAPES]) | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The way to everything in a message, itself included."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*path, name))


def _put(message: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    holder = message
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return message


def _replace(draw: Draw, message: Any) -> Any:
    return _put(message, draw(st.sampled_from(list(places(message)))), draw(json_values))


def _remove(draw: Draw, message: Any) -> Any:
    inner = [path for path in places(message) if path]
    if not inner:
        return message
    *way, last = draw(st.sampled_from(inner))
    holder = message
    for name in way:
        holder = holder[name]
    del holder[last]
    return message


def _add(draw: Draw, message: Any) -> Any:
    holders = [path for path in places(message) if isinstance(_at(message, path), dict)]
    if not holders:
        return [message]
    path = draw(st.sampled_from(holders))
    name = draw(names)
    return _put(message, (*path, name), draw(json_values))


def _at(message: Any, path: Path) -> Any:
    for name in path:
        message = message[name]
    return message


def _nest(draw: Draw, message: Any) -> Any:
    path = draw(st.sampled_from(list(places(message))))
    inner = _at(message, path)
    for _ in range(draw(st.sampled_from([1, 5, 20, 30, 40, 400]))):
        inner = draw(st.sampled_from([[inner], {"a": inner}]))
    return _put(message, path, inner)


def _written(message: Any) -> bytes:
    """The message in JSON, with what stands for raw text written as it is."""
    text = json.dumps(message)
    while '"@raw@' in text:
        before, _, rest = text.partition('"@raw@')
        raw, _, after = rest.partition('@"')
        text = before + raw + after
    return text.encode()


def _cut(draw: Draw, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _flip(draw: Draw, data: bytes) -> bytes:
    at = draw(st.integers(0, max(0, len(data) - 1)))
    return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]


def _insert(draw: Draw, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    marks = st.sampled_from([b'"', b"{", b"}", b"[", b",", b"\\u0000"])
    return data[:at] + draw(st.binary(min_size=1, max_size=6) | marks) + data[at:]


def _recode(draw: Draw, data: bytes) -> bytes:
    encoding = draw(st.sampled_from(["utf-16", "utf-32", "utf-8-sig", "utf-7", "cp500"]))
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _repeat(draw: Draw, data: bytes) -> bytes:
    return draw(
        st.sampled_from([data + data, b"[" + data + b"]", data + b"\n" + data, b" " * 500 + data, data + b"\x00"])
    )


MESSAGE_CHANGES = [_replace, _replace, _replace, _remove, _remove, _add, _add, _nest]
BYTE_CHANGES: list[Bytes] = [_cut, _flip, _insert, _recode, _repeat]


@st.composite
def bad_cases(draw: Draw) -> Case:
    """A request that was good before it was changed in one to four places."""
    request = VALID[draw(st.sampled_from(sorted(VALID)))]
    message = copy.deepcopy(request.message)
    for change in draw(st.lists(st.sampled_from(MESSAGE_CHANGES), max_size=3)):
        message = change(draw, copy.deepcopy(message))
    case = Request(message, request.headers, request.is_modern, request.http_method).case(
        of=draw(st.sampled_from([message, message, request.message]))
    )
    body = _written(message) if message is not None else b""
    for change in draw(st.lists(st.sampled_from(BYTE_CHANGES), max_size=1)) if draw(st.integers(0, 3)) == 0 else ():
        body = change(draw, body)
    case = replace(case, body=draw(_parts(body)), headers=draw(_headers(case.headers)))
    if draw(st.integers(0, 9)) == 0:
        case = replace(case, http_method=draw(st.sampled_from(["GET", "DELETE", "PUT", "POST", "HEAD", "OPTIONS"])))
    return replace(case, leaves=draw(st.integers(0, 29)) == 0)


@st.composite
def _parts(draw: Draw, body: bytes) -> tuple[bytes, ...]:
    if draw(st.integers(0, 4)):
        return (body,)
    at = draw(st.integers(0, len(body)))
    return body[:at], b"", body[at:]


@st.composite
def _headers(draw: Draw, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    found = list(pairs)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        name, value = draw(st.sampled_from(HEADERS)), draw(st.sampled_from(HEADER_VALUES))
        if draw(st.booleans()):
            found = [pair for pair in found if pair[0] != name]
        found.append((name, value))
    return tuple(found)
