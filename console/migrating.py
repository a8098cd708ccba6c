"""While migrations run: no limit on a statement, because an index on a large table takes its time, and a bounded wait.

The limits of the settings are for requests and duties. A migration that cannot get its lock soon gives up: everything
that comes after it for the same table would wait with it.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

LIMITS = {"statement_timeout": "0", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "0"}

_lifted: set[str] = set()


def connect(app: AppConfig) -> None:
    """Lift the limits for every run of `migrate`, from before its first migration to after its last."""
    pre_migrate.connect(_lift, sender=app)
    post_migrate.connect(_restore, sender=app)


def _lift(*, using: str, **_: Any) -> None:
    _lifted.add(using)
    with connections[using].cursor() as cursor:
        for name, value in LIMITS.items():
            cursor.execute("SELECT set_config(%s, %s, false)", [name, value])


def _restore(*, using: str, **_: Any) -> None:
    # Also sent when tables are emptied, and then there is nothing to restore.
    if using not in _lifted:
        return
    _lifted.remove(using)
    with connections[using].cursor() as cursor:
        for name in LIMITS:
            cursor.execute(f"RESET {name}")
