"""One real server for every client: a web process, a worker and an engine loop; and what a client made of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from tasks_app import store
from tasks_app.domain.identity import Actor, OwnerKind, Scope
from tests.interop.environments import PROJECT, environment
from tests.processes import start_engine, start_web, start_worker
from tests.waiting import until

READY = " ready."
CLIENT_SECONDS = 240
SETTINGS = {
    "TASKDECK_TOOL_MODULES": "tests.interop.fixture_tools",
    "TASKDECK_DEMO": "0",
    # Clients wait as long as they are told between two polls.
    "TASKDECK_DEFAULT_POLL": "0.1",
    "TASKDECK_POLLS_BURST": "1000",
}

Found = dict[str, Any]


@dataclass(frozen=True)
class Server:
    """Where it answers, and to whom."""

    url: str
    token: str


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """A server, and a token of somebody with every scope; what they leave behind is removed."""
    with django_db_blocker.unblock():
        with (
            start_worker(slots=2, **SETTINGS) as worker,
            start_engine(**SETTINGS),
            start_web(**SETTINGS) as (_, origin),
        ):
            until(lambda: READY in worker.output(), 30)
            owner_id = store.find_or_make_owner(OwnerKind.USER, subject="ada")
            by = Actor.system(via="tests")
            token, _ = store.create_token(owner_id, name="interop", by=by, scopes=tuple(Scope))
            yield Server(f"{origin}/mcp", token)
        call_command("flush", interactive=False, verbosity=0, inhibit_post_migrate=True, allow_cascade=True)


@pytest.fixture(scope="module")
def run_client(server: Server) -> Callable[[str, str], Found]:
    """Runs a client program in an environment, and gives what it printed, by scenario."""

    def run(program: str, environment_name: str) -> Found:
        command = [str(environment(environment_name)), "-m", f"tests.interop.clients.{program}"]
        # Nothing of our environment: only what finds the programs of the system.
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = kept | {"INTEROP_URL": server.url, "INTEROP_TOKEN": server.token}
        done = subprocess.run(
            command, cwd=PROJECT, env=given, capture_output=True, text=True, timeout=CLIENT_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        found: Found = json.loads(done.stdout)
        return found

    return run
