"""What the tests of the endpoint use: it is called in this process, with the pool that it would have in a server."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module

import pytest

import console.celery  # noqa: F401 - hints go to the broker of the tests
from tasks_app import store
from tasks_app.domain.identity import Actor, Scope
from tasks_app.engine.content import content
from tasks_app.engine.registry import registry
from tasks_app.mcp import throttle
from tasks_app.mcp.endpoint import endpoint, running
from tasks_app.tools import results
from tests.asgi_client import Client
from tests.conftest import Person
from tests.contracts.checking import check_answer
from tests.tasks_app.mcp.legacy_client import EVERYTHING, Session
from tests.tasks_app.mcp.workers import working

TokenMaker = Callable[..., str]


@pytest.fixture(autouse=True)
def full_buckets() -> Iterator[None]:
    """No test pays for the requests of another."""
    throttle.forget()
    yield
    throttle.forget()


@pytest.fixture(autouse=True)
def contracts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the endpoint answers to a client of a test is held against the contracts."""
    monkeypatch.setattr(Client, "check", staticmethod(check_answer))


@pytest.fixture
async def served(transactional_db: None) -> AsyncIterator[None]:
    """The endpoint is up: its pool is open, as between lifespan startup and shutdown."""
    async with running():
        yield


@pytest.fixture
def make_token() -> TokenMaker:
    """Mints a token for a person, with all scopes unless told otherwise."""

    def make(person: Person, *scopes: Scope) -> str:
        by = Actor.system(via="tests")
        return store.create_token(person.id, name="tests", by=by, scopes=scopes or tuple(Scope))[0]

    return make


@pytest.fixture
def alice_token(transactional_db: None, alice: Person, make_token: TokenMaker) -> str:
    """A token of alice with every scope."""
    return make_token(alice)


@pytest.fixture
def eve_token(transactional_db: None, eve: Person, make_token: TokenMaker) -> str:
    """A token of eve with every scope."""
    return make_token(eve)


@pytest.fixture
def client(alice_token: str, served: None) -> Client:
    """A client of alice."""
    return Client(endpoint, token=alice_token)


@pytest.fixture
def eve_client(eve_token: str, served: None) -> Client:
    """A client of eve."""
    return Client(endpoint, token=eve_token)


@pytest.fixture
def stranger(served: None) -> Client:
    """A client without a token."""
    return Client(endpoint)


@pytest.fixture
def modern_tools() -> Iterator[None]:
    """The tools, prompts and resources of `modern_tools` are on offer, and nothing else but `get_task_result`."""
    name = "tests.tasks_app.mcp.modern_tools"
    with registry.temporary(), content.temporary():
        sys.modules.pop(name, None)
        import_module(name)
        results.declare("get_task_result")
        yield
        sys.modules.pop(name, None)


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """What is due is run, in threads of this process."""
    with working():
        yield


@pytest.fixture
def legacy_tools(modern_tools: None) -> Iterator[threading.Event]:
    """The tools of `modern_tools` and `legacy_tools` are on offer; gives the gate that some of them wait for."""
    name = "tests.tasks_app.mcp.legacy_tools"
    sys.modules.pop(name, None)
    gate: threading.Event = import_module(name).gate
    yield gate
    gate.set()
    sys.modules.pop(name, None)


@pytest.fixture
async def session(client: Client) -> Session:
    """A session of alice's client, which can answer every kind of question."""
    return await Session.begin(client, capabilities=EVERYTHING)
