"""`manage.py seed`: many realistic tasks in little time, for tests, benchmarks and a look at a full console."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_app.management.progress import Progress
from tasks_app.store.seed import AlreadySeeded, Plot, load


class Command(BaseCommand):
    """Loads tasks through the same rules that guard every other write."""

    help = "Load realistic tasks of invented owners (seed-1, seed-2 …). For tests and benchmarks, not for production."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How many of what, and how to get the same again."""
        parser.add_argument("--tasks", type=int, required=True, help="how many tasks to load")
        parser.add_argument(
            "--owners", type=int, help="among how many owners (default: one for 500 tasks, at least 10)"
        )
        parser.add_argument("--seed", type=int, help="the same number gives the same tasks in another database")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print how many tasks were loaded, and the number that gives the same again."""
        tasks, owners = options["tasks"], options["owners"]
        if tasks < 1 or (owners is not None and owners < 1):
            raise CommandError("Load at least one task, for at least one owner.")
        seed = secrets.randbelow(2**31) if options["seed"] is None else options["seed"]
        plot = Plot(tasks=tasks, owners=owners or max(10, tasks // 500), seed=seed)
        try:
            with Progress(self.stderr, "Seeding", total=tasks) as progress:
                for done in load(plot):
                    progress.show(done)
        except AlreadySeeded:
            raise CommandError(f"The tasks of --seed {seed} are here already. Give another number, or none.") from None
        self.stdout.write(f"Loaded {tasks} tasks of {plot.owners} owners (--seed {seed}).")
