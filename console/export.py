"""Exports: what a filter shows, all of it, as CSV or JSON Lines, in constant memory, and on record.

Rows are read by keyset, a batch at a time, each in a short transaction of its own: a download may take hours, and no
transaction of ours may live that long. The beginning is recorded before the first byte leaves, the end with the number
of rows and the SHA-256 of the file; together they are the manifest. See docs/decisions/0005-exports.md.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from console import records
from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.store import audit, expirations, search
from tasks_app.store.search import Place

BATCH = 1000
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}",
           "\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}")  # fmt: skip

Row = Mapping[str, Any]
T = TypeVar("T")
C = TypeVar("C")


class Format(StrEnum):
    """How an export is written."""

    CSV = "csv"
    JSONL = "jsonl"


TYPES = {Format.CSV: "text/csv; charset=utf-8", Format.JSONL: "application/x-ndjson; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Source:
    """What is exported: its name, the filter in words, the columns, and the rows in batches."""

    what: str
    filter: Mapping[str, str]
    columns: Sequence[str]
    batches: Iterable[Sequence[Row]]


@dataclass(slots=True)
class Export:
    """One export: who takes what away, and how much of it has gone."""

    source: Source
    format: Format
    by: Actor
    owner_id: int | None = None
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    rows: int = 0
    size: int = 0
    is_complete: bool = False
    _digest: Any = field(default_factory=hashlib.sha256)

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"taskdeck-{self.source.what}-{str(self.id)[:8]}.{self.format.value}"

    def begin(self) -> None:
        """Put on record that it begins; nothing may leave before that."""
        self._record(audit.EXPORT_BEGUN, self._asked())

    def chunks(self) -> Generator[bytes, None, None]:
        """The file, piece by piece. However it ends, that is put on record."""
        try:
            yield from self._pieces()
            self.is_complete = True
        finally:
            self._record(audit.EXPORT_DONE, self.summary())

    def summary(self) -> dict[str, Any]:
        """How much it was, as its last event says."""
        size = {"rows": self.rows, "bytes": self.size, "sha256": self._digest.hexdigest()}
        return {**self._asked(), **size, "complete": self.is_complete}

    def _asked(self) -> dict[str, Any]:
        asked = {"what": self.source.what, "format": self.format.value, "filter": dict(self.source.filter)}
        return {"export": str(self.id), **asked}

    def _pieces(self) -> Iterator[bytes]:
        if self.format is Format.CSV:
            yield self._count(_csv([self.source.columns]))
        for batch in self.source.batches:
            self.rows += len(batch)
            yield self._count(self._written(batch))

    def _written(self, batch: Sequence[Row]) -> bytes:
        if self.format is Format.CSV:
            return _csv([_cell(row.get(name)) for name in self.source.columns] for row in batch)
        lines = ({name: plain(row.get(name)) for name in self.source.columns} for row in batch)
        return "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines).encode("ascii")

    def _count(self, piece: bytes) -> bytes:
        self.size += len(piece)
        self._digest.update(piece)
        return piece

    def _record(self, kind: str, detail: Mapping[str, Any]) -> None:
        store.record_event(kind, by=self.by, owner_id=self.owner_id, detail=detail)


def manifest(begun: audit.Entry, done: audit.Entry | None, *, exporter: str) -> dict[str, Any]:
    """What an export was, out of the two events that it left; the digest is that of the file, byte by byte."""
    said = begun.detail if done is None else done.detail
    return {
        **{name: said.get(name) for name in ("export", "what", "format", "filter", "rows", "bytes", "sha256")},
        "complete": bool(said.get("complete", False)),
        "exporter": exporter,
        "began_at": plain(begun.at),
        "finished_at": None if done is None else plain(done.at),
        "events": [begun.id] if done is None else [begun.id, done.id],
    }


def plain(value: Any) -> Any:
    """A value as JSON has it: times in UTC, to the microsecond."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, uuid.UUID) else value


