"""`manage.py purge`: what the engine loop does anyway, now and to the end: delete tasks whose retention is over."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.management.progress import Progress

ACTOR = Actor.system(via="purge")


class Command(BaseCommand):
    """Purges in batches, each its own transaction; safe to stop, to repeat and to run beside the engine."""

    help = "Delete every expired task whose retention is over. Its record and its events stay."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print how many tasks were deleted."""
        done = 0
        with Progress(self.stderr, "Purging") as progress:
            while batch := store.purge(by=ACTOR):
                done += batch
                progress.show(done)
        self.stdout.write(f"Purged {done} task{'' if done == 1 else 's'}.")
