"""Owners and their credentials. A token is shown once; what is kept is its digest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model

from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, OwnerKind, Scope, new_token, token_digest
from tasks_app.domain.text import clean_text
from tasks_app.models import Credential
from tasks_app.models.rules import DatabaseNow
from tasks_app.store.db import Plan, Query, Row, affected, atomic, row, run
from tasks_app.store.events import record_event

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

NAME_CHARACTERS = 200
LOCAL = "local"


def _account_is_active(owner: str) -> str:
    """The condition that the account of an owner is active, or that it has none; accounts may be of any kind."""
    account = get_user_model()._meta
    if not any(field.name == "is_active" for field in account.concrete_fields):
        return "true"
    # By two keys, for each credential that was found: never a reason to read either table from end to end.
    return f"""(SELECT u.is_active FROM tasks_owner o JOIN "{account.db_table}" u ON u."{account.pk.column}" = o.user_id
  WHERE o.id = {owner}) IS NOT FALSE"""


# Found first: an insert that conflicts would still use up a number and leave a dead row behind.
_FIND_OWNER = "SELECT id FROM tasks_owner WHERE kind = %(kind)s AND issuer = %(issuer)s AND subject = %(subject)s"
_MAKE_OWNER = """
INSERT INTO tasks_owner (kind, issuer, subject, user_id) VALUES (%(kind)s, %(issuer)s, %(subject)s, %(user)s::bigint)
ON CONFLICT (kind, issuer, subject) DO NOTHING
"""
_LINK = "UPDATE tasks_owner SET user_id = %(user)s::bigint WHERE id = %(owner)s AND user_id IS NULL"
IS_VALID = f"""c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > tasks_now())
  AND {_account_is_active("c.owner_id")}"""
_MAY_CALL = f"SELECT {_account_is_active('%(owner)s')}"
CALLER_COLUMNS = "c.id, c.owner_id, c.scopes, c.used_at IS NULL OR c.used_at < tasks_now() - interval '1 minute'"
_AUTHENTICATE = f"""
SELECT {CALLER_COLUMNS}
  FROM tasks_credential c WHERE c.digest = %(digest)s AND {IS_VALID}
"""
_NAME = "SELECT kind, subject FROM tasks_owner WHERE id = %(owner)s"
# Never waits: a request must not fail because somebody else is noting the same, on a connection that hangs.
_USED = """
UPDATE tasks_credential SET used_at = tasks_now() WHERE id = (
    SELECT c.id FROM tasks_credential c
     WHERE c.id = %(credential)s AND (c.used_at IS NULL OR c.used_at < tasks_now() - interval '1 minute')
       FOR NO KEY UPDATE SKIP LOCKED)
"""
_REVOKE = """
UPDATE tasks_credential SET revoked_at = tasks_now()
 WHERE id = %(credential)s AND (%(owner)s::bigint IS NULL OR owner_id = %(owner)s) AND revoked_at IS NULL RETURNING owner_id, name
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is behind a request: an owner, the credential that said so, and what it allows."""

    owner_id: int
    credential_id: int | None
    scopes: frozenset[str]


def find_or_make_owner(kind: OwnerKind, *, subject: str, issuer: str = "", user_id: int | None = None) -> int:
    """The owner with this identity, made when it is new. Two that make it at once get the same one."""
    return run(owner_plan(kind, subject=subject, issuer=issuer, user_id=user_id))


def owner_plan(kind: OwnerKind, *, subject: str, issuer: str = "", user_id: int | None = None) -> Plan[int]:
    """The steps of `find_or_make_owner`, for any connection."""
    identity = {"kind": kind.value, "issuer": issuer, "subject": subject}
    while True:
        found = yield Query(_FIND_OWNER, identity)
        if found:
            return int(found[0][0])
        yield Query(_MAKE_OWNER, {**identity, "user": user_id})


def owner_of(user: AbstractBaseUser) -> int:
    """The owner that an account is."""
    return find_or_make_owner(OwnerKind.USER, subject=str(user.pk), user_id=user.pk)


def local_owner() -> int:
    """The owner of everything on a server that allows anonymous use."""
    return find_or_make_owner(OwnerKind.LOCAL, subject=LOCAL)


def link_local(user: AbstractBaseUser, *, by: Actor) -> bool:
    """Give what anonymous callers make to this account; false when it belongs to one already."""
    with atomic():
        owner_id = local_owner()
        if affected(_LINK, {"owner": owner_id, "user": user.pk}) == 0:
            return False
        record_event("owner_linked", by=by, owner_id=owner_id, detail={"user": user.pk})
    return True


def create_token(owner_id: int, *, name: str, by: Actor, scopes: Collection[Scope] = tuple(Scope),
                 lifetime: timedelta | None = None) -> tuple[str, int]:  # fmt: skip
    """Mint a token and give it with the id of its credential: the one moment in which it can be read."""
    token = new_token()
    with atomic():
        made = Credential.objects.create(
            owner_id=owner_id,
            name=clean_text(name, NAME_CHARACTERS),
            digest=token_digest(token),
            scopes=sorted(scope.value for scope in scopes),
            expires_at=None if lifetime is None else DatabaseNow() + lifetime,
        )
        detail = {"credential": made.pk, "name": made.name, "scopes": made.scopes}
        record_event("token_created", by=by, owner_id=owner_id, detail=detail)
    return token, made.pk


def revoke_token(credential_id: int, *, owner_id: int | None, by: Actor) -> None:
    """Make a token worthless from now on. Raises NotFound when the owner has no such token in force."""
    with atomic():
        found = row(_REVOKE, {"credential": credential_id, "owner": owner_id})
        if found is None:
            raise NotFound
        record_event("token_revoked", by=by, owner_id=found[0], detail={"credential": credential_id, "name": found[1]})


def authenticate(token: str) -> Caller | None:
    """Who presents this token; None for an unknown, expired or revoked one, and for one of a deactivated account."""
    return run(authenticate_plan(token))


def authenticate_plan(token: str) -> Plan[Caller | None]:
    """The steps of `authenticate`, for any connection. The last use is noted at most once a minute."""
    found = yield Query(_AUTHENTICATE, {"digest": token_digest(token)})
    return (yield from read_caller(found[0])) if found else None


def read_caller(row: Row) -> Plan[Caller]:
    """The caller that a statement which selected `CALLER_COLUMNS` found; the use of the credential is noted."""
    credential_id, owner_id, scopes, is_stale = row
    if is_stale:
        yield Query(_USED, {"credential": credential_id})
    return Caller(owner_id, credential_id, frozenset(scopes))


def may_call_plan(owner_id: int) -> Plan[bool]:
    """Whether an owner whom somebody else vouches for may call: not one whose account here was deactivated."""
    [[may_call]] = yield Query(_MAY_CALL, {"owner": owner_id})
    return bool(may_call)


def owner_name_plan(owner_id: int) -> Plan[str]:
    """How an owner is called in a tool's context: kind and subject."""
    [[kind, subject]] = yield Query(_NAME, {"owner": owner_id})
    return f"{kind}:{subject}"


def use_plan(credential_id: int) -> Plan[None]:
    """Note that a credential was used now, at most once a minute."""
    yield Query(_USED, {"credential": credential_id})
