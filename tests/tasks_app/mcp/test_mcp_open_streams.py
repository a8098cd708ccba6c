"""A stream that stays open is cut when its token is no longer in force, whatever it waits for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import pytest

from tasks_app import store
from tasks_app.domain.errors import StorageUnavailable
from tasks_app.domain.identity import Actor
from tasks_app.mcp import auth, streams
from tasks_app.mcp.endpoint import endpoint
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Credential
from tests.accounts import deactivate, give_account
from tests.asgi_client import Client, Exchange, modern_headers, modern_message
from tests.conftest import Person
from tests.tasks_app.mcp.legacy_client import Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("served", "legacy_tools")]
BY = Actor.system(via="tests")
LIFETIME = timedelta(minutes=5)

Opened = AbstractAsyncContextManager[Exchange]
Opening = Callable[[Client], Awaitable[Opened]]


@pytest.fixture(autouse=True)
def asks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams look at their credential many times a second."""
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.05)


@pytest.fixture
def token(transactional_db: None, alice: Person) -> tuple[str, int]:
    """A token of alice that lives for five minutes, and its credential."""
    return store.create_token(alice.id, name="short", by=BY, lifetime=LIFETIME)


def posted(client: Client, method: str, params: dict[str, Any]) -> Opened:
    """A modern request whose answer comes bit by bit."""
    message = modern_message(method, params, tasks=True)
    return client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message))


async def listening(client: Client) -> Opened:
    """A client that follows a task of its own."""
    task = (await client.modern("tools/call", {"name": "echo", "arguments": {}}, tasks=True)).json["result"]
    return posted(client, "subscriptions/listen", {"notifications": {"taskIds": [task["taskId"]]}})


async def listening_to_nothing(client: Client) -> Opened:
    """A client that keeps a stream open on which nothing will come."""
    return posted(client, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})


async def waiting_for_a_result(client: Client) -> Opened:
    """A client whose `tasks/result` blocks: there is no worker."""
    session = await Session.begin(client)
    task = await session.make("echo")
    return session.opened("tasks/result", {"taskId": task["taskId"]})


async def standing(client: Client) -> Opened:
    """A client with the stream of a GET."""
    return (await Session.begin(client)).stream()


REQUESTS = [listening, listening_to_nothing, waiting_for_a_result]


async def opened(exchange: Exchange) -> None:
    """The stream has begun."""
    await exchange.until(b"\r\n\r\n")
    assert exchange.answer.headers["content-type"] == "text/event-stream"


async def ended(exchange: Exchange) -> None:
    """The stream has ended, though its client did not leave."""
    async with asyncio.timeout(10):
        await exchange.ended.wait()


@pytest.mark.parametrize("opening", REQUESTS)
async def test_open_request_is_answered_with_an_error_when_its_token_is_revoked(
    opening: Opening, token: tuple[str, int]
) -> None:
    secret, credential = token

    async with await opening(Client(endpoint, token=secret)) as exchange:
        await opened(exchange)
        await in_thread(store.revoke_token, credential, owner_id=None, by=BY)
        await ended(exchange)

    last = exchange.answer.events[-1]
    assert last["id"] == 1
    assert last["error"]["data"] == {"reason": "invalid_token"}


async def test_standing_stream_ends_when_its_token_is_revoked(token: tuple[str, int]) -> None:
    secret, credential = token

    async with await standing(Client(endpoint, token=secret)) as exchange:
        await opened(exchange)
        await in_thread(store.revoke_token, credential, owner_id=None, by=BY)
        await ended(exchange)

    assert exchange.answer.events == []


@pytest.mark.parametrize("opening", [*REQUESTS, standing])
async def test_stream_ends_when_its_token_expires(opening: Opening, token: tuple[str, int]) -> None:
    async with await opening(Client(endpoint, token=token[0])) as exchange:
        await opened(exchange)
        # The pool of the endpoint reads the real clock, so it is the token that is made older.
        await in_thread(_age, token[1])
        await ended(exchange)


def _age(credential: int) -> None:
    found = Credential.objects.get(pk=credential)
    assert found.expires_at is not None
    found.expires_at -= 2 * LIFETIME
    found.save(update_fields=["expires_at"])


@pytest.mark.parametrize("opening", [*REQUESTS, standing])
async def test_stream_ends_when_the_account_behind_it_is_deactivated(
    opening: Opening, token: tuple[str, int], alice: Person
) -> None:
    account = await in_thread(give_account, alice)

    async with await opening(Client(endpoint, token=token[0])) as exchange:
        await opened(exchange)
        await in_thread(deactivate, account)
        await ended(exchange)


@pytest.mark.parametrize("method", ["GET", "tasks/result"])
async def test_stream_ends_when_its_session_is_ended(token: tuple[str, int], method: str) -> None:
    client = Client(endpoint, token=token[0])
    session = await Session.begin(client)
    other = await Session.begin(client)
    task = await session.make("echo")
    opening = session.stream() if method == "GET" else session.opened(method, {"taskId": task["taskId"]})

    async with opening as exchange, other.stream() as unharmed:
        await opened(exchange)
        await opened(unharmed)
        deleted = await client.request("DELETE", headers={"mcp-session-id": session.id})
        await ended(exchange)

        assert not unharmed.ended.is_set()

    assert deleted.status == 204
    errors = [each["error"]["data"] for each in exchange.answer.events]
    assert errors == ([] if method == "GET" else [{"reason": "session_ended"}])


async def test_stream_outlives_a_database_that_cannot_be_asked(
    token: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def away(_token: str | None) -> None:
        asked.set()
        raise StorageUnavailable

    async with await listening_to_nothing(Client(endpoint, token=token[0])) as exchange:
        await opened(exchange)
        monkeypatch.setattr(auth, "identify", away)
        async with asyncio.timeout(5):
            await asked.wait()

        assert not exchange.ended.is_set()
