"""Owners and tokens: who is who, and what a token is worth."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, OwnerKind, Scope
from tasks_app.models import Credential, Owner
from tests.accounts import deactivate, give_account
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import created, scalar, sql

pytestmark = pytest.mark.django_db

BY = Actor.system(via="test")


def test_owner_is_made_once(db: None) -> None:
    first = store.find_or_make_owner(OwnerKind.USER, subject="ana")

    assert store.find_or_make_owner(OwnerKind.USER, subject="ana") == first
    assert Owner.objects.filter(subject="ana").count() == 1


def test_kind_issuer_and_subject_all_count(db: None) -> None:
    """check 101: two users of one client are two owners, and a client is not the user of the same name."""
    identities = [
        (OwnerKind.USER, "", "a"),
        (OwnerKind.USER, "https://one.example", "a"),
        (OwnerKind.USER, "https://two.example", "a"),
        (OwnerKind.USER, "https://one.example", "b"),
        (OwnerKind.CLIENT, "https://one.example", "a"),
        (OwnerKind.TEAM, "", "a"),
    ]

    owners = {store.find_or_make_owner(kind, issuer=issuer, subject=subject) for kind, issuer, subject in identities}

    assert len(owners) == len(identities)


@pytest.mark.parametrize(
    ("one", "other"), [(("a", "b:c"), ("a:b", "c")), (("", "a"), ("a", "")), (("a|b", "c"), ("a", "b|c"))]
)
def test_parts_of_an_identity_are_never_joined(db: None, one: tuple[str, str], other: tuple[str, str]) -> None:
    """check 104."""
    owners = [
        store.find_or_make_owner(OwnerKind.USER, issuer=issuer, subject=subject) for issuer, subject in (one, other)
    ]

    assert owners[0] != owners[1]


def test_account_is_its_owner_for_ever(db: None) -> None:
    """check 101."""
    user = get_user_model().objects.create_user("ana")
    owner_id = store.owner_of(user)
    user.username = "anna"
    user.save()

    assert store.owner_of(user) == owner_id
    assert Owner.objects.get(pk=owner_id).user_id == user.pk


def test_everyone_on_a_local_server_is_one_owner(alice: Person) -> None:
    """check 105, check 106: and nobody else's."""
    local = store.local_owner()

    assert store.local_owner() == local != alice.id
    assert sql("SELECT kind, subject FROM tasks_owner WHERE id = %(id)s", id=local) == [("local", "local")]


def test_user_called_local_is_not_the_local_owner(db: None) -> None:
    """check 105."""
    assert store.find_or_make_owner(OwnerKind.USER, subject="local") != store.local_owner()


def test_owner_with_tasks_cannot_be_removed(alice: Person) -> None:
    created(alice)

    with pytest.raises(Exception, match="protected"):
        Owner.objects.get(pk=alice.id).delete()


def test_token_tells_who_presents_it(alice: Person) -> None:
    """check 102: the owner comes from the credential."""
    token, credential_id = store.create_token(alice.id, name="laptop", by=BY, scopes=[Scope.READ, Scope.RUN])

    caller = store.authenticate(token)

    assert caller == store.Caller(alice.id, credential_id, frozenset({"tasks:read", "tasks:run"}))


def test_only_the_digest_of_a_token_is_kept(alice: Person) -> None:
    token, credential_id = store.create_token(alice.id, name="laptop", by=BY)

    assert bytes(Credential.objects.get(pk=credential_id).digest) == hashlib.sha256(token.encode()).digest()
    assert scalar("SELECT c::text FROM tasks_credential c").find(token) == -1
    assert sql("SELECT e::text FROM tasks_event e WHERE e::text LIKE '%%' || %(token)s || '%%'", token=token) == []


def test_token_has_all_scopes_unless_told_otherwise(alice: Person) -> None:
    token, _ = store.create_token(alice.id, name="all", by=BY)

    caller = store.authenticate(token)

    assert caller is not None
    assert caller.scopes == {scope.value for scope in Scope}


