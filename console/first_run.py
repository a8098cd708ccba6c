"""What a new server needs before anybody can use it: the first accounts, and who greets whom.

Accounts are made once, when there are none at all; whoever changes or removes them later is not overruled. They have no
password: a login link is the way in, and the page of the password sets the first one.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from tasks_app import store
from tasks_app.domain.identity import Actor

ADMIN = "admin"
DEMO = "demo"
ACTOR = Actor.system(via="first_run")


@dataclass(frozen=True, slots=True)
class Accounts:
    """Who is shown in by the login link, and the second account of the demo, as far as they are there and active."""

    admin: User | None
    demo: User | None


def make_accounts(*, with_demo: bool) -> bool:
    """Make the first accounts, if there are none, and say whether they were made."""
    with transaction.atomic():
        if User.objects.exists():
            return False
        admin = _make(ADMIN, is_superuser=True)
        store.link_local(admin, by=ACTOR)
        if with_demo:
            _make(DEMO)
    return True


def find_accounts() -> Accounts:
    """The administrator who came first, and the demo account."""
    active = User.objects.filter(is_active=True).order_by("pk")
    return Accounts(active.filter(is_superuser=True).first(), active.filter(username=DEMO, is_superuser=False).first())


def _make(name: str, *, is_superuser: bool = False) -> User:
    user = User(username=name, is_superuser=is_superuser, is_staff=is_superuser)
    user.set_unusable_password()
    user.save()
    store.record_event("account_created", by=ACTOR, owner_id=store.owner_of(user), detail={"name": name})
    return user
