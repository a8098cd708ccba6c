"""HTTP on the endpoint: what may come in, what is refused with which status, and what every answer carries."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from pytest_django import Settings

from tasks_app.domain.errors import NotFound, StorageUnavailable
from tasks_app.domain.identity import Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import http, legacy, modern
from tasks_app.mcp.call import Call, Methods, ResultText, Streaming, StreamItem
from tasks_app.mcp.endpoint import endpoint
from tests.asgi_client import Answer, Client, Exchange, modern_headers, modern_message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods of the test in both dialects."""
    for module, dialect in ((modern, Dialect.MODERN), (legacy, Dialect.LEGACY)):
        monkeypatch.setattr(module, "METHODS", _table(dialect))


def _table(dialect: Dialect) -> Methods:
    table = Methods(dialect)

    @table.method("test/echo", scopes={Scope.READ}, needs_session=False)
    async def echo(call: Call) -> dict[str, Any]:
        return {"params": {name: value for name, value in call.params.items() if name != "_meta"}}

    @table.method("test/text", needs_session=False)
    async def text(call: Call) -> ResultText:
        return ResultText('{"stored":"as it is"}')

    @table.method("test/missing", needs_session=False)
    async def missing(call: Call) -> dict[str, Any]:
        raise NotFound

    @table.method("test/crash", needs_session=False)
    async def crash(call: Call) -> dict[str, Any]:
        raise ValueError("a secret")

    @table.method("test/away", needs_session=False)
    async def away(call: Call) -> dict[str, Any]:
        raise StorageUnavailable

    @table.method("test/broken-stream", needs_session=False)
    async def stream(call: Call) -> Streaming:
        return Streaming(_broken())

    return table


async def _broken() -> AsyncIterator[StreamItem]:
    yield {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    raise ValueError("a secret")


async def test_request_is_answered_with_one_json_object(client: Client) -> None:
    answer = await client.modern("test/echo", {"a": "é\x00"})

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {"jsonrpc": "2.0", "id": 1, "result": {"params": {"a": "é\x00"}}}


async def test_text_at_hand_goes_out_as_it_is(client: Client) -> None:
    answer = await client.modern("test/text", id="a")

    assert answer.body == b'{"jsonrpc":"2.0","id":"a","result":{"stored":"as it is"}}'


async def test_endpoint_is_there_with_and_without_a_slash(client: Client) -> None:
    client.path = "/mcp/"

    assert (await client.modern("test/echo")).status == 200


@pytest.mark.parametrize("id_", [0, "", "x", -5])
async def test_answer_has_the_id_of_its_request(client: Client, id_: Any) -> None:
    """Trap 22."""
    good = await client.modern("test/echo", id=id_)
    bad = await client.modern("nobody/knows", id=id_)

    assert (good.json["id"], bad.json["id"]) == (id_, id_)


async def test_unknown_method_is_404_modern_and_200_legacy(client: Client) -> None:
    """Trap 9, check 33."""
    session = await client.legacy("nobody/knows")
    modern_ = await client.modern("nobody/knows")
    client_with_session = await client.post({"jsonrpc": "2.0", "id": 1, "method": "test/missing"})

    assert session.status == 400
    assert (modern_.status, modern_.error) == (404, {"code": -32601, "message": "Method not found"})
    assert (client_with_session.status, client_with_session.error["code"]) == (200, -32602)


async def test_missing_task_is_400_modern_and_200_legacy(client: Client) -> None:
    modern_ = await client.modern("test/missing")
    legacy_ = await client.legacy("test/missing")

    assert (modern_.status, legacy_.status) == (400, 200)
    assert modern_.error == legacy_.error


async def test_crash_says_nothing_and_is_no_500(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    answer = await client.modern("test/crash")

    assert (answer.status, answer.error) == (200, {"code": -32603, "message": "Internal error"})
    assert b"secret" not in answer.body
    assert "ValueError: a secret" in caplog.text


async def test_storage_that_is_away_is_said_with_a_reason(client: Client) -> None:
    answer = await client.modern("test/away")

    assert (answer.status, answer.error["code"]) == (200, -32603)
    assert answer.error["data"] == {"reason": "storage"}


BAD_BODIES: dict[str, tuple[bytes, int]] = {
    "empty": (b"", -32700),
    "null": (b"null", -32600),
    "array": (b"[]", -32600),
    "batch": (b'[{"jsonrpc":"2.0","id":1,"method":"test/echo"}]', -32600),
    "truncated": (b'{"jsonrpc":"2.0","id":1,', -32700),
    "garbage": (b'{"jsonrpc":"2.0","id":1,"method":"test/echo"}}', -32700),
    "bom": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"test/echo"}', -32700),
    "utf-16": ('{"jsonrpc":"2.0","id":1,"method":"test/echo"}'.encode("utf-16"), -32700),
    "deep": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b'{"a":' * 10_000, -32600),
    "version": (b'{"jsonrpc":"2.1","id":1,"method":"test/echo"}', -32600),
    "params": (b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":[]}', -32600),
    "float id": (b'{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}', -32600),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"test/echo"}', -32600),
    "twice": (b'{"jsonrpc":"2.0","id":1,"method":"test/echo","method":"test/echo"}', -32600),
}


