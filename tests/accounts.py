"""Accounts of the people of the tests: an owner may be linked to one, which somebody may deactivate."""

from __future__ import annotations

from django.contrib.auth.models import User

from tasks_app.models import Owner
from tests.conftest import Person


def give_account(person: Person) -> User:
    """Link an owner to an account of the same name, which is active."""
    account = User.objects.create_user(f"{person.name}-account")
    Owner.objects.filter(pk=person.id).update(user=account)
    return account


def deactivate(account: User) -> None:
    """Lock an account out, as an admin does."""
    User.objects.filter(pk=account.pk).update(is_active=False)