def _csv(lines: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(lines)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    """A value as a cell. Text that a spreadsheet would run as a formula gets an apostrophe in front."""
    told = plain(value)
    if isinstance(told, Mapping | list | tuple):
        return json.dumps(told, ensure_ascii=True)
    if isinstance(told, str) and told.startswith(FORMULA):
        return "'" + told
    return told


def _all(read: Callable[[C | None], tuple[Sequence[T], C | None]]) -> Iterator[Sequence[T]]:
    """Every batch, from the first place to the last."""
    place: C | None = None
    while True:
        found, place = read(place)
        if found:
            yield found
        if place is None:
            return


TASK = ("id", "owner", "tool", "status", "outcome", "status_message", "created_at", "updated_at", "finished_at",
        "expires_at", "held", "attempt", "retries", "losses", "open_questions", "client", "request_id")  # fmt: skip


def tasks(filter_: search.Filter, *, owner_id: int | None, sort: search.Sort, words: Mapping[str, str]) -> Source:
    """The tasks that a search finds."""

    def read(place: Place | None) -> tuple[Sequence[Row], Place | None]:
        found = search.find(filter_, owner_id=owner_id, sort=sort, after=place, limit=BATCH)
        names = search.owner_names(list({task.owner_id for task in found.tasks}))
        shown = [
            {name: getattr(task, name, None) for name in TASK} | {"owner": names.get(task.owner_id)}
            for task in found.tasks
        ]
        return shown, found.following

    return Source("tasks", words, TASK, _all(read))


RECORD = ("task_id", "owner", "owner_id", "tool", "client", "credential_id", "status_then", "status", "outcome",
          "was_live", "created_at", "finished_at", "due_at", "observed_at", "late_seconds", "ttl_fixed", "ttl_changes",
          "extended_times", "extended_by", "cancelled_by", "fetched_times", "first_fetched_at", "last_fetched_at",
          "fetched_by", "unanswered", "payload_bytes", "payload_sizes", "payload_sha256", "policy_version", "is_kept",
          "held", "purged_at")  # fmt: skip


def expired(wanted: expirations.Wanted, *, words: Mapping[str, str]) -> Source:
    """The records of what expired."""

    def read(place: expirations.Place | None) -> tuple[Sequence[Row], expirations.Place | None]:
        found = expirations.page(wanted, after=place, limit=BATCH)
        return _records(found.records), found.following

    return Source("expirations", words, RECORD, _all(read))


def purged(wanted: expirations.Wanted, *, words: Mapping[str, str]) -> Source:
    """The records of what was purged."""

    def read(place: int | None) -> tuple[Sequence[Row], int | None]:
        found, following = expirations.purged(wanted, after=place, limit=BATCH)
        return _records(found), following

    return Source("purged", words, RECORD, _all(read))


def _records(found: Sequence[expirations.Record]) -> list[Row]:
    extended = [[change["by"] for change in each.ttl_changes if change.get("why") == "extended"] for each in found]
    names = records.names_for(extended, owners={each.owner_id for each in found}, tokens=())
    return [
        {name: getattr(each, name, None) for name in RECORD}
        | {
            "owner": names.owner(each.owner_id),
            "late_seconds": (each.observed_at - each.due_at).total_seconds(),
            "status_then": records.status_then(each).value,
            "extended_by": ", ".join(records.who(by, names, owner_id=each.owner_id) for by in actors),
        }
        for each, actors in zip(found, extended, strict=True)
    ]


EVENT = ("id", "at", "kind", "task_id", "owner", "owner_id", "by", "actor_kind", "role", "reason", "via", "credential",
         "request", "from_status", "to_status", "attempt", "detail")  # fmt: skip


def log(wanted: audit.Wanted, *, words: Mapping[str, str]) -> Source:
    """The audit log."""

    def read(place: int | None) -> tuple[Sequence[Row], int | None]:
        found, following = audit.page(wanted, after=place, limit=BATCH)
        owners = {entry.owner_id for entry in found if entry.owner_id is not None}
        names = records.names_for([[entry.actor for entry in found]], owners=owners, tokens=())
        return [_event(entry, names) for entry in found], following

    return Source("audit", words, EVENT, _all(read))


def _event(entry: audit.Entry, names: records.Names) -> Row:
    acted = {name: entry.actor.get(name) for name in ("role", "reason", "via", "credential", "request")}
    return {
        **{name: getattr(entry, name, None) for name in EVENT},
        **acted,
        "actor_kind": entry.actor.get("kind"),
        "by": records.who(entry.actor, names, owner_id=entry.owner_id),
        "owner": names.owner(entry.owner_id),
    }