@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.parametrize("version", ["-", "2025-11-25", "2026-07-28"])
async def test_bad_body_is_400_with_its_code_in_both_eras(client: Client, name: str, version: str) -> None:
    body, code = BAD_BODIES[name]

    answer = await client.request("POST", body, headers={"mcp-protocol-version": version})

    assert (answer.status, answer.error["code"]) == (400, code)
    assert answer.json["jsonrpc"] == "2.0"


async def test_response_of_a_modern_client_is_refused(client: Client) -> None:
    message = {"jsonrpc": "2.0", "id": 5, "result": {}}

    answer = await client.post(message, headers={"mcp-protocol-version": "2026-07-28"})

    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32600, 5)


async def test_notification_of_a_modern_client_is_accepted_and_dropped(client: Client) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/whatever"}

    answer = await client.post(message, headers={"mcp-protocol-version": "2026-07-28"})

    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize("size", [1024 * 1024 + 1, 2 * 1024 * 1024])
async def test_body_over_the_limit_is_413(client: Client, size: int) -> None:
    stated = await client.request("POST", b"x", headers={"content-length": str(size)})
    chunked = await client.request("POST", [b"x" * 65_536] * (size // 65_536 + 1))

    assert (stated.status, chunked.status) == (413, 413)
    assert stated.headers["connection"] == "close"


async def test_body_of_the_limit_is_read(client: Client, settings: Settings) -> None:
    message = json.dumps(modern_message("test/echo")).encode()
    settings.TASKDECK_REQUEST_BODY_BYTES = len(message)
    headers = modern_headers(modern_message("test/echo"))

    exact = await client.request("POST", message, headers=headers)
    over = await client.request("POST", message + b" ", headers=headers)

    assert (exact.status, over.status) == (200, 413)


async def test_endless_body_is_cut_at_the_limit(client: Client) -> None:
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 65_536
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    exchange = client.exchange()
    await endpoint(client.scope("POST"), receive, exchange.send)

    assert exchange.answer.status == 413
    assert read <= 1024 * 1024 + 65_536


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "", "\uff11"])
async def test_content_length_that_is_no_number_is_400(client: Client, length: str) -> None:
    answer = await client.request("POST", b"{}", headers=[("content-length", length.encode().decode("latin-1"))])

    assert answer.status == 400


async def test_body_that_does_not_come_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "READ_SECONDS", 0.05)

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    exchange = client.exchange()
    await endpoint(client.scope("POST"), receive, exchange.send)

    assert (exchange.answer.status, exchange.answer.json["error"]) == (408, "too_slow")


async def test_client_that_leaves_while_it_sends_is_not_answered(client: Client) -> None:
    exchange = Exchange(body=[])
    exchange.gone.set()

    await endpoint(client.scope("POST"), exchange.receive, exchange.send)

    assert exchange.sent == []


@pytest.mark.parametrize(
    "content_type",
    [
        "-",
        "text/plain",
        "application/xml",
        "application/json; charset=latin-1",
        "application/jsonx",
        "multipart/form-data",
    ],
)
async def test_other_content_type_is_415(client: Client, content_type: str) -> None:
    answer = await client.request("POST", b"{}", headers={"content-type": content_type})

    assert answer.status == 415


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON", "application/json; charset=UTF-8"])
async def test_json_in_any_spelling_is_read(client: Client, content_type: str) -> None:
    assert (await client.modern("test/echo", headers={"content-type": content_type})).status == 200


async def test_compressed_body_is_415(client: Client) -> None:
    """A bomb is never unpacked."""
    answer = await client.request("POST", b"\x1f\x8b", headers={"content-encoding": "gzip"})

    assert answer.status == 415


@pytest.mark.parametrize(
    "accept", ["-", "application/json", "text/event-stream", "text/html", "application/json, text/event-stream;q=0"]
)
async def test_answer_that_is_not_accepted_is_406(client: Client, accept: str) -> None:
    assert (await client.modern("test/echo", headers={"accept": accept})).status == 406


@pytest.mark.parametrize("accept", ["*/*", "application/*, text/*", "text/event-stream;q=0.5, Application/JSON"])
async def test_wildcards_accept_both_kinds(client: Client, accept: str) -> None:
    assert (await client.modern("test/echo", headers={"accept": accept})).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "HEAD", "OPTIONS", "CONNECT", "BREW"])
async def test_other_http_methods_are_405(client: Client, method: str) -> None:
    answer = await client.request(method)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_modern_client_has_no_stream_and_no_session_to_end(client: Client, method: str) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-session-id": "x"}

    answer = await client.request(method, headers=headers)

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("header", ["host", "origin"])
async def test_foreign_page_is_refused(client: Client, header: str) -> None:
    answer = await client.modern("test/echo", headers={header: "http://evil.example.com"})

    assert answer.status in {400, 403}


