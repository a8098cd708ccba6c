"""`manage.py expire`: what the engine loop does anyway, now and to the end: expire every task past its time."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.management.progress import Progress

ACTOR = Actor.system(via="expire")


class Command(BaseCommand):
    """Expires in batches, each its own transaction; safe to stop, to repeat and to run beside the engine."""

    help = "Expire every task past its time: end the live ones and write the record of each."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print how many tasks were expired."""
        done = 0
        with Progress(self.stderr, "Expiring") as progress:
            while batch := store.expire(by=ACTOR):
                done += batch
                progress.show(done)
        self.stdout.write(f"Expired {done} task{'' if done == 1 else 's'}.")
