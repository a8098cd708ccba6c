"""Run as a script: the real launch with small stand-ins for web, worker and engine, so that tests start in a moment.

It stands where `manage.py up` stands: environment in, lines out, exit code 1 and one line on stderr for trouble.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from console.embedded.address import Address
from console.embedded.children import ChildSpec
from console.embedded.errors import EmbeddedError
from console.embedded.launch import Program, launch
from console.embedded.output import Output

WEB = """
import http.server, sys
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
"""
SLEEPER = "import signal; print('at work', flush=True); signal.pause()"
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    signal.pause()
"""


class StandIn(Program):
    """The same order of things, with processes that need no site."""

    def manage(self, *arguments: str) -> list[str]:
        """A migration that takes as long, and fails, as the test says; and a first-run command that greets."""
        if arguments == ("greet",):
            return [sys.executable, "-c", "print('Sign in here: one-time link')"]
        if os.environ.get("BROKEN_MIGRATION"):
            return [sys.executable, "-c", "raise SystemExit('no such column')"]
        return [sys.executable, "-c", f"import time; time.sleep({os.environ.get('MIGRATION_SECONDS', '0')})"]

    def children(self, address: Address, *, workers: int) -> list[ChildSpec]:
        """The three children; the worker ignores SIGTERM when the test says so."""
        worker = STUBBORN if os.environ.get("STUBBORN") else SLEEPER
        return [
            ChildSpec("web", [sys.executable, "-c", WEB, str(address.port)]),
            ChildSpec("worker", [sys.executable, "-c", worker, "as worker"], grace=60),
            ChildSpec("engine", [sys.executable, "-c", SLEEPER, "as engine"]),
        ]


if __name__ == "__main__":
    try:
        launch(
            StandIn(Path.cwd(), first_run=os.environ.get("FIRST_RUN")),
            environ=os.environ,
            output=Output(sys.stdout.buffer),
        )
    except EmbeddedError as error:
        sys.exit(str(error))
