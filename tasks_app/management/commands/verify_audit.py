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
    """Only reads, but for a note and an entry of what it found; it may run beside everything else."""

    help = "Verify the chain over events and expiration records; exit code 1 when it does not hold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to begin."""
        parser.add_argument(
            "--since", help="begin with the batch of this time (2026-11-01, or with a time), or with this batch number"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print up to where the log is in order, with the hash there; or what is broken."""
        last = chain.chain_state().sealed or 0
        since = _first(options["since"])
        # Nothing to look at is still a look at whether the end of the chain is where it was.
        first = last + 1 if since is None else min(since, last + 1)
        verdict = self._verify(first, total=last - first + 1)
        if verdict.broken is not None:
            row = "" if verdict.broken.row is None else f", event {verdict.broken.row}"
            self.stderr.write(f"Broken: batch {verdict.broken.batch}{row}: {verdict.broken.what}.")
            raise SystemExit(BROKEN)
        if verdict.batch < first:
            self.stdout.write("Nothing is sealed yet." if options["since"] is None else "Nothing is sealed since then.")
            return
        begin = "" if first == 1 else f" from batch {first}"
        self.stdout.write(f"In order{begin} through batch {verdict.batch}, event {verdict.event}.")
        self.stdout.write(f"Head: {verdict.head.hex()}")

    def _verify(self, first: int, *, total: int) -> Verdict:
        """All of it, noted and recorded; a watcher sees how far it is."""
        with Progress(self.stderr, "Verifying", total=max(total, 0)) as progress:
            return chain.verify_now(
                by=Actor.system(via="verify_audit"), first=first, watch=lambda batch: progress.show(batch - first + 1)
            )


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
