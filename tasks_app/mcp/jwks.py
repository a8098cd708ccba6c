"""Tokens of another issuer: signed by a key that it publishes, minted for us, and still in force.

The keys come from a file or from the issuer's address, fetched in a thread and kept for a while. A token says who its
subject is; the owner is issuer and subject, and the client alone only for machine tokens.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jwt

from tasks_app.conf import conf
from tasks_app.domain.identity import OwnerKind, Scope
from tasks_app.domain.text import is_storable
from tasks_app.mcp import pool
from tasks_app.store.identity import Caller, owner_plan

# Asymmetric only: with a shared secret, or none, whoever can check a token could also make one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
REQUIRED = ("exp", "iss", "aud")
LEEWAY_SECONDS = 30
FETCH_SECONDS = 5
KEEP_SECONDS = 300
SUBJECT_CHARACTERS = 255
LOGGED_CHARACTERS = 200

logger = logging.getLogger(__name__)


async def verify(token: str) -> Caller | None:
    """Whose token of the configured issuer this is; None for any other token, and for one that is not good here."""
    if token.count(".") != 2 or not conf().issuer:
        return None
    try:
        claims = await asyncio.to_thread(_claims, token)
    except jwt.PyJWTError as error:
        # The text may quote what nobody has verified: it stays one short line.
        logger.info("a token of the issuer was refused: %s", ascii(str(error)[:LOGGED_CHARACTERS]))
        return None
    who = _owner(claims)
    if who is None:
        return None
    kind, subject = who
    owner_id = await pool.run(owner_plan(kind, subject=subject, issuer=conf().issuer))
    return Caller(owner_id, None, _scopes(claims))


def _claims(token: str) -> dict[str, Any]:
    settings = conf()
    claims: dict[str, Any] = jwt.decode(
        token,
        _key(token),
        algorithms=list(ALGORITHMS),
        audience=settings.audience,
        issuer=settings.issuer,
        leeway=LEEWAY_SECONDS,
        options={"require": list(REQUIRED)},
    )
    return claims


def _key(token: str) -> Any:
    source = conf().jwks
    if source.startswith(("https://", "http://")):
        return _remote(source).get_signing_key_from_jwt(token).key
    wanted = jwt.get_unverified_header(token).get("kid")
    keys = jwt.PyJWKSet.from_dict(json.loads(Path(source).read_text())).keys
    for key in keys:
        if wanted is None or key.key_id == wanted:
            return key.key
    raise jwt.InvalidKeyError(f"no key {wanted!r} in the key set")


@lru_cache(maxsize=4)
def _remote(address: str) -> jwt.PyJWKClient:
    return jwt.PyJWKClient(address, lifespan=KEEP_SECONDS, timeout=FETCH_SECONDS)


def _owner(claims: Mapping[str, Any]) -> tuple[OwnerKind, str] | None:
    """The person that a token speaks for or, in a machine token, the client that speaks for itself."""
    subject = claims.get("sub")
    client = claims.get("client_id") or claims.get("azp")
    is_machine = not subject or subject == client
    name = client if is_machine else subject
    if not isinstance(name, str) or not 0 < len(name) <= SUBJECT_CHARACTERS or not is_storable(name):
        return None
    return (OwnerKind.CLIENT if is_machine else OwnerKind.USER), name


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    said = claims.get("scope", claims.get("scp", ""))
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    return frozenset(scope.value for scope in Scope if scope.value in words)
