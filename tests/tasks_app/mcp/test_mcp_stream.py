"""Streams: when an answer becomes one, how it is framed, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tasks_app.domain.errors import NotFound
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import http, legacy, modern, pool, stopping
from tasks_app.mcp.call import Call, Event, Final, Headed, Methods, Result, ResultText, Streaming, StreamItem
from tasks_app.store.sessions import open_session
from tests.asgi_client import Client, modern_headers, modern_message

pytestmark = pytest.mark.django_db(transaction=True)

NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "hello"}}


class Script:
    """What the stream of a test does, and what became of it."""

    def __init__(self) -> None:
        self.items: list[StreamItem | Exception] = []
        self.at_once = False
        self.hangs = False
        self.stops_itself = False
        self.waits = asyncio.Event()
        self.was_closed = asyncio.Event()

    async def events(self, call: Call) -> AsyncIterator[StreamItem]:
        """The items one by one; then it hangs, if told so, until someone has enough."""
        try:
            for item in self.items:
                if isinstance(item, Exception):
                    raise item
                yield item
            self.waits.set()
            if self.stops_itself:
                await call.request.stopping.wait()
                yield Final({"bye": True})
            elif self.hangs:
                await asyncio.Event().wait()
        finally:
            self.was_closed.set()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """The stream behind the method `test/stream`, and behind a GET."""
    script = Script()
    for module, dialect in ((modern, Dialect.MODERN), (legacy, Dialect.LEGACY)):
        table = Methods(dialect)

        @table.method("test/stream")
        async def stream(call: Call) -> Result:
            return Streaming(script.events(call), at_once=script.at_once)

        async def listen(call: Call) -> Streaming:
            script.items.append(Event({"lastEventId": call.params["lastEventId"]}))
            return Streaming(script.events(call))

        table.listen = listen
        monkeypatch.setattr(module, "METHODS", table)
    return script


def _stream_request() -> dict[str, Any]:
    message = modern_message("test/stream", id=7)
    return {"message": message, "headers": modern_headers(message)}


async def _ask(client: Client) -> Any:
    request = _stream_request()
    return await client.post(request["message"], headers=request["headers"])


async def test_result_without_anything_before_it_is_plain_json(client: Client, script: Script) -> None:
    script.items = [Final({"a": 1})]

    answer = await _ask(client)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}
    assert script.was_closed.is_set()


async def test_error_before_anything_else_keeps_its_status(client: Client, script: Script) -> None:
    script.items = [NotFound()]

    answer = await _ask(client)

    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_messages_make_it_a_stream_that_ends_with_the_result(client: Client, script: Script) -> None:
    script.items = [NOTE, NOTE, Final(ResultText('{"a":1}'))]

    answer = await _ask(client)

    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "no-store" in answer.headers["cache-control"]
    assert answer.events == [NOTE, NOTE, {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}]
    assert answer.body.startswith(b"event: message\r\ndata: {")
    assert answer.body.endswith(b"}\r\n\r\n")


async def test_error_within_a_stream_is_its_last_word(client: Client, script: Script) -> None:
    script.items = [NOTE, NotFound()]

    answer = await _ask(client)

    assert answer.status == 200
    assert answer.events[0] == NOTE
    assert (answer.events[1]["id"], answer.events[1]["error"]["code"]) == (7, -32602)


async def test_crash_within_a_stream_says_nothing(client: Client, script: Script) -> None:
    script.items = [NOTE, ValueError("a secret")]

    answer = await _ask(client)

    assert answer.events[1]["error"] == {"code": -32603, "message": "Internal error"}


async def test_events_may_have_ids_and_prime_the_client(client: Client, script: Script) -> None:
    script.items = [Event(id="e-0", retry_ms=500), Event(NOTE, id="e-1"), Final({}, event_id="e-2")]

    answer = await _ask(client)

    frames = answer.body.split(b"\r\n\r\n")
    assert frames[0] == b"id: e-0\r\nretry: 500\r\ndata: "
    assert frames[1].startswith(b"event: message\r\nid: e-1\r\ndata: {")
    assert frames[2].startswith(b"event: message\r\nid: e-2\r\ndata: {")


async def test_stream_opens_at_once_when_told_so(client: Client, script: Script) -> None:
    script.at_once, script.hangs = True, True
    request = _stream_request()
    body = _encoded(request["message"])

    async with client.opened("POST", body, headers=request["headers"]) as exchange:
        await asyncio.wait_for(script.waits.wait(), 5)

        assert exchange.answer.headers["content-type"] == "text/event-stream"

    assert script.was_closed.is_set()


async def test_silence_opens_the_stream_with_a_sign_of_life(
    client: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "KEEPALIVE_SECONDS", 0.02)
    script.hangs = True
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await exchange.until(b": ping\r\n\r\n: ping\r\n\r\n")

        assert exchange.answer.status == 200


async def test_client_that_goes_away_closes_the_stream(client: Client, script: Script) -> None:
    """Trap 12: for a modern request that is a cancellation of it."""
    script.items, script.hangs = [NOTE], True
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await exchange.until(b"hello")
        assert not script.was_closed.is_set()

    assert script.was_closed.is_set()
    assert exchange.ended.is_set()


async def test_client_that_goes_away_before_the_first_event_is_not_answered(client: Client, script: Script) -> None:
    script.hangs = True
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await asyncio.wait_for(script.waits.wait(), 5)

    assert exchange.sent == []
    assert script.was_closed.is_set()


async def test_stop_of_the_process_lets_a_stream_say_its_last_word(client: Client, script: Script) -> None:
    script.items, script.stops_itself = [NOTE], True
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await exchange.until(b"hello")
        stopping.stopping().set()
        await asyncio.wait_for(exchange.ended.wait(), 5)

    assert exchange.answer.events == [NOTE, {"jsonrpc": "2.0", "id": 7, "result": {"bye": True}}]


async def test_stop_of_the_process_ends_a_stream_that_does_not_listen(
    client: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LAST_WORD_SECONDS", 0.05)
    script.items, script.hangs = [NOTE], True
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await exchange.until(b"hello")
        stopping.stopping().set()
        await asyncio.wait_for(exchange.ended.wait(), 5)

    assert exchange.sent[-1] == {"type": "http.response.body", "body": b""}
    assert script.was_closed.is_set()


async def test_client_that_reads_too_slowly_is_cut_off(
    client: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "SLOW_CLIENT_SECONDS", 0.05)
    script.items, script.hangs = [NOTE], True
    request = _stream_request()
    exchange = client.exchange(_encoded(request["message"]))

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async with asyncio.timeout(5):
        await client.app(client.scope("POST", headers=request["headers"]), exchange.receive, send)

    assert script.was_closed.is_set()


async def test_large_answer_goes_out_in_pieces(client: Client, script: Script) -> None:
    script.items = [Final({"a": "x" * 3 * http.PIECE_BYTES})]
    request = _stream_request()

    async with client.opened("POST", _encoded(request["message"]), headers=request["headers"]) as exchange:
        await asyncio.wait_for(exchange.ended.wait(), 5)

    _, *pieces = exchange.sent
    assert max(len(each["body"]) for each in pieces) == http.PIECE_BYTES
    assert [each["more_body"] for each in pieces] == [True] * 3 + [False]
    assert exchange.answer.json["result"] == {"a": "x" * 3 * http.PIECE_BYTES}
    assert exchange.answer.headers["content-length"] == str(len(exchange.answer.body))


@pytest.mark.parametrize("stuck_at", [0, 1, 2])
@pytest.mark.parametrize("size", [10, 3 * http.PIECE_BYTES])
async def test_client_that_does_not_read_a_plain_answer_is_cut_off(
    client: Client, script: Script, monkeypatch: pytest.MonkeyPatch, size: int, stuck_at: int
) -> None:
    """The application returns without the end of the answer, so the server closes the connection."""
    monkeypatch.setattr(http, "SLOW_CLIENT_SECONDS", 0.05)
    script.items = [Final({"a": "x" * size})]
    request = _stream_request()
    exchange = client.exchange(_encoded(request["message"]))
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        if len(sent) == stuck_at:
            await asyncio.Event().wait()
        sent.append(message)

    async with asyncio.timeout(5):
        await client.app(client.scope("POST", headers=request["headers"]), exchange.receive, send)

    is_small = size < http.PIECE_BYTES
    assert len(sent) == min(stuck_at, 2)
    assert all(each.get("more_body", True) for each in sent) or (is_small and stuck_at == 2)


async def test_get_opens_the_stream_of_a_session(client: Client, script: Script) -> None:
    session = await _session(client)

    answer = await client.request("GET", headers={"mcp-session-id": session, "last-event-id": "e-9"})

    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.events == [{"lastEventId": "e-9"}]


async def test_get_needs_a_session_and_a_client_that_takes_events(
    client: Client, eve_client: Client, script: Script
) -> None:
    session = await _session(client)

    without = await client.request("GET")
    refused = await client.request("GET", headers={"mcp-session-id": session, "accept": "application/json"})
    foreign = await eve_client.request("GET", headers={"mcp-session-id": session})

    assert (without.status, without.headers["allow"]) == (405, "POST, DELETE")
    assert (refused.status, foreign.status) == (406, 404)


async def _session(client: Client) -> str:
    @legacy.METHODS.method("initialize", needs_session=False)
    async def initialize(call: Call) -> Result:
        plan = open_session(call.caller.owner_id, version="2025-11-25", capabilities={}, client={})
        return Headed({}, {"Mcp-Session-Id": await pool.run(plan)})

    return await client.initialize()


def _encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()
