"""Sends a case to the endpoint in this process, and says whether what came back may come back for any input at all."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks_app.mcp import background
from tasks_app.mcp.endpoint import endpoint
from tests.asgi_client import Answer, Client, Exchange, data_of
from tests.fuzz.cases import Case

STATUSES = {200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 422, 429}
EMPTY_STATUSES = {202, 204}
MOST_SECONDS = 10.0
LISTEN_SECONDS = 0.02
EVENT_STREAM = "text/event-stream"
# What an answer would hold if a fault of ours were told to the client.
LEAKS = (b"Traceback", b'File \\"', b"psycopg", b"site-packages", b"tasks_app/", b"tasks_app.", b"django.", b"asyncio.")


class _Stalling(Exchange):
    """Says after its last part that there is more."""

    async def receive(self) -> dict[str, Any]:
        """The next part of the body, always with more to come."""
        return {**(await super().receive()), "more_body": True}


async def send(case: Case) -> Answer:
    """The answer to a case; an open stream is left after a moment. What the endpoint raises is raised."""
    exchange = (_Stalling if case.stalls else Exchange)(list(case.body))
    client = Client(endpoint)
    client.headers = {}
    scope = client.scope(case.http_method, headers=case.headers)
    if case.leaves:
        exchange.gone.set()
    async with asyncio.timeout(MOST_SECONDS):
        running = asyncio.ensure_future(endpoint(scope, exchange.receive, exchange.send))
        while not running.done() and not _is_stream(exchange):
            changed = asyncio.ensure_future(exchange.changed.wait())
            await asyncio.wait({running, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            exchange.changed.clear()
        await asyncio.wait({running}, timeout=LISTEN_SECONDS)
        exchange.gone.set()
        await running
        await background.finish()
    return exchange.answer


def _is_stream(exchange: Exchange) -> bool:
    return exchange.answer.headers.get("content-type") == EVENT_STREAM


def judge(answer: Answer, case: Case) -> None:
    """Raise unless this is an answer that a client may get."""
    if not answer.status:
        assert case.leaves, "nobody was answered, though the client was there"
        return
    assert answer.status in STATUSES, answer
    assert not any(leak in answer.body for leak in LEAKS), answer.body
    if answer.headers.get("content-type") == EVENT_STREAM:
        for data in data_of(answer.body):
            _judge_message(_read(data))
    elif not answer.body:
        assert answer.status in EMPTY_STATUSES or case.http_method == "HEAD", answer
    else:
        _judge_body(_read(answer.body), answer)


def _judge_body(body: Any, answer: Answer) -> None:
    assert isinstance(body, dict), body
    if "jsonrpc" in body:
        _judge_message(body)
        assert (answer.status == 200) or "error" in body, answer
        return
    assert body.keys() == {"error", "error_description"}, body
    assert answer.status >= 400, answer


def _judge_message(message: Any) -> None:
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        return
    assert message.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), message
    assert "error" not in message or message["error"]["message"] != "Internal error", message


def is_refused(answer: Answer) -> bool:
    """Whether a client is told that nothing came of its request."""
    if answer.status >= 400:
        return True
    if not answer.body or answer.headers.get("content-type") == EVENT_STREAM:
        return False
    return "error" in answer.json


def _read(data: bytes) -> Any:
    return json.loads(data.decode("ascii"), object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a name stands twice in an answer"
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


class _Faults(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what nobody foresaw."""
        self.found.append(logging.Formatter().format(record))


@contextmanager
def no_faults() -> Iterator[None]:
    """Raises at the end of the block when something in it was logged as a fault of ours."""
    faults = _Faults()
    logging.getLogger().addHandler(faults)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(faults)
    assert not faults.found, "\n".join(faults.found)
