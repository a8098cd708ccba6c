"""`manage.py create_token`: a token for a client, from the command line. Only the token goes to standard output."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from console.access import GROUPS, Role
from tasks_app import store
from tasks_app.domain.identity import Actor, Scope
from tasks_app.domain.text import clean_text
from tasks_app.store.identity import NAME_CHARACTERS

MOST_DAYS = 3650
ACTOR = Actor.system(via="create_token")


class Command(BaseCommand):
    """Makes one token and prints it once."""

    help = "Make an access token for a client and print it: it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose token, what it is called, what it allows and for how long."""
        parser.add_argument("name", help="what the token is for, as its owner will read it in the list of tokens")
        parser.add_argument("--owner", required=True, metavar="USER", help="the account whose tasks the client sees")
        parser.add_argument("--create-owner", action="store_true", help="make the account when there is none")
        parser.add_argument(
            "--role", action="extend", nargs="+", default=[], choices=[role.value for role in GROUPS],
            help="also give the account this role in the console",
        )  # fmt: skip
        parser.add_argument(
            "--scope", action="extend", nargs="+", default=[], choices=[scope.value for scope in Scope],
            help="what the token allows (default: everything)",
        )  # fmt: skip
        parser.add_argument("--days", type=int, help="for how many days it is valid (default: until it is revoked)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the token, and on standard error what it is."""
        name = clean_text(options["name"], NAME_CHARACTERS).strip()
        if not name:
            raise CommandError("Give the token a name, for example: create_token laptop --owner ana")
        lifetime = _lifetime(options["days"])
        scopes = [Scope(scope) for scope in options["scope"]] or list(Scope)
        with transaction.atomic():
            user = _account(options["owner"], may_make=options["create_owner"])
            _give_roles(user, [Role(role) for role in options["role"]])
            owner_id = store.owner_of(user)
            token, _ = store.create_token(owner_id, name=name, by=ACTOR, scopes=scopes, lifetime=lifetime)
        self.stdout.write(token)
        until = f"valid for {options['days']} days" if lifetime else "valid until it is revoked"
        allowed = ", ".join(sorted(set(scopes)))
        said = f"Token “{name}” of {user.get_username()}: {allowed}; {until}. Keep it: it is shown only now."
        # Standard error is for people here, not for errors: without the red.
        self.stderr.write(said, style_func=str)


def _lifetime(days: int | None) -> timedelta | None:
    if days is None:
        return None
    if not 1 <= days <= MOST_DAYS:
        raise CommandError(f"--days must be from 1 to {MOST_DAYS}.")
    return timedelta(days=days)


def _account(username: str, *, may_make: bool) -> User:
    user = User.objects.filter(username=username).first()
    if user is None and may_make:
        return _make_account(username)
    if user is None:
        raise CommandError(f"There is no account “{username}”. Check the name, or add --create-owner to make it.")
    if not user.is_active:
        raise CommandError(f"The account “{username}” is not active, so a token of it would not work.")
    return user


def _make_account(username: str) -> User:
    user = User(username=username)
    # Nobody can sign in with it until an admin sets a password.
    user.set_unusable_password()
    try:
        user.full_clean()
    except ValidationError as error:
        raise CommandError(f"“{username}” cannot be an account: {' '.join(error.messages)}") from None
    user.save()
    return user


def _give_roles(user: User, roles: list[Role]) -> None:
    for role in roles:
        group, _ = Group.objects.get_or_create(name=role.value)
        user.groups.add(group)
        store.record_event("role_given", by=ACTOR, owner_id=store.owner_of(user), detail={"role": role.value})