@pytest.mark.parametrize("token", ["", "td_unknown", "td_\x00", "\ud800", "x" * 100_000])
def test_unknown_token_is_nobody(alice: Person, token: str) -> None:
    """check 103."""
    store.create_token(alice.id, name="laptop", by=BY)

    assert store.authenticate(token) is None


def test_expired_token_is_nobody(alice: Person, clock: DatabaseClock) -> None:
    token, _ = store.create_token(alice.id, name="short", by=BY, lifetime=timedelta(hours=1))

    clock.advance(timedelta(minutes=59))
    before = store.authenticate(token)
    clock.advance(timedelta(minutes=1))

    assert before is not None
    assert store.authenticate(token) is None


def test_revoked_token_is_nobody_at_once(alice: Person) -> None:
    token, credential_id = store.create_token(alice.id, name="laptop", by=BY)

    store.revoke_token(credential_id, owner_id=alice.id, by=alice.acts())

    assert store.authenticate(token) is None
    assert Credential.objects.get(pk=credential_id).revoked_at is not None


def test_token_of_a_deactivated_account_is_nobody_until_it_is_active_again(alice: Person) -> None:
    """check 103: the token itself is neither revoked nor expired."""
    token, _ = store.create_token(alice.id, name="laptop", by=BY)
    account = give_account(alice)
    before = store.authenticate(token)

    deactivate(account)
    meanwhile = store.authenticate(token)
    account.save()

    assert (before is None, meanwhile) == (False, None)
    assert store.authenticate(token) == before


def test_token_is_known_by_one_statement(alice: Person) -> None:
    token, _ = store.create_token(alice.id, name="laptop", by=BY)
    give_account(alice)
    store.authenticate(token)

    with CaptureQueriesContext(connection) as sent:
        store.authenticate(token)

    assert len(sent) == 1


def test_token_of_another_cannot_be_revoked(alice: Person, eve: Person) -> None:
    """check 104."""
    token, credential_id = store.create_token(alice.id, name="laptop", by=BY)

    with pytest.raises(NotFound):
        store.revoke_token(credential_id, owner_id=eve.id, by=eve.acts())
    with pytest.raises(NotFound):
        store.revoke_token(credential_id + 1, owner_id=alice.id, by=alice.acts())

    assert store.authenticate(token) is not None


def test_token_is_revoked_once(alice: Person) -> None:
    _, credential_id = store.create_token(alice.id, name="laptop", by=BY)
    store.revoke_token(credential_id, owner_id=None, by=BY)

    with pytest.raises(NotFound):
        store.revoke_token(credential_id, owner_id=None, by=BY)


def test_tokens_leave_events_with_name_and_actor(alice: Person) -> None:
    _, credential_id = store.create_token(alice.id, name="lap\x00top", by=alice.acts(), scopes=[Scope.READ])
    store.revoke_token(credential_id, owner_id=alice.id, by=alice.acts(reason="lost it"))

    events = sql("SELECT kind, owner_id, actor ->> 'reason', detail ->> 'name', task_id FROM tasks_event ORDER BY id")

    assert events == [
        ("token_created", alice.id, None, "lap\ufffdtop", None),
        ("token_revoked", alice.id, "lost it", "lap\ufffdtop", None),
    ]


def test_last_use_is_written_at_most_once_a_minute(alice: Person, clock: DatabaseClock) -> None:
    token, credential_id = store.create_token(alice.id, name="laptop", by=BY)
    first = clock.advance(timedelta(0))
    store.authenticate(token)
    clock.advance(timedelta(seconds=59))

    with CaptureQueriesContext(connection) as soon:
        store.authenticate(token)
    used = Credential.objects.get(pk=credential_id).used_at
    clock.advance(timedelta(seconds=2))
    store.authenticate(token)

    assert (used, len(soon)) == (first, 1)
    assert Credential.objects.get(pk=credential_id).used_at == first + timedelta(seconds=61)
