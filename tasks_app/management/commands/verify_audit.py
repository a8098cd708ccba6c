"""`manage.py verify_audit`: is the audit log still what was sealed? Names the first batch and event that is not."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_app.domain.identity import Actor
from tasks_app.management.progress import Progress
from tasks_app.store import chain
from tasks_app.store.chain import Verdict

BROKEN = 1


class Command(BaseCommand):
    """Only reads, but for a note of what it found; it may run beside everything else."""

    help = "Verify the chain over events and expiration records; exit code 1 when it does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to begin."""
        parser.add_argument(
            "--since", help="begin with the batch of this time (2026-11-01, or with a time), or with this batch number"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print up to where the log is in order, with the hash there; or what is broken."""
        first = _first(options["since"])
        if first is None:
            self.stdout.write("Nothing is sealed since then.")
            return
        verdict = self._verify(first)
        if verdict.broken is not None:
            row = "" if verdict.broken.row is None else f", event {verdict.broken.row}"
            self.stderr.write(f"Broken: batch {verdict.broken.batch}{row}: {verdict.broken.what}.")
            raise SystemExit(BROKEN)
        if not verdict.batch:
            self.stdout.write("Nothing is sealed yet.")
            return
        begin = "" if first == 1 else f" from batch {first}"
        self.stdout.write(f"In order{begin} through batch {verdict.batch}, event {verdict.event}.")
        self.stdout.write(f"Head: {verdict.head.hex()}")

    def _verify(self, first: int) -> Verdict:
        """Piece by piece, so that a watcher sees how far it is; only a look at everything is noted."""
        if first == 1 and not self.stderr.isatty():
            return chain.verify_now(by=Actor.system(via="verify_audit"))
        total = (chain.chain_state().sealed or first) - first + 1
        begun = first
        with Progress(self.stderr, "Verifying", total=total) as progress:
            verdict = chain.verify(first=first, limit=chain.ROUND)
            while not verdict.is_complete:
                progress.show(verdict.batch - begun + 1)
                verdict = chain.verify(first=verdict.batch + 1, limit=chain.ROUND)
        return verdict


def _first(since: str | None) -> int | None:
    if since is None:
        return 1
    if since.isdigit():
        return max(int(since), 1)
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise CommandError("--since is a date (2026-11-01), a date with a time, or the number of a batch.") from None
    return chain.first_since(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
