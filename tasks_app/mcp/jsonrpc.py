"""JSON-RPC 2.0 as the protocol narrows it: bytes to one message, and results and errors to bytes.

Strict on the way in, because whatever stands between us and the client must read the same message as we do: UTF-8 only,
no batches, no name twice, no number that is none. On the way out everything is ASCII, so no text can break a frame.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from tasks_app.domain.errors import TooDeep
from tasks_app.mcp.errors import BAD_REQUEST, INVALID_REQUEST, PARSE_ERROR, Fault

DEPTH = 32
ID_CHARACTERS = 1024

_BRACKETS = bytes.maketrans(b"[]{}", b"()()")
_NOT_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
_ABSENT: Final = object()


class Kind(Enum):
    """What a message is."""

    REQUEST = "request"
    """Wants an answer."""

    NOTIFICATION = "notification"
    """Wants none."""

    RESPONSE = "response"
    """Answers a request of ours."""


@dataclass(frozen=True, slots=True)
class Message:
    """One well-formed message; `method` and `params` are empty for a response, `id` is None for a notification."""

    kind: Kind
    id: str | int | None
    method: str
    params: dict[str, Any]
    body: dict[str, Any]
    """The whole message as it came."""


class BadMessage(Fault):
    """What came is no message of ours; `id` is the one to answer with, if it could be read."""

    def __init__(self, code: int, message: str, *, id: str | int | None = None, data: Any = None) -> None:  # noqa: A002
        super().__init__(code, message, data=data, http_status=BAD_REQUEST)
        self.id = id


def parse(data: bytes, *, depth: int = DEPTH) -> Message:
    """The message in a body. Raises BadMessage, with the code that says what is wrong."""
    body = _decode(data, depth=depth)
    if isinstance(body, list):
        raise BadMessage(INVALID_REQUEST, "Batches are not supported: send one message a request")
    if not isinstance(body, dict):
        raise BadMessage(INVALID_REQUEST, "A message must be a JSON object")
    id_ = _id_of(body)
    if body.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, '`jsonrpc` must be "2.0"', id=id_)
    if "method" in body:
        return _call(body, id_)
    return _response(body, id_)


def _call(body: dict[str, Any], id_: str | int | None) -> Message:
    method, params = body["method"], body.get("params", {})
    if not isinstance(method, str) or not method:
        raise BadMessage(INVALID_REQUEST, "`method` must be a string that is not empty", id=id_)
    if "result" in body or "error" in body:
        raise BadMessage(INVALID_REQUEST, "A message is a request or a response, not both", id=id_)
    if not isinstance(params, dict):
        raise BadMessage(INVALID_REQUEST, "`params` must be an object", id=id_)
    return Message(Kind.NOTIFICATION if id_ is None else Kind.REQUEST, id_, method, params, body)


def _response(body: dict[str, Any], id_: str | int | None) -> Message:
    if id_ is None or ("result" in body) == ("error" in body):
        raise BadMessage(INVALID_REQUEST, "A message needs a `method`, or an `id` and a `result` or an `error`", id=id_)
    if not isinstance(body.get("result", body.get("error")), dict):
        raise BadMessage(INVALID_REQUEST, "`result` and `error` must be objects", id=id_)
    return Message(Kind.RESPONSE, id_, "", {}, body)


def _id_of(body: dict[str, Any]) -> str | int | None:
    """The id; None when there is none. 0 and the empty text are ids, null and true are not."""
    found = body.get("id", _ABSENT)
    if found is _ABSENT:
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise BadMessage(INVALID_REQUEST, "`id` must be a string or an integer")
    if isinstance(found, str) and len(found) > ID_CHARACTERS:
        raise BadMessage(INVALID_REQUEST, f"`id` must have at most {ID_CHARACTERS} characters")
    return found


def _decode(data: bytes, *, depth: int) -> Any:
    if is_deeper(data, depth):
        raise BadMessage(INVALID_REQUEST, str(TooDeep(depth)), data={"reason": TooDeep.reason, "limit": depth})
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except BadMessage:
        raise
    except ValueError:  # no UTF-8, no JSON, or an integer of thousands of digits
        raise BadMessage(PARSE_ERROR, "Parse error: the body is not JSON in UTF-8") from None


def is_deeper(data: bytes, depth: int) -> bool:
    """Say whether brackets are nested more deeply than that, without decoding: in linear time and no stack at all."""
    if data.count(b"{") + data.count(b"[") <= depth:
        return False
    outside = data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2]
    brackets = b"".join(outside).translate(_BRACKETS, _NOT_BRACKETS)
    # Each round takes away the innermost pairs, which is one level.
    for _ in range(depth):
        if not brackets:
            return False
        brackets = brackets.replace(b"()", b"")
    # What is left without being so deep does not match up, and the decoder will say so.
    return b"()" in brackets or brackets.count(b"(") > depth


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadMessage(INVALID_REQUEST, "A name stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise BadMessage(PARSE_ERROR, f"Parse error: {name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadMessage(INVALID_REQUEST, "A number is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(message: dict[str, Any]) -> bytes:
    """A message as compact ASCII, in one line."""
    return _ENCODER.encode(message).encode("ascii")


def encode_result(id_: str | int | None, result: dict[str, Any]) -> bytes:
    """The response that carries a result."""
    return encode_result_text(id_, _ENCODER.encode(result))


def encode_result_text(id_: str | int | None, result: str) -> bytes:
    """The same for a result whose JSON text is at hand: it is put in place without being read."""
    text = f'{{"jsonrpc":"2.0","id":{_ENCODER.encode(id_)},"result":{result}}}'
    # Stored text is ASCII already; any other is escaped, since what stands beyond ASCII can only stand in a string.
    return text.encode("ascii") if text.isascii() else _escaped(text)


def encode_error(id_: str | int | None, fault: Fault) -> bytes:
    """The response that carries an error; the id is null when the request's could not be read."""
    return encode({"jsonrpc": "2.0", "id": id_, "error": fault.as_json()})


def _escaped(text: str) -> bytes:
    return "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text).encode("ascii")
