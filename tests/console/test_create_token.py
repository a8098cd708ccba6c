"""`manage.py create_token`: one token, printed once, for an account."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from console.access import Role, principal_of
from tasks_app import store
from tasks_app.domain.identity import Scope
from tasks_app.models import Credential, Event
from tests.conftest import DatabaseClock


def create_token(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_user("ana")


def test_token_is_all_there_is_on_standard_output(ana: User) -> None:
    out, err = create_token("laptop", "--owner", "ana")

    token = out.removesuffix("\n")
    caller = store.authenticate(token)
    assert caller is not None
    assert caller.owner_id == store.owner_of(ana)
    assert token not in err
    assert "laptop" in err
    assert "ana" in err


def test_token_allows_everything_until_revoked_by_default(ana: User) -> None:
    create_token("laptop", "--owner", "ana")

    made = Credential.objects.get()
    assert made.scopes == sorted(scope.value for scope in Scope)
    assert made.expires_at is None


def test_token_has_the_scopes_that_are_named(ana: User) -> None:
    out, _ = create_token("watcher", "--owner", "ana", "--scope", "tasks:read", "tasks:cancel", "--scope", "tasks:read")

    caller = store.authenticate(out.strip())
    assert caller is not None
    assert caller.scopes == {"tasks:read", "tasks:cancel"}


def test_token_with_days_ends_with_them(ana: User, clock: DatabaseClock) -> None:
    out, _ = create_token("laptop", "--owner", "ana", "--days", "3")

    clock.advance(timedelta(days=3) - timedelta(minutes=1))
    before = store.authenticate(out.strip())
    clock.advance(timedelta(minutes=2))

    assert before is not None
    assert store.authenticate(out.strip()) is None


def test_account_is_made_when_asked_for_and_nobody_can_sign_in_with_it(db: None) -> None:
    out, _ = create_token("robot", "--owner", "robo", "--create-owner")

    user = User.objects.get(username="robo")
    caller = store.authenticate(out.strip())
    assert caller is not None
    assert caller.owner_id == store.owner_of(user)
    assert not user.has_usable_password()


def test_account_that_exists_is_used_when_making_it_is_allowed(ana: User) -> None:
    create_token("laptop", "--owner", "ana", "--create-owner")

    assert User.objects.get() == ana


def test_account_gets_the_roles_and_the_audit_log_says_so(ana: User) -> None:
    create_token("laptop", "--owner", "ana", "--role", "operator", "--role", "auditor")

    assert principal_of(ana).roles == {Role.OWNER, Role.OPERATOR, Role.AUDITOR}
    given = Event.objects.filter(kind="role_given").order_by("id")
    assert [event.detail["role"] for event in given] == ["operator", "auditor"]
    assert {event.actor["via"] for event in given} == {"create_token"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("laptop", "--owner", "nobody"), "no account “nobody”.*--create-owner"),
        ((" ", "--owner", "ana"), "name"),
        (("laptop", "--owner", "ana", "--days", "0"), "--days must be from 1"),
        (("laptop", "--owner", "ana", "--days", "999999999"), "--days must be from 1"),
        (("laptop", "--owner", "ana", "--scope", "tasks:fly"), "invalid choice: 'tasks:fly'"),
        (("laptop", "--owner", "ana", "--role", "owner"), "invalid choice: 'owner'"),
        (("laptop", "--owner", "a b/c", "--create-owner"), "cannot be an account"),
        (("laptop",), "--owner"),
    ],
)
def test_mistake_is_told_plainly_and_nothing_is_made(ana: User, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        create_token(*arguments)

    assert not Credential.objects.exists()
    assert User.objects.count() == 1


def test_account_that_is_not_active_gets_no_token(ana: User) -> None:
    User.objects.update(is_active=False)

    with pytest.raises(CommandError, match="not active"):
        create_token("laptop", "--owner", "ana")

    assert not Credential.objects.exists()
