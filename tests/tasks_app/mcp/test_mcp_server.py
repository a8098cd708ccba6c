"""The endpoint behind a real server: sockets, signals, two processes, and a database that drops its connections."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connection

from tests.asgi_client import JSON_HEADERS, Answer, modern_headers, modern_message
from tests.processes import Running, start_web
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 20.0


class Web:
    """A web process and how to talk to it."""

    def __init__(self, process: Running, address: str, token: str) -> None:
        self.process = process
        self.where = urlsplit(address)
        self.headers = {name: value for name, value in JSON_HEADERS.items() if name != "host"}
        self.headers["authorization"] = f"Bearer {token}"

    @contextmanager
    def opened(self, method: str, body: bytes = b"", **headers: str) -> Iterator[http.client.HTTPResponse]:
        """Send one request on a connection of its own; the answer may still be coming."""
        assert self.where.port is not None
        link = http.client.HTTPConnection("127.0.0.1", self.where.port, timeout=SECONDS)
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(link):
            link.request(method, "/mcp", body, sent)
            with link.getresponse() as response:
                yield response

    def request(self, method: str, body: bytes = b"", **headers: str) -> Answer:
        """The whole answer to one request."""
        with self.opened(method, body, **headers) as response:
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())

    def modern(self, method: str) -> Answer:
        """The answer to a request of 2026-07-28."""
        message = modern_message(method)
        names = {name.replace("-", "_"): value for name, value in modern_headers(message).items()}
        return self.request("POST", json.dumps(message).encode(), **names)

    def initialize(self) -> str:
        """Begin a session."""
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
        return self.request("POST", body).headers["mcp-session-id"]

    def raw(self, text: bytes) -> bytes:
        """Send bytes as they are, and give the first bytes of what comes back."""
        assert self.where.port is not None
        with socket.create_connection(("127.0.0.1", self.where.port), timeout=SECONDS) as link:
            link.sendall(text)
            return link.recv(65_536)


@pytest.fixture
def web(alice_token: str) -> Iterator[Web]:
    """A web process, and a token of alice."""
    with start_web() as (process, address):
        yield Web(process, address, alice_token)


def test_endpoint_answers_ahead_of_the_pages(web: Web) -> None:
    assert web.modern("server/discover").json["result"]["supportedVersions"] == ["2026-07-28"]


def test_session_of_one_process_is_served_by_another(web: Web, alice_token: str) -> None:
    session = web.initialize()
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

    with start_web() as (process, address):
        other = Web(process, address, alice_token)
        there = other.request("POST", body, mcp_session_id=session)
        deleted = other.request("DELETE", mcp_session_id=session)
        here = web.request("POST", body, mcp_session_id=session)

    assert (there.status, deleted.status, here.status) == (200, 204, 404)


def test_stop_signal_ends_an_open_stream_and_the_process(web: Web) -> None:
    session = web.initialize()

    with web.opened("GET", mcp_session_id=session) as stream:
        web.process.send(signal.SIGTERM)
        rest = stream.read()

    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
    assert b"Traceback" not in rest
    web.process.wait(SECONDS)
    assert "Traceback" not in web.process.output()


def test_connections_that_the_database_dropped_cost_no_request(web: Web) -> None:
    web.modern("server/discover")
    dropped = _others("pid, pg_terminate_backend(pid)")
    until(lambda: not dropped.keys() & _others("pid, true").keys())

    answers = [web.modern("server/discover") for _ in range(5)]

    assert dropped
    assert all(answer.status == 200 and "result" in answer.json for answer in answers)


def _others(columns: str) -> dict[int, bool]:
    """Of every other connection to the database of the tests, by its process."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return dict(cursor.fetchall())


STRANGE = {
    b"GET /mcp HTTP/1.0\r\n\r\n": b"401",
    b"GET /mcp HTTP/1.1\r\nHost: evil.example.com\r\n\r\n": b"400",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n": b"403",
    b"TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n": b"405",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n": b"401",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\rb\r\n\r\n": b"400",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"x" * 65_536 + b"\r\n\r\n": b"401",
    b"nonsense\r\n\r\n": b"400",
}


def test_strange_requests_are_refused_and_the_process_lives(web: Web) -> None:
    statuses = {text: web.raw(text).split(b" ")[1] for text in STRANGE}

    assert statuses == STRANGE
    assert web.modern("server/discover").status == 200
    assert "Traceback" not in web.process.output()


def test_body_without_end_is_refused_while_it_comes(web: Web) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {web.headers['authorization']}\r\n"
        "Content-Type: application/json\r\nAccept: */*\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

    answer = web.raw(head.encode() + chunk * 20)

    assert answer.startswith(b"HTTP/1.1 413")
