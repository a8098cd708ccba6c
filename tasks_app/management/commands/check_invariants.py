"""`manage.py check_invariants`: is everything true of the tables that must be true at any moment?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from tasks_app.store.db import atomic, rows
from tasks_app.store.invariants import INVARIANTS, LIMIT

# On large tables these read for minutes; nothing waits for them.
NO_TIMEOUT = "SELECT set_config('statement_timeout', '0', true)"
SHOWN = 5


class Command(BaseCommand):
    """Only reads, so it may run beside everything else."""

    help = "Check what must always be true of the tables; exit code 1 when something is not."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print each invariant with its verdict, and some of the rows that break it."""
        broken = sum(self._breaks(name, text) for name, text in INVARIANTS.items())
        if broken:
            self.stderr.write(f"{broken} of {len(INVARIANTS)} invariants are broken.")
            raise SystemExit(1)
        self.stdout.write(f"All {len(INVARIANTS)} invariants hold.")

    def _breaks(self, name: str, text: str) -> bool:
        with atomic():
            rows(NO_TIMEOUT)
            examples = [str(row[0]) for row in rows(f"{text} LIMIT {LIMIT}")]
        if not examples:
            self.stdout.write(f"ok      {name}")
            return False
        more = " …" if len(examples) > SHOWN else ""
        self.stdout.write(f"broken  {name}: {', '.join(examples[:SHOWN])}{more}", self.style.ERROR)
        return True
