"""`manage.py export_audit`: the audit log or the expirations as a file, with its manifest."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from console import export
from console.export import Export, Format, plain
from tasks_app.domain.identity import Actor
from tasks_app.domain.text import clean_text
from tasks_app.management.progress import Progress
from tasks_app.store import audit, expirations, search

OF_EVENTS, OF_RECORDS = ("task", "action"), ("tool", "kind")
FILTERS = ("since", "until", "owner", *OF_EVENTS, *OF_RECORDS)
ANYWHERE_ELSE = {"audit": OF_RECORDS, "expirations": OF_EVENTS, "purged": OF_EVENTS}
LONGEST = 200


class Command(BaseCommand):
    """Writes every row that matches, in constant memory; the export is itself recorded."""

    help = "Export the audit log or the expiration records as JSON Lines or CSV, with a manifest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The same filter as on the pages."""
        parser.add_argument("--what", choices=["audit", "expirations", "purged"], default="audit")
        parser.add_argument("--format", choices=[each.value for each in Format], default="jsonl")
        parser.add_argument("--since", help="From this time on, ISO 8601; UTC unless it says otherwise.")
        parser.add_argument("--until", help="Before this time.")
        parser.add_argument("--owner", help="Only what belongs to this owner.")
        parser.add_argument("--task", help="Only this task (audit).")
        parser.add_argument("--action", help="Only this kind of event (audit).")
        parser.add_argument("--tool", help="Only tasks of this tool (expirations, purged).")
        kinds = [kind.value for kind in expirations.Kind]
        parser.add_argument("--kind", choices=kinds, help="Only this sort of expiry (expirations, purged).")
        parser.add_argument("--output", help="The file; its manifest stands beside it. Without it: standard output.")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Write the file and its manifest, and say how much it was."""
        source = _source(options)
        taken = Export(source, Format(options["format"]), Actor.system(via="export_audit"))
        taken.begin()
        output = options["output"]
        if output is None:
            for piece in taken.chunks():
                sys.stdout.buffer.write(piece)
            self.stderr.write(json.dumps(_manifest(taken), indent=2))
            return
        with Path(output).open("wb") as file, Progress(self.stderr, "Exporting") as progress:
            for piece in taken.chunks():
                file.write(piece)
                progress.show(taken.rows)
        beside = Path(f"{output}.manifest.json")
        beside.write_text(json.dumps(_manifest(taken), indent=2) + "\n")
        self.stdout.write(f"{taken.rows} rows in {output}, manifest in {beside.name}.")


def _manifest(taken: Export) -> dict[str, Any]:
    return {**taken.summary(), "exporter": "export_audit", "finished_at": plain(datetime.now(UTC))}


def _source(options: dict[str, Any]) -> export.Source:
    since, until, owner = _time(options["since"]), _time(options["until"]), _owner(options["owner"])
    what = options["what"]
    if foreign := [name for name in ANYWHERE_ELSE[what] if options[name] is not None]:
        raise CommandError(f"--{foreign[0]} says nothing about --what {what}.")
    words = {name: _word(options[name]) for name in FILTERS if options[name] is not None}
    if what == "audit":
        kind, task_id = options["action"] or "", _uuid(options["task"])
        events = audit.Wanted(scope=owner, task_id=task_id, kind=kind, since=since, until=until)
        return export.log(events, words=words)
    sort = None if options["kind"] is None else expirations.Kind(options["kind"])
    wanted = expirations.Wanted(scope=owner, since=since, until=until, tool=options["tool"] or "", kind=sort)
    return (export.expired if what == "expirations" else export.purged)(wanted, words=words)


def _word(value: str) -> str:
    return clean_text(value, LONGEST)


def _uuid(text: str | None) -> UUID | None:
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise CommandError(f"{text} is no task id.") from None


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text} is no time. Write it as 2026-11-18 or 2026-11-18T12:00:00Z.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _owner(name: str | None) -> int | None:
    if name is None:
        return None
    found = search.owners_named([name])[name]
    if len(found) != 1:
        raise CommandError(f"There {'is no owner' if not found else 'are several owners'} called {name}.")
    return found[0]
