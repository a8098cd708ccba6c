"""The routing headers of 2026-07-28: how a value is written, and that each says the same as the body.

A proxy may route and limit by these headers alone, so a request whose headers and body disagree is refused: -32020.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from tasks_app.conf import conf
from tasks_app.counters import count_nameless
from tasks_app.mcp.errors import Fault, header_mismatch
from tasks_app.mcp.exchange import Headers

Path: TypeAlias = tuple[str, ...]

PROTOCOL_VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
PARAM_PREFIX = "mcp-param-"
ANNOTATION = "x-mcp-header"

# Which parameter `Mcp-Name` repeats.
NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

_SENTINEL = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[\t\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SCALARS = {"string", "integer", "boolean"}
_SHOWN_CHARACTERS = 100


def decode_value(raw: str, *, name: str) -> str:
    """What a header value means: itself, or the text in its base64 form. Raises the fault for anything malformed."""
    if not _PLAIN.fullmatch(raw):
        raise header_mismatch(f"{name} has characters that must be sent in the base64 form")
    wrapped = _SENTINEL.fullmatch(raw)
    if wrapped is None:
        return raw
    try:
        return base64.b64decode(wrapped[1], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise header_mismatch(f"{name} is not valid base64 of UTF-8") from None


def encode_value(text: str) -> str:
    """A text as a header value: plain where that is allowed, else in the base64 form."""
    if _PLAIN.fullmatch(text) and text == text.strip(" \t") and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def single(headers: Headers, name: str) -> str | None:
    """The one value of a routing header, decoded; None when it is absent. Raises the fault when it came twice."""
    found = headers.all(name)
    if len(found) > 1:
        raise header_mismatch(f"{_spelled(name)} was sent {len(found)} times")
    return decode_value(found[0], name=_spelled(name)) if found else None


def check_version(headers: Headers, version: str) -> None:
    """The version header must be there and equal the one in the body. Raises the fault."""
    _check_equal(single(headers, PROTOCOL_VERSION), version, name=PROTOCOL_VERSION, where="the version in params._meta")


def check_method(headers: Headers, method: str) -> None:
    """`Mcp-Method` must be there and equal the method. Raises the fault."""
    _check_equal(single(headers, METHOD), method, name=METHOD, where="the method in the body")


def check_name(headers: Headers, method: str, params: Mapping[str, Any]) -> None:
    """`Mcp-Name` must equal the parameter that it repeats. Raises the fault.

    A published client leaves it out on `tasks/*`: there its absence is counted and tolerated by all but strict servers.
    """
    param = NAMED.get(method)
    if param is None:
        return
    found, expected = single(headers, NAME), params.get(param)
    if found is None and method.startswith("tasks/") and not conf().strict_task_names:
        count_nameless(method)
        return
    # Without the parameter there is nothing to compare: that is for the handler to say.
    if found is None or isinstance(expected, str):
        _check_equal(found, expected, name=NAME, where=f"params.{param}")


def _check_equal(found: str | None, expected: Any, *, name: str, where: str) -> None:
    if found is None:
        raise header_mismatch(f"{_spelled(name)} is missing")
    if found != expected:
        raise header_mismatch(f"{_spelled(name)} '{_shown(found)}' does not match {where}")


def _spelled(name: str) -> str:
    return "MCP-Protocol-Version" if name == PROTOCOL_VERSION else "-".join(part.title() for part in name.split("-"))


def _shown(value: str) -> str:
    return value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"


def annotated_headers(schema: Mapping[str, Any]) -> dict[str, Path]:
    """The header of each annotated property of a tool's input, by lower-case name, with the way to its argument.

    Raises ValueError for an annotation that no client could honour.
    """
    found: dict[str, Path] = {}
    for path, property_ in _properties(schema, ()):
        if ANNOTATION not in property_:
            continue
        name = property_[ANNOTATION]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{ANNOTATION} of {'.'.join(path)!r} must be a header token, not {name!r}")
        if property_.get("type") not in _SCALARS:
            raise ValueError(f"{ANNOTATION} of {'.'.join(path)!r} is only for strings, integers and booleans")
        if name.lower() in found:
            raise ValueError(f"{ANNOTATION} {name!r} stands twice")
        found[name.lower()] = path
    return found


def _properties(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    properties = schema.get("properties")
    for name, property_ in properties.items() if isinstance(properties, dict) else ():
        if isinstance(property_, dict):
            yield (*path, name), property_
            yield from _properties(property_, (*path, name))


def check_params(headers: Headers, annotated: Mapping[str, Path], arguments: Mapping[str, Any]) -> None:
    """Each annotated argument must be repeated in its `Mcp-Param-…` header, and none without it. Raises the fault."""
    for name, path in annotated.items():
        header = PARAM_PREFIX + name
        found, expected = single(headers, header), _argument(arguments, path)
        if found is None and expected is None:
            continue
        if found is None or expected is None or not _is_same(found, expected):
            raise _param_mismatch(header, path)


def _argument(arguments: Any, path: Path) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def _is_same(found: str, expected: Any) -> bool:
    if isinstance(expected, bool):
        return found == ("true" if expected else "false")
    if isinstance(expected, int | float):
        # Python's own reading would also take underscores, other digits and blanks.
        try:
            return _NUMBER.fullmatch(found) is not None and Decimal(found) == Decimal(str(expected))
        except InvalidOperation:  # an exponent beyond all bounds
            return False
    return isinstance(expected, str) and found == expected


def _param_mismatch(header: str, path: Path) -> Fault:
    return header_mismatch(f"{_spelled(header)} does not match params.arguments.{'.'.join(path)}")