async def test_own_page_is_let_in(client: Client) -> None:
    answer = await client.modern("test/echo", headers={"host": "localhost:1234", "origin": "http://localhost:1234"})

    assert answer.status == 200


@pytest.mark.parametrize("status", [200, 400, 401, 404, 405, 415])
async def test_every_answer_may_not_be_stored_and_has_a_request_id(client: Client, status: int) -> None:
    ask: dict[int, Callable[[], Awaitable[Answer]]] = {
        200: lambda: client.modern("test/echo"),
        400: lambda: client.request("POST", b"x"),
        401: lambda: Client(endpoint).modern("test/echo"),
        404: lambda: client.modern("nobody/knows"),
        405: lambda: client.request("PUT"),
        415: lambda: client.request("POST", b"x", headers={"content-type": "x/y"}),
    }
    found = await ask[status]()

    assert (found.status, found.headers["cache-control"]) == (status, "no-store")
    assert re.fullmatch(r"[0-9a-f]{16}", found.headers["x-request-id"])


async def test_request_id_of_the_client_is_kept_when_it_is_sane(client: Client) -> None:
    sane = await client.modern("test/echo", headers={"x-request-id": "abc-1.2_Z"})
    wild = await client.modern("test/echo", headers={"x-request-id": "a b\n"})
    long = await client.modern("test/echo", headers={"x-request-id": "x" * 65})

    assert sane.headers["x-request-id"] == "abc-1.2_Z"
    assert len(wild.headers["x-request-id"]) == len(long.headers["x-request-id"]) == 16


async def test_one_line_is_logged_for_each_request(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tasks_app.mcp.access"):
        await client.modern("test/echo", headers={"x-request-id": "r-1"})
        await client.modern("nobody\nknows", headers={"x-request-id": "r-2", "mcp-method": "x"})
        await Client(endpoint).modern("test/echo", headers={"x-request-id": "r-3"})
    lines = [record.getMessage() for record in caplog.records if record.name == "tasks_app.mcp.access"]

    assert re.fullmatch(r"request=r-1 owner=\d+ method=test/echo code=- status=200 ms=\d+\.\d", lines[0])
    assert re.fullmatch(r"request=r-2 owner=\d+ method='nobody\\nknows' code=-32020 status=400 ms=\d+\.\d", lines[1])
    assert re.fullmatch(r"request=r-3 owner=- method=- code=unauthorized status=401 ms=\d+\.\d", lines[2])


async def test_token_never_reaches_the_log(
    client: Client, caplog: pytest.LogCaptureFixture, settings: Settings, tmp_path: Path
) -> None:
    """Neither a good one nor one that is refused, be it ours, another issuer's or none at all; streams included."""
    (tmp_path / "keys.json").write_text('{"keys": []}')
    settings.TASKDECK_ISSUER, settings.TASKDECK_AUDIENCE = "https://auth.example", "https://tasks.example/mcp"
    settings.TASKDECK_JWKS, settings.TASKDECK_VERIFIERS = str(tmp_path / "keys.json"), ("token", "jwks")
    claims = {"iss": "https://auth.example", "aud": "https://tasks.example/mcp", "sub": "ana", "exp": 1}
    foreign = jwt.encode(claims, "a secret that is long enough to sign with", headers={"kid": "one"})
    refused = ["td_refused-token", foreign, "a.b.c"]
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "tasks_app.mcp.access"):
        for method in ("test/echo", "test/crash", "test/broken-stream"):
            await client.modern(method)
        statuses = [
            (await client.modern("test/echo", headers={"authorization": f"Bearer {token}"})).status for token in refused
        ]
        malformed = await client.modern("test/echo", headers={"authorization": "Bearer malformed-token b"})

    assert (statuses, malformed.status) == ([401, 401, 401], 400)
    good = client.headers["authorization"].removeprefix("Bearer ")
    for token in (good, *refused, foreign.rpartition(".")[2], "malformed-token"):
        assert token not in caplog.text
    assert "a token of the issuer was refused" in caplog.text
    assert "test/broken-stream" in caplog.text


async def test_credential_that_hurries_is_told_to_wait(client: Client, settings: Settings) -> None:
    settings.TASKDECK_REQUESTS_PER_SECOND = 1
    settings.TASKDECK_REQUESTS_BURST = 2

    answers = [await client.modern("test/echo") for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) >= 1


async def test_address_that_hurries_is_told_to_wait_before_its_token_is_read(
    settings: Settings, stranger: Client
) -> None:
    settings.TASKDECK_REQUESTS_PER_SECOND = 1
    settings.TASKDECK_REQUESTS_BURST = 1
    settings.TASKDECK_ADDRESS_REQUESTS_PER_SECOND = 2

    statuses = [(await stranger.modern("test/echo")).status for _ in range(3)]

    assert statuses == [401, 401, 429]


async def test_bad_meta_of_a_legacy_request_is_invalid_params(client: Client) -> None:
    answer = await client.legacy("test/echo", {"_meta": []})

    assert (answer.status, answer.error["code"]) == (200, -32602)
