"""`manage.py demo_client`: the demo as a client of its own, with tokens that end with it. Run by `manage.py up`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import connection

from console.first_run import find_accounts
from console.management.address import site_address
from tasks_app import store
from tasks_app.client.demo import Demo
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor
from tasks_app.store import credentials, demo

ACTOR = Actor.system(via="demo_client")
ENDPOINT = "mcp"


class Command(BaseCommand):
    """Calls demo tools through the endpoint until it is told to stop."""

    help = "Call the demo tools through the MCP endpoint, every few minutes, until a stop signal."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Play the demo; without the accounts that it needs there is nothing to do but wait."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        never = threading.Event()
        accounts = find_accounts()
        if accounts.admin is None or accounts.demo is None:
            never.wait()
            return
        _revoke(credentials.demo_tokens())
        is_begun = demo.has_live()
        with _token(accounts.admin) as token, _token(accounts.demo) as other:
            connection.close()  # not needed for hours, and one less for the database to keep
            Demo(site_address() + ENDPOINT, token, other).run(never, is_begun=is_begun)


def _end(number: int, _frame: object) -> None:
    """Leave from wherever we are, by way of what revokes the tokens, which a second signal must not interrupt."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(0)


@contextlib.contextmanager
def _token(user: User) -> Iterator[str]:
    token, credential_id = store.create_token(store.owner_of(user), name=credentials.DEMO, by=ACTOR)
    try:
        yield token
    finally:
        _revoke([credential_id])


def _revoke(credential_ids: list[int]) -> None:
    for credential_id in credential_ids:
        # Its owner may have been quicker.
        with contextlib.suppress(NotFound):
            store.revoke_token(credential_id, owner_id=None, by=ACTOR)
