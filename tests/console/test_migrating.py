"""Migrations: each can be taken back and done again, and none runs under the limits of a request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.models.signals import pre_migrate
from psycopg import sql

from tests.processes import PROJECT, database_url

SCRATCH = f"taskdeck_scratch_{os.getpid()}"
# Everything that a migration of ours makes, as the database itself would write it down.
SCHEMA = """
SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || coalesce(' ' || column_default, '')
  FROM information_schema.columns WHERE table_schema = 'public' AND table_name LIKE 'tasks%'
 UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid::regclass::text LIKE 'tasks%'
 UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid)
             FROM pg_constraint WHERE conrelid::regclass::text LIKE 'tasks%'
 UNION ALL SELECT pg_get_triggerdef(oid)
             FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'tasks%' AND NOT tgisinternal
 UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND (proname LIKE 'tasks%' OR proname LIKE 'pgtrigger_%')
"""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scratch(transactional_db: None) -> Iterator[str]:
    """The address of an empty database."""
    name = sql.Identifier(SCRATCH)
    with psycopg.connect(database_url(name="postgres"), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield database_url(name=SCRATCH)
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def migrate(address: str, *target: str) -> None:
    """Run the command as an operator does."""
    environment = {"DJANGO_SETTINGS_MODULE": "console.settings.test", "DATABASE_URL": address}
    command = [sys.executable, "manage.py", "migrate", "--noinput", *target]
    done = subprocess.run(
        command, cwd=PROJECT, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def schema(address: str) -> list[str]:
    """All that there is of our tables."""
    with psycopg.connect(address) as database:
        return sorted(line for [line] in database.execute(SCHEMA))


def test_every_migration_is_taken_back_and_done_again(scratch: str) -> None:
    migrate(scratch)
    made = schema(scratch)

    migrate(scratch, "tasks", "zero")
    nothing = schema(scratch)
    migrate(scratch)

    # The library leaves the functions of its triggers behind, which nothing calls any more.
    assert [line for line in nothing if "FUNCTION public.pgtrigger_" not in line] == []
    assert len(made) > 100
    assert schema(scratch) == made


def test_migrations_run_without_the_limits_of_a_request() -> None:
    """An index on a large table takes longer than a statement of ours may; the wait for a lock stays bounded."""
    seen: dict[str, str] = {}

    def look(**_: Any) -> None:
        seen.update(limits())

    console = apps.get_app_config("console")
    pre_migrate.connect(look, sender=console)
    try:
        call_command("migrate", verbosity=0)
    finally:
        pre_migrate.disconnect(look, sender=console)

    assert seen == {"statement_timeout": "0", "lock_timeout": "10s"}
    assert limits() == {"statement_timeout": "5s", "lock_timeout": "2s"}


def limits() -> dict[str, str]:
    """What bounds a statement on this connection now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
        statement, lock = cursor.fetchone()
    return {"statement_timeout": statement, "lock_timeout": lock}
