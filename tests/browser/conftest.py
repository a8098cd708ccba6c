"""A real server on the test database and a real browser in front of it.

The server is a process of its own, as in production, so what these tests see went through ASGI, every middleware and
the content policy. Whatever the browser complains about on its console fails the test that caused it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import pytest
from django.contrib.auth.models import User
from django.db import connection
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
START_SECONDS = 60
STOP_SECONDS = 10
PASSWORD = "correct horse battery"
UNSAFE = "DJANGO_ALLOW_ASYNC_UNSAFE"


@pytest.fixture(scope="session", autouse=True)
def database_beside_the_browser() -> Iterator[None]:
    """Let fixtures use the database in the thread in which the browser's event loop runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(UNSAFE, "1")
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The system's browser; its shared memory is too small inside a container."""
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": ["--disable-dev-shm-usage"]}


@pytest.fixture(scope="session")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server that works on the test database."""
    log = tmp_path_factory.mktemp("server") / "log"
    address, process = _start(log)
    try:
        _wait_for_first_answer(address, log=log)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


@pytest.fixture(scope="session")
def base_url(server: str) -> str:
    """What a path given to the browser is relative to."""
    return server


@pytest.fixture
def password() -> str:
    """The password of every account made here."""
    return PASSWORD


@pytest.fixture
def alice(transactional_db: None) -> User:
    """An ordinary account, committed so that the server sees it."""
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def complaints(context: BrowserContext) -> Iterator[list[str]]:
    """What the browser complained about so far, refusals of the content policy included; none may be left."""
    found: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            found.append(message.text)

    context.on("console", listen)
    context.on("weberror", lambda error: found.append(str(error.error)))
    yield found
    assert found == []


@pytest.fixture
def signed_in(page: Page, alice: User, complaints: list[str]) -> Iterator[Page]:
    """A browser in which Alice has just signed in, on the page of tasks."""
    page.goto("/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url("/tasks/")
    # Until a page has loaded, the browser may move the focus once more to the fragment of its address.
    page.wait_for_load_state()
    yield page
    # A page that is open reads on, and must not hold a table that the end of the test empties.
    page.close()


def _start(log: Path) -> tuple[str, subprocess.Popen[bytes]]:
    # The server inherits a socket that listens already: no port to race for, and a request waits until it is up.
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "console.asgi:application", "--fd", str(listener.fileno())],
            cwd=ROOT,
            env=_environment(),
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=output,
        )
        return f"http://127.0.0.1:{listener.getsockname()[1]}", process


def _environment() -> dict[str, str]:
    # The server itself has to be safe: what the fixtures are allowed is not handed on.
    inherited = {name: value for name, value in os.environ.items() if name != UNSAFE}
    return {**inherited, "DATABASE_URL": _address_of_test_database()}


def _address_of_test_database() -> str:
    database = connection.settings_dict
    login = ":".join(quote(database[part], safe="") for part in ("USER", "PASSWORD") if database[part])
    where = {"host": database["HOST"], "port": database["PORT"]}
    query = urlencode({name: value for name, value in where.items() if value})
    return f"postgresql://{login}@/{quote(database['NAME'])}?{query}"


def _wait_for_first_answer(address: str, *, log: Path) -> None:
    try:
        urlopen(f"{address}/healthz", timeout=START_SECONDS).close()
    except OSError as error:
        pytest.fail(f"The server did not answer ({error}):\n{log.read_text()}")
