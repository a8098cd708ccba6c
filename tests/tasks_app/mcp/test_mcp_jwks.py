"""Tokens of another issuer: good only when signed by its key, minted for us, and in force."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from pytest_django import Settings

from tasks_app.domain.identity import Scope
from tasks_app.mcp import jwks, pool
from tasks_app.models import Owner
from tests.accounts import deactivate, give_account
from tests.asgi_client import Client
from tests.conftest import Person

pytestmark = pytest.mark.django_db(transaction=True)

ISSUER = "https://auth.example"
AUDIENCE = "https://tasks.example/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
GOOD = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "client_id": "acme", "scope": "tasks:run tasks:read openid"}


def key_set() -> dict[str, Any]:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
    return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}


def token(*, key: Any = KEY, algorithm: str = "RS256", kid: str = "one", lifetime: float = 60, **changes: Any) -> str:
    claims = {**GOOD, "exp": time.time() + lifetime, **changes}
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": kid})


@pytest.fixture
def issuer(settings: Settings, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(key_set()))
    settings.TASKDECK_ISSUER, settings.TASKDECK_AUDIENCE, settings.TASKDECK_JWKS = ISSUER, AUDIENCE, str(keys)
    settings.TASKDECK_VERIFIERS = ("token", "jwks")


async def test_token_of_the_issuer_names_its_owner_and_scopes(issuer: None, served: None) -> None:
    caller = await jwks.verify(token())

    assert caller is not None
    assert caller.scopes == {Scope.RUN, Scope.READ}
    owner = await pool.in_thread(Owner.objects.get, pk=caller.owner_id)
    assert (owner.kind, owner.issuer, owner.subject, owner.user_id) == ("user", ISSUER, "ana", None)


async def test_two_users_of_one_client_stay_apart(issuer: None, served: None) -> None:
    """check 101: issuer and subject are the owner; the client alone would merge them."""
    ana, bob, again = [await jwks.verify(token(sub=name)) for name in ("ana", "bob", "ana")]

    owners = [caller.owner_id for caller in (ana, bob, again) if caller is not None]
    assert owners[0] == owners[2] != owners[1]


@pytest.mark.parametrize("subject", [None, "acme"])
async def test_machine_token_is_owned_by_its_client(issuer: None, served: None, subject: str | None) -> None:
    """check 101"""
    caller = await jwks.verify(token(sub=subject))

    assert caller is not None
    owner = await pool.in_thread(Owner.objects.get, pk=caller.owner_id)
    assert (owner.kind, owner.subject) == ("client", "acme")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://elsewhere.example/mcp"},
        {"iss": "https://evil.example"},
        {"lifetime": -120},
        {"exp": None},
        {"aud": None},
        {"key": OTHER_KEY},
        {"kid": "two"},
        {"sub": "", "client_id": None},
        {"sub": 7, "client_id": None},
        {"sub": "a\x00b"},
        {"sub": "x" * 300},
    ],
)
async def test_token_that_is_not_good_here_is_refused(issuer: None, served: None, changes: dict[str, Any]) -> None:
    assert await jwks.verify(token(**changes)) is None


async def test_token_for_a_deactivated_account_is_refused_like_an_unknown_one(
    issuer: None, served: None, stranger: Client
) -> None:
    """The issuer still vouches for its subject; the account that it is linked to here was locked out."""
    bearer = {"authorization": f"Bearer {token()}"}
    before = await stranger.modern("tools/list", headers=bearer)
    owner = await pool.in_thread(Owner.objects.get, subject="ana")
    await pool.in_thread(deactivate, await pool.in_thread(give_account, Person(owner.pk, "ana")))

    refused = await stranger.modern("tools/list", headers=bearer)
    unknown = await stranger.modern("tools/list", headers={"authorization": "Bearer td_nobody"})

    assert (before.status, refused.status) == (200, 401)
    assert refused.body == unknown.body


@pytest.mark.parametrize("kid", ["a\nrequest=1 owner=7 forged", "\x1b[2J", "k" * 5000])
async def test_what_a_refused_token_says_stays_one_short_line_of_the_log(
    issuer: None, served: None, caplog: pytest.LogCaptureFixture, kid: str
) -> None:
    caplog.set_level(logging.INFO)

    assert await jwks.verify(token(kid=kid)) is None

    [line] = [record.getMessage() for record in caplog.records if record.name == jwks.__name__]
    assert line.isprintable()
    assert line.isascii()
    assert len(line) < 300


async def test_unsigned_and_shared_secret_tokens_are_refused(issuer: None, served: None) -> None:
    claims = {**GOOD, "exp": time.time() + 60}
    shared = jwt.encode(claims, "a secret that both sides would know", algorithm="HS256", headers={"kid": "one"})

    assert await jwks.verify(jwt.encode(claims, "", algorithm="none")) is None
    assert await jwks.verify(shared) is None
    assert await jwks.verify("not.a.token") is None
    assert await jwks.verify("td_something") is None


class _Keys(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(key_set()).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def served_keys() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Keys)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/keys"
    server.shutdown()
    server.server_close()


async def test_keys_may_come_from_an_address(issuer: None, served: None, served_keys: str, settings: Settings) -> None:
    settings.TASKDECK_JWKS = served_keys

    assert await jwks.verify(token()) is not None
    assert await jwks.verify(token(key=OTHER_KEY)) is None
