"""A real HTTP server on this machine that takes what a webhook sends, and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """What its body says."""
        return json.loads(self.body)  # type: ignore[no-any-return]


class Receiver:
    """What came so far, and the status of the answers to come: the given ones, then 200 for ever."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook?channel=7"
        self.port = port
        self.received: list[Received] = []
        self.statuses: list[int] = []
        self.meanwhile: Callable[[], None] = lambda: None


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A server that listens until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, dict(self.headers.items()), body))
            receiver.meanwhile()
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at what came."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join(STOP_SECONDS)
