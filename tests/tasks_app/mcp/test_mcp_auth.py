"""Who calls: tokens, refusals with their exact challenge, scopes, and that nothing is told to a stranger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from console.asgi import application
from tasks_app import store
from tasks_app.domain.identity import Actor, Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import background, modern, pool
from tasks_app.mcp.auth import require
from tasks_app.mcp.call import Call, Methods
from tasks_app.mcp.endpoint import METADATA_PATHS, endpoint
from tasks_app.store.identity import Caller
from tests.asgi_client import Answer, Client
from tests.conftest import Person

pytestmark = pytest.mark.django_db(transaction=True)

ALL = "tasks:answer tasks:cancel tasks:read tasks:run"
SYSTEM = Actor.system(via="tests")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call that a method of the test was given."""
    seen: list[Call] = []
    table = Methods(Dialect.MODERN)

    @table.method("test/read", scopes={Scope.READ})
    async def read(call: Call) -> dict[str, Any]:
        seen.append(call)
        return {"owner": call.caller.owner_id}

    @table.method("test/both", scopes={Scope.RUN, Scope.CANCEL})
    async def both(call: Call) -> dict[str, Any]:
        seen.append(call)
        return {}

    monkeypatch.setattr(modern, "METHODS", table)
    return seen


def _challenge(answer: Answer) -> str:
    return answer.headers["www-authenticate"]


async def test_token_says_who_calls(client: Client, calls: list[Call], alice: Person) -> None:
    answer = await client.modern("test/read")

    assert (answer.status, answer.json["result"]) == (200, {"owner": alice.id})
    assert calls[0].caller.scopes == {scope.value for scope in Scope}
    assert calls[0].actor().as_json()["id"] == alice.id


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer"])
async def test_scheme_is_known_in_any_case(client: Client, calls: list[Call], scheme: str) -> None:
    token = client.headers["authorization"].removeprefix("Bearer ")

    answer = await client.modern("test/read", headers={"authorization": f"{scheme} {token}"})

    assert answer.status == 200


async def test_missing_token_is_401_with_what_is_needed(stranger: Client, calls: list[Call]) -> None:
    answer = await stranger.modern("test/read")

    assert answer.status == 401
    assert _challenge(answer) == f'Bearer scope="{ALL}"'
    assert answer.json["error"] == "unauthorized"
    assert calls == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_missing_token_is_401_for_every_http_method(stranger: Client, method: str) -> None:
    answer = await stranger.request(method, headers={"mcp-session-id": "x"})

    assert answer.status == 401


async def test_unknown_token_is_401_and_called_invalid(stranger: Client, calls: list[Call]) -> None:
    answer = await stranger.modern("test/read", headers={"authorization": "Bearer td_nobody"})

    assert answer.status == 401
    assert _challenge(answer) == (
        f'Bearer error="invalid_token", scope="{ALL}", '
        'error_description="The token is unknown, expired or revoked. Get a new one."'
    )
    assert calls == []


@pytest.fixture
def revoked(alice: Person) -> str:
    """A token of alice that is no longer in force."""
    token, credential = store.create_token(alice.id, name="old", by=SYSTEM)
    store.revoke_token(credential, owner_id=alice.id, by=SYSTEM)
    return token


@pytest.fixture
def expired(alice: Person) -> str:
    """A token of alice whose time is over."""
    return store.create_token(alice.id, name="old", by=SYSTEM, lifetime=timedelta(seconds=-1))[0]


async def test_token_out_of_force_reads_like_an_unknown_one(revoked: str, expired: str, stranger: Client) -> None:
    unknown = await stranger.modern("test/read", headers={"authorization": "Bearer td_nobody"})

    for token in (revoked, expired):
        answer = await stranger.modern("test/read", headers={"authorization": f"Bearer {token}"})

        assert (answer.status, answer.body, _challenge(answer)) == (401, unknown.body, _challenge(unknown))


async def test_token_is_worthless_from_the_moment_it_is_revoked(
    client: Client, calls: list[Call], alice: Person
) -> None:
    await client.modern("test/read")
    credential = calls[0].caller.credential_id
    assert credential is not None

    await pool.in_thread(store.revoke_token, credential, owner_id=alice.id, by=SYSTEM)

    assert (await client.modern("test/read")).status == 401


@pytest.mark.parametrize("value", ["Bearer", "Bearer ", "Bearer a b", "Bearer ü", "Bearer a\tb", 'Bearer "a"'])
async def test_malformed_header_is_400(stranger: Client, value: str) -> None:
    answer = await stranger.modern("test/read", headers={"authorization": value})

    assert (answer.status, answer.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("value", ["Basic YTpi", "Digest x", ""])
async def test_other_scheme_is_401(stranger: Client, value: str) -> None:
    answer = await stranger.modern("test/read", headers={"authorization": value})

    assert answer.status == 401


async def test_two_tokens_are_400(client: Client) -> None:
    token = client.headers["authorization"]

    answer = await client.request("POST", b"{}", headers=[("authorization", token), ("authorization", token)])

    assert answer.status == 400


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"nobody/knows"}', b'{"jsonrpc":"2.0","method":"x"}'],
)
async def test_stranger_hears_only_401_whatever_is_sent(stranger: Client, body: bytes) -> None:
    answer = await stranger.request("POST", body, headers={"authorization": "Bearer td_nobody"})

    assert answer.status == 401
    assert answer.json["error"] == "invalid_token"


