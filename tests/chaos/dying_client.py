"""A client that dies with its create: `python -m tests.chaos.dying_client before|after KEY OWNER LEDGER`."""

from __future__ import annotations

import os
import sys

import django

EXIT_CODE = 9


def main(when: str, key: str, owner: str, ledger: str) -> None:
    """Create a task and die, just before or just after the commit."""
    django.setup()

    from django.db import transaction

    from tasks_app import store

    new = store.NewTask(owner_id=int(owner), tool="work", arguments={"ledger": ledger}, key=key)
    if when == "after":
        store.create(new)
        os._exit(EXIT_CODE)
    with transaction.atomic():
        store.create(new)
        os._exit(EXIT_CODE)


if __name__ == "__main__":
    main(*sys.argv[1:])
