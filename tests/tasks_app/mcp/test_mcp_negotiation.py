"""Which era a message speaks, and the ladder of the modern one in its exact order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.domain.outcome import Dialect
from tasks_app.mcp.call import Call, Methods
from tasks_app.mcp.errors import Fault, http_status
from tasks_app.mcp.exchange import Headers
from tasks_app.mcp.jsonrpc import Message, parse
from tasks_app.mcp.negotiation import (
    Envelope,
    client_name,
    climb,
    era_of,
    idempotency_key,
    is_modern_header,
    progress_token,
)
from tests.asgi_client import modern_headers, modern_message

METHODS = Methods(Dialect.MODERN)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"


@METHODS.method("tools/list")
async def _tools(call: Call) -> dict[str, Any]:
    return {}


@METHODS.method("tasks/get", needs_tasks=True, names_task=True)
async def _get(call: Call) -> dict[str, Any]:
    return {}


def _message(method: str = "tools/list", *, version: Any = None, **body: Any) -> Message:
    meta = {} if version is None else {"_meta": {VERSION_KEY: version}}
    return parse(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": meta} | body).encode())


def _era(message: Message, *versions: str) -> tuple[Dialect, str | None]:
    era = era_of(message, Headers((b"mcp-protocol-version", each.encode()) for each in versions))
    return era.dialect, era.version


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_legacy_header_without_version_in_the_body_is_legacy(version: str) -> None:
    assert _era(_message(), version) == (Dialect.LEGACY, version)


def test_handshake_without_header_is_legacy() -> None:
    assert _era(_message("initialize")) == (Dialect.LEGACY, None)


def test_handshake_with_legacy_header_is_legacy() -> None:
    assert _era(_message("initialize"), "2025-11-25") == (Dialect.LEGACY, "2025-11-25")


def test_request_that_says_nothing_is_legacy() -> None:
    assert _era(_message()) == (Dialect.LEGACY, None)


def test_modern_header_is_modern() -> None:
    assert _era(_message(version="2026-07-28"), "2026-07-28") == (Dialect.MODERN, "2026-07-28")


@pytest.mark.parametrize("version", ["2030-01-01", "1999-01-01", "banana", ""])
def test_unknown_header_goes_up_the_modern_ladder(version: str) -> None:
    assert _era(_message(), version)[0] is Dialect.MODERN


def test_version_in_the_body_alone_is_modern() -> None:
    assert _era(_message(version="2026-07-28")) == (Dialect.MODERN, None)


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25", 7])
def test_legacy_header_with_a_version_in_the_body_contradicts_itself(version: Any) -> None:
    with pytest.raises(Fault) as refused:
        _era(_message(version=version), "2025-11-25")

    assert (refused.value.code, http_status(refused.value, Dialect.LEGACY)) == (-32020, 400)


def test_two_legacy_headers_contradict_each_other() -> None:
    with pytest.raises(Fault) as refused:
        _era(_message(), "2025-11-25", "2025-06-18")

    assert refused.value.code == -32020


def test_handshake_under_the_modern_header_is_an_unknown_method() -> None:
    with pytest.raises(Fault) as refused:
        _era(_message("initialize"), "2026-07-28")

    assert (refused.value.code, http_status(refused.value, Dialect.MODERN)) == (-32601, 404)


def test_response_under_the_modern_header_is_refused() -> None:
    response = parse(b'{"jsonrpc":"2.0","id":1,"result":{}}')

    with pytest.raises(Fault) as refused:
        _era(response, "2026-07-28")

    assert (refused.value.code, refused.value.http_status) == (-32600, 400)


def test_only_legacy_headers_may_open_a_stream() -> None:
    assert is_modern_header(Headers.of({"mcp-protocol-version": "2026-07-28"}))
    assert not is_modern_header(Headers.of({"mcp-protocol-version": "2025-11-25"}))
    assert not is_modern_header(Headers())


def _climb(body: dict[str, Any], headers: dict[str, str] | None = None) -> Envelope:
    given = modern_headers(body) if headers is None else headers
    return climb(parse(json.dumps(body).encode()), Headers.of(given), METHODS)


def _code(body: dict[str, Any], headers: dict[str, str] | None = None) -> int:
    with pytest.raises(Fault) as refused:
        _climb(body, headers)
    return refused.value.code


def test_complete_request_passes_the_ladder() -> None:
    envelope = _climb(modern_message("tasks/get", {"taskId": "t"}, tasks=True, capabilities={"sampling": {}}))

    assert envelope.method.name == "tasks/get"
    assert (envelope.version, envelope.client, envelope.declares_tasks) == ("2026-07-28", "tester/1", True)
    assert "sampling" in envelope.capabilities


def _without_meta(body: dict[str, Any]) -> None:
    del body["params"]["_meta"]


def _bad_header(body: dict[str, Any]) -> None:
    body["headers"]["mcp-method"] = "tools/other"


def _bad_version(body: dict[str, Any]) -> None:
    body["params"]["_meta"][VERSION_KEY] = body["headers"]["mcp-protocol-version"] = "2030-01-01"


def _bad_method(body: dict[str, Any]) -> None:
    body["method"] = body["headers"]["mcp-method"] = "tasks/result"


def _no_capability(body: dict[str, Any]) -> None:
    body["params"]["_meta"][CAPABILITIES_KEY] = {}


RUNGS: list[tuple[int, Callable[[dict[str, Any]], None]]] = [
    (-32602, _without_meta),
    (-32020, _bad_header),
    (-32022, _bad_version),
    (-32601, _bad_method),
    (-32021, _no_capability),
]


@pytest.mark.parametrize("first", range(len(RUNGS)))
def test_first_rung_that_fails_wins(first: int) -> None:
    """Trap 10: everything from one rung on is wrong, and the answer names that rung."""
    body = modern_message("tasks/get", {"taskId": "t"}, tasks=True)
    body["headers"] = modern_headers(body)
    # From the last rung to the first, since without `_meta` there is nothing left to spoil.
    for _, spoil in reversed(RUNGS[first:]):
        spoil(body)
    headers = body.pop("headers")

    assert _code(body, headers) == RUNGS[first][0]


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [],
        "x",
        {},
        {VERSION_KEY: "2026-07-28"},
        {VERSION_KEY: 7, CAPABILITIES_KEY: {}},
        {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []},
        {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "io.modelcontextprotocol/clientInfo": "me"},
        {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "io.modelcontextprotocol/logLevel": "loud"},
        {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "io.modelcontextprotocol/logLevel": ["info"]},
    ],
)
def test_incomplete_meta_is_invalid_params(meta: Any) -> None:
    body = modern_message("tools/list")
    headers = modern_headers(body)
    body["params"]["_meta"] = meta

    assert _code(body, headers) == -32602


def test_client_info_may_be_absent() -> None:
    body = modern_message("tools/list")
    del body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]

    assert _climb(body).client == ""


def test_header_that_differs_is_told_before_a_bogus_version() -> None:
    body = modern_message("tools/list", version="2030-01-01")

    assert _code(body, modern_headers(body)) == -32020


def test_unsupported_version_names_what_is_supported() -> None:
    body = modern_message("tools/list", version="2030-01-01")
    headers = modern_headers(body) | {"mcp-protocol-version": "2030-01-01"}

    with pytest.raises(Fault) as refused:
        _climb(body, headers)

    assert refused.value.as_json() == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2030-01-01"},
    }


@pytest.mark.parametrize("missing", ["mcp-protocol-version", "mcp-method"])
def test_missing_header_is_a_mismatch(missing: str) -> None:
    body = modern_message("tools/list")
    headers = modern_headers(body)
    del headers[missing]

    assert _code(body, headers) == -32020


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
    ],
)
def test_removed_method_is_unknown_whatever_the_client_declares(method: str) -> None:
    """check 33: only get, update and cancel are left."""
    assert _code(modern_message(method, tasks=True)) == -32601
    assert _code(modern_message(method)) == -32601


@pytest.mark.parametrize(
    "capabilities", [{}, {"tasks": {}}, {"extensions": {}}, {"extensions": []}, {"extensions": None}]
)
def test_tasks_must_be_declared_with_every_request(capabilities: dict[str, Any]) -> None:
    """check 47, trap 11: the legacy capability does not count."""
    assert _code(modern_message("tasks/get", {"taskId": "t"}, capabilities=capabilities)) == -32021


def test_declaration_counts_by_being_there() -> None:
    body = modern_message(
        "tasks/get", {"taskId": "t"}, capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}}
    )

    assert _climb(body).declares_tasks


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ({"name": "a", "version": "1"}, "a/1"),
        ({"name": "a"}, "a"),
        ({"name": "a", "version": 3}, "a"),
        ({"version": "1"}, ""),
        (None, ""),
        ("a", ""),
        ({"name": "x" * 500, "version": "1"}, "x" * 200),
    ],
)
def test_client_is_named_for_people(info: Any, name: str) -> None:
    assert client_name(info) == name


@pytest.mark.parametrize("token", ["a", "", 0, 7, "x" * 1024])
def test_progress_token_is_text_or_integer(token: Any) -> None:
    assert progress_token({"progressToken": token}) == token


@pytest.mark.parametrize("token", [True, 1.5, [], {}, "x" * 1025])
def test_progress_token_of_another_kind_is_refused(token: Any) -> None:
    with pytest.raises(Fault) as refused:
        progress_token({"progressToken": token})

    assert refused.value.code == -32602


META_KEY = "taskdeck/idempotencyKey"


@pytest.mark.parametrize(
    ("headers", "meta", "key"),
    [
        ({}, {}, None),
        ({"Idempotency-Key": "k-1"}, {}, "k-1"),
        ({}, {META_KEY: "k-1"}, "k-1"),
        ({"Idempotency-Key": "k-1"}, {META_KEY: "k-1"}, "k-1"),
        ({"Idempotency-Key": "x" * 200}, {}, "x" * 200),
    ],
)
def test_idempotency_key_comes_from_header_or_meta(headers: dict[str, str], meta: dict[str, Any], key: str) -> None:
    assert idempotency_key(Headers.of(headers), meta) == key


@pytest.mark.parametrize(
    ("headers", "meta"),
    [
        ({"Idempotency-Key": "a"}, {META_KEY: "b"}),
        ({"Idempotency-Key": ""}, {}),
        ({"Idempotency-Key": "a b"}, {}),
        ({"Idempotency-Key": "x" * 201}, {}),
        ({}, {META_KEY: 7}),
        ({}, {META_KEY: None}),
        ({}, {META_KEY: "ké"}),
        ({}, {META_KEY: "a\n"}),
    ],
)
def test_bad_idempotency_key_is_invalid_params(headers: dict[str, str], meta: dict[str, Any]) -> None:
    with pytest.raises(Fault) as refused:
        idempotency_key(Headers.of(headers), meta)

    assert refused.value.code == -32602