async def test_missing_scope_is_403_and_names_all_that_is_needed(
    make_token: Callable[..., str], alice: Person, served: None, calls: list[Call]
) -> None:
    token = await pool.in_thread(make_token, alice, Scope.READ, Scope.RUN)

    answer = await Client(endpoint, token=token).modern("test/both")

    assert answer.status == 403
    assert _challenge(answer) == (
        'Bearer error="insufficient_scope", scope="tasks:cancel tasks:run", '
        'error_description="This token does not allow it: it needs tasks:cancel tasks:run."'
    )
    assert calls == []


async def test_held_scope_is_enough(
    make_token: Callable[..., str], alice: Person, served: None, calls: list[Call]
) -> None:
    token = await pool.in_thread(make_token, alice, Scope.READ)

    assert (await Client(endpoint, token=token).modern("test/read")).status == 200


def test_more_scopes_may_be_asked_for_inside_a_handler() -> None:
    require(Caller(1, 1, frozenset({"tasks:answer"})), {Scope.ANSWER})

    with pytest.raises(Exception, match="tasks:answer"):
        require(Caller(1, 1, frozenset({"tasks:run"})), {Scope.ANSWER})


async def test_anonymous_is_the_local_owner_where_that_is_allowed(
    settings: Settings, stranger: Client, calls: list[Call]
) -> None:
    settings.TASKDECK_ALLOW_ANONYMOUS = True

    answer = await stranger.modern("test/read")

    assert answer.status == 200
    assert answer.json["result"]["owner"] == await pool.in_thread(store.local_owner)
    assert calls[0].caller.credential_id is None


async def test_wrong_token_is_refused_even_where_anonymous_is_allowed(settings: Settings, stranger: Client) -> None:
    settings.TASKDECK_ALLOW_ANONYMOUS = True

    answer = await stranger.modern("test/read", headers={"authorization": "Bearer td_nobody"})

    assert answer.status == 401


async def test_cookies_mean_nothing(stranger: Client) -> None:
    answer = await stranger.modern("test/read", headers={"cookie": "sessionid=anything"})

    assert answer.status == 401


async def friend(token: str) -> Caller | None:
    """A verifier of another issuer."""
    return Caller(4711, None, frozenset({"tasks:read"})) if token == "friend" else None


async def test_verifiers_are_asked_in_turn(settings: Settings, stranger: Client, calls: list[Call]) -> None:
    settings.TASKDECK_VERIFIERS = ("token", f"{friend.__module__}.friend")

    known = await stranger.modern("test/read", headers={"authorization": "Bearer friend"})
    unknown = await stranger.modern("test/read", headers={"authorization": "Bearer foe"})

    assert (known.status, known.json["result"]) == (200, {"owner": 4711})
    assert unknown.status == 401


def _used_at(token_owner: int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT used_at FROM tasks_credential WHERE owner_id = %s", [token_owner])
        return cursor.fetchone()[0]


async def test_use_of_a_token_is_noted_at_most_once_a_minute(client: Client, calls: list[Call], alice: Person) -> None:
    before = await pool.in_thread(_used_at, alice.id)
    await client.modern("test/read")
    await background.finish()
    first = await pool.in_thread(_used_at, alice.id)

    await client.modern("test/read")
    await background.finish()

    assert before is None
    assert first is not None
    assert await pool.in_thread(_used_at, alice.id) == first


@pytest.mark.parametrize("path", sorted(METADATA_PATHS))
async def test_metadata_is_not_there_without_an_issuer(
    served: None, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The answer is that of the pages, which know no such address: no contract of the endpoint holds for it.
    monkeypatch.setattr(Client, "check", None)

    answer = await Client(application).request("GET", path=path)
    refused = await Client(application).modern("test/read")

    assert answer.status == 404
    assert b"authorization_servers" not in answer.body
    assert "resource_metadata" not in _challenge(refused)


async def test_metadata_is_told_with_an_issuer(settings: Settings, stranger: Client) -> None:
    settings.TASKDECK_ISSUER = "https://auth.example.org"
    settings.TASKDECK_AUDIENCE = "https://tasks.example.org/mcp"

    told = await stranger.request("GET", path="/.well-known/oauth-protected-resource/mcp")
    refused = await stranger.modern("test/read")

    assert told.status == 200
    assert told.json == {
        "resource": "https://tasks.example.org/mcp",
        "authorization_servers": ["https://auth.example.org"],
        "scopes_supported": ALL.split(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Taskdeck",
    }
    where = 'resource_metadata="https://tasks.example.org/.well-known/oauth-protected-resource/mcp"'
    assert where in _challenge(refused)
