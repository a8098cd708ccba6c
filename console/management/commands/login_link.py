"""`manage.py login_link`: another way in for somebody without a password, or who has lost theirs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from console.first_run import find_accounts
from console.login_link import link_for
from console.management.address import site_address
from tasks_app import store
from tasks_app.domain.identity import Actor

ACTOR = Actor.system(via="login_link")


class Command(BaseCommand):
    """Prints one link."""

    help = "Print a link that signs an account in once, within a quarter of an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whom to sign in, and where."""
        parser.add_argument("account", nargs="?", help="the name of the account (default: the first administrator)")
        parser.add_argument("--site", help="the address of the site, when it is not the one of the settings")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the link, and record that there is one."""
        name = options["account"]
        user = User.objects.filter(username=name, is_active=True).first() if name else find_accounts().admin
        if user is None:
            raise CommandError(f"There is no active account “{name}”." if name else "No administrator is active.")
        store.record_event("login_link_made", by=ACTOR, owner_id=store.owner_of(user))
        self.stdout.write(link_for(user, site=options["site"] or site_address()))
