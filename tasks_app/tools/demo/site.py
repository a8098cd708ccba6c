"""A small web site on loopback, served from a thread: something real to crawl that nobody has to reach."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOPBACK = "127.0.0.1"
BRANCHES = 3
POLL_SECONDS = 0.05


def links(page: str, *, pages: int) -> list[str]:
    """The pages that a page links to: together they are a tree, whose root is page 0."""
    number = int(page.rpartition("-")[2])
    below = range(number * BRANCHES + 1, number * BRANCHES + BRANCHES + 1)
    return [f"/page-{child}" for child in below if child < pages]


def missing_page(pages: int) -> str | None:
    """The page that is linked to and not there, on any site of some size: a crawl should have something to find."""
    return f"/page-{pages - 2}" if pages >= BRANCHES else None


@contextmanager
def serve(pages: int) -> Iterator[int]:
    """Serve a site of so many pages at a free port until the block ends."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _answering(pages))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), name="demo-site", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answering(pages: int) -> type[BaseHTTPRequestHandler]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_there = self.path != missing_page(pages)
            body = _html(self.path, pages).encode() if is_there else b"Not found"
            self.send_response(200 if is_there else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has there
            """Say nothing: the tool has a log of its own."""

    return Pages


def _html(page: str, pages: int) -> str:
    anchors = "".join(f'<li><a href="{link}">{link[1:]}</a></li>' for link in links(page, pages=pages))
    words = "durable tasks wait for people without holding a worker " * (int(page.rpartition("-")[2]) % 7 + 1)
    return f"<!doctype html><title>{page[1:]}</title><p>{words}</p><ul>{anchors}</ul>"
