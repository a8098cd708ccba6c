"""Who calls: the bearer token of a request, the verifiers that know it, and the scopes that it must hold.

A verifier is a function from a token to its `Caller`, or to None when it does not know it. `TASKDECK_VERIFIERS` names
them: `token` is the personal access token, `jwks` a token of the configured issuer, anything else the dotted path of
such a function. Cookies mean nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.module_loading import import_string

from tasks_app.conf import conf
from tasks_app.domain.identity import OwnerKind, Scope
from tasks_app.mcp import background, jwks, lanes, pool
from tasks_app.mcp.errors import BAD_REQUEST, Refused
from tasks_app.mcp.exchange import Headers
from tasks_app.store import identity
from tasks_app.store.identity import LOCAL, Caller
from tasks_app.store.queries import Poll

UNAUTHORIZED = 401
FORBIDDEN = 403
TOKEN_VERIFIER = "token"  # noqa: S105 - the name of a verifier
METADATA_PATH = "/.well-known/oauth-protected-resource"
ALL_SCOPES = frozenset(scope.value for scope in Scope)

# RFC 6750, 2.1.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")

Verifier: TypeAlias = Callable[[str], Awaitable[Caller | None]]


def presented(headers: Headers) -> str | None:
    """The bearer token of a request; None when it has none and need not. Raises Refused: 400 malformed, 401 missing."""
    found = headers.all("authorization")
    if not found:
        if conf().allow_anonymous:
            return None
        raise unauthorized("Send a token: Authorization: Bearer …")
    scheme, _, token = found[0].partition(" ")
    if len(found) > 1:
        raise Refused(BAD_REQUEST, "There is more than one Authorization header.", error="invalid_request")
    if scheme.lower() != "bearer":
        raise unauthorized("Only bearer tokens are known here: Authorization: Bearer …")
    if not _TOKEN.fullmatch(token.strip()):
        raise Refused(BAD_REQUEST, "The Authorization header is malformed.", error="invalid_request")
    return token.strip()


async def identify(token: str | None) -> Caller:
    """Who calls. Raises Refused (401) for a token that nobody knows."""
    if token is None:
        return await _anonymous()
    for name in conf().verifiers:
        caller = await _verifier(name)(token)
        if caller is not None:
            return await _not_deactivated(caller, verifier=name)
    raise _invalid_token()


async def _not_deactivated(caller: Caller, *, verifier: str) -> Caller:
    """The caller, unless its account is deactivated here. Raises Refused (401), as for a token that nobody knows."""
    # The statement that knows our own tokens has looked at it already.
    if verifier != TOKEN_VERIFIER and not await pool.run(identity.may_call_plan(caller.owner_id)):
        raise _invalid_token()
    return caller


async def identify_with_task(token: str | None, task_id: UUID) -> tuple[Caller, Poll | None]:
    """The same, and what the statement that knew the token read of this task; None when it was known by other means."""
    if token is None or TOKEN_VERIFIER not in conf().verifiers:
        return await identify(token), None
    found = await lanes.poll(token, task_id)
    if found is None:
        return await identify(token), None
    if found.notes_use and found.caller.credential_id is not None:
        _note_use(found.caller.credential_id)
    return found.caller, found


# Credentials whose use is being noted: many requests at once see that it is time, and one of them is enough.
_noting: set[int] = set()


def _note_use(credential_id: int) -> None:
    if credential_id not in _noting:
        _noting.add(credential_id)
        background.spawn(_noted(credential_id))


async def _noted(credential_id: int) -> None:
    try:
        await pool.run(identity.use_plan(credential_id))
    finally:
        _noting.discard(credential_id)


def require(caller: Caller, scopes: Collection[Scope]) -> None:
    """Raises Refused (403), naming all that is needed, unless the caller holds every one of these scopes."""
    if not caller.scopes.issuperset(scopes):
        needed = " ".join(sorted(scope.value for scope in scopes))
        text = f"This token does not allow it: it needs {needed}."
        challenge = _challenge(error="insufficient_scope", scope=needed, description=text)
        raise Refused(FORBIDDEN, text, error="insufficient_scope", headers={"WWW-Authenticate": challenge})


def unauthorized(text: str, *, error: str = "") -> Refused:
    """The refusal (401) that tells a client how to come by a token."""
    challenge = _challenge(error=error, scope=" ".join(sorted(ALL_SCOPES)), description=text if error else "")
    return Refused(UNAUTHORIZED, text, error=error or "unauthorized", headers={"WWW-Authenticate": challenge})


def metadata() -> dict[str, Any] | None:
    """What a client may know about our tokens (RFC 9728); None unless an issuer is configured."""
    settings = conf()
    if not settings.issuer or not settings.audience:
        return None
    return {
        "resource": settings.audience,
        "authorization_servers": [settings.issuer],
        "scopes_supported": sorted(ALL_SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Taskdeck",
    }


def _invalid_token() -> Refused:
    return unauthorized("The token is unknown, expired or revoked. Get a new one.", error="invalid_token")


def _challenge(*, error: str, scope: str, description: str) -> str:
    parts = {"error": error, "scope": scope, "resource_metadata": _metadata_url(), "error_description": description}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)


def _metadata_url() -> str:
    if metadata() is None:
        return ""
    resource = urlsplit(conf().audience)
    return f"{resource.scheme}://{resource.netloc}{METADATA_PATH}{resource.path.rstrip('/')}"


def _verifier(name: str) -> Verifier:
    if name in _OURS:
        return _OURS[name]
    verifier: Verifier = import_string(name)
    return verifier


async def _personal_token(token: str) -> Caller | None:
    return await lanes.authenticate(token)


_OURS: dict[str, Verifier] = {TOKEN_VERIFIER: _personal_token, "jwks": jwks.verify}


async def _anonymous() -> Caller:
    owner_id = await pool.run(identity.owner_plan(OwnerKind.LOCAL, subject=LOCAL))
    return Caller(owner_id, None, ALL_SCOPES)
