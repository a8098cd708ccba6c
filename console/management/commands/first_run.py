"""`manage.py first_run`: the first accounts, and the link that shows the administrator in. Run by `manage.py up`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from console.first_run import find_accounts, make_accounts
from console.login_link import LIFETIME_SECONDS, link_for
from console.management.address import site_address
from tasks_app.conf import conf


class Command(BaseCommand):
    """Makes the accounts of a new server and prints a login link."""

    help = "Make the first accounts of a new server, and print a link that signs the administrator in once."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print what a newcomer needs, and nothing when there is nobody to show in."""
        make_accounts(with_demo=conf().demo)
        admin = find_accounts().admin
        if admin is None:
            self.stdout.write("No administrator is active. Make one: manage.py createsuperuser")
            return
        self.stdout.write(f"Sign in: {link_for(admin, site=site_address())}")
        minutes = LIFETIME_SECONDS // 60
        self.stdout.write(f"The link works once, for {minutes} minutes. For another: manage.py login_link")
