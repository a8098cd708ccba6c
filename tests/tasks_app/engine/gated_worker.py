"""The worker of the product with one more Celery task: it occupies a child for as long as a test wants."""

from __future__ import annotations

import time

from django.db import connection

from console.celery import app

GATE = 4711
OCCUPY = "tests.occupy"
LONGEST_SECONDS = 30.0

__all__ = ["app"]


def _occupy() -> None:
    """Show the worker's name to the database, then wait until the test opens the gate."""
    from tasks_app.engine.worker import worker_id  # needs Django's apps, which are not there yet when Celery loads us

    deadline = time.monotonic() + LONGEST_SECONDS
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [worker_id()])
        while time.monotonic() < deadline:
            cursor.execute("SELECT pg_try_advisory_lock_shared(%s)", [GATE])
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)


app.task(_occupy, name=OCCUPY)
