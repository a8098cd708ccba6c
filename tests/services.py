"""The pytest plugin that starts the real services: one Postgres cluster and one Valkey in a temporary directory.

It runs when it is imported, before Django reads its settings. Where `DATABASE_URL`, `BROKER_URL` or `CHANNEL_URL` are
given (also to the processes of xdist, which inherit them), the tests use those and nothing is started for them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from console.embedded.postgres import EmbeddedPostgres
from console.embedded.valkey import EmbeddedValkey

# Nothing here outlives the run, so nothing needs to survive a crash of the machine.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}

_stack = contextlib.ExitStack()


def _directory() -> Path:
    """A directory that the unprivileged user of Postgres can enter, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="taskdeck-tests-"))
    path.chmod(0o755)
    _stack.callback(shutil.rmtree, path, ignore_errors=True)
    return path


def _start() -> None:
    root = _directory()
    if not os.environ.get("DATABASE_URL"):
        postgres = EmbeddedPostgres(root / "pg", settings=FAST)
        postgres.start()
        _stack.callback(postgres.stop)
        postgres.create_database("taskdeck")
        os.environ["DATABASE_URL"] = postgres.url
    if not (os.environ.get("BROKER_URL") and os.environ.get("CHANNEL_URL")):
        valkey = EmbeddedValkey(root / "valkey")
        valkey.start()
        _stack.callback(valkey.stop)
        os.environ["BROKER_URL"] = valkey.broker_url
        os.environ["CHANNEL_URL"] = valkey.channel_url


_start()
# At the very end: Django's test database must be dropped before the server goes.
atexit.register(_stack.close)
