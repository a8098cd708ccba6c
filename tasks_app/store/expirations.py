"""What expired and what was purged, as an auditor reads it: records, their summary, and who they belong to.

Only reads. A record is never changed, so what is said of its task (whether it is still kept, held, purged) stands beside
it. Every count stops at a limit: it must not grow with the history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from tasks_app.store import codec
from tasks_app.store.db import Row, row, rows

MOST_COUNTED = 10_001
"""Counts are exact up to one less; whoever shows a larger one says "and more"."""
MOST_GROUPS = 8


class Kind(StrEnum):
    """What sort of expiry somebody looks for."""

    WORKING = "working"
    """It expired while it worked."""

    WAITING = "waiting"
    """It expired while it waited for a person."""

    FINISHED = "finished"
    """It had ended before."""

    UNFETCHED = "unfetched"
    """It had ended with something to read, and nobody ever read it."""

    EXTENDED = "extended"
    """Somebody had it kept for longer."""


_KINDS = {
    Kind.WORKING: "x.was_live AND x.status_then <> 'input_required'",
    Kind.WAITING: "x.was_live AND x.status_then = 'input_required'",
    Kind.FINISHED: "NOT x.was_live",
    # What was cancelled left nothing that could have been fetched.
    Kind.UNFETCHED: "x.fetched_times = 0 AND x.was_live = false AND x.outcome <> 'cancelled'",
    Kind.EXTENDED: "x.extended_times > 0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records; `scope` is whose the reader may see (None: everyone's), `owners` which of them they ask for."""

    scope: int | None
    since: datetime | None = None
    until: datetime | None = None
    owners: tuple[int, ...] | None = None
    tool: str = ""
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ends: the next one begins after this record."""

    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Record:
    """One expiration, with what became of its task since."""

    task_id: UUID
    owner_id: int
    credential_id: int | None
    tool: str
    client: str
    status: str
    outcome: str
    was_live: bool
    status_then: str
    created_at: datetime
    finished_at: datetime
    due_at: datetime
    observed_at: datetime
    ttl_fixed: bool
    ttl_changes: Sequence[Mapping[str, Any]]
    extended_times: int
    cancelled_by: Mapping[str, Any] | None
    fetched_times: int
    first_fetched_at: datetime | None
    last_fetched_at: datetime | None
    fetched_by: int | None
    unanswered: Sequence[Mapping[str, Any]]
    payload_bytes: int
    payload_sizes: Mapping[str, int]
    payload_sha256: bytes
    policy_version: int
    is_kept: bool
    """Whether the task with its payload is still there."""
    held: bool
    purged_at: datetime | None = None
    purged_under: int | None = None
    """The version of the policy that was in force then; only the record of one task says it."""


@dataclass(frozen=True, slots=True)
class Page:
    """Records, newest first, and where the next page begins (None: this was the last)."""

    records: tuple[Record, ...]
    following: Place | None


@dataclass(frozen=True, slots=True)
class Summary:
    """How many of what was looked for, and how the newest `MOST_COUNTED` of them split up."""

    expired: int
    working: int
    waiting: int
    finished: int
    unfetched: int
    extended: int

    @property
    def is_capped(self) -> bool:
        """Whether there are more than were counted: every number is then one of at least so many."""
        return self.expired >= MOST_COUNTED


_BESIDE = ("is_kept", "held", "purged_at", "purged_under")
_STORED = tuple(field.name for field in fields(Record) if field.name not in _BESIDE)
_JSON = tuple(_STORED.index(name) for name in ("ttl_changes", "cancelled_by", "unanswered", "payload_sizes"))
_DIGEST = _STORED.index("payload_sha256")
_COLUMNS = ", ".join(f"x.{name}" for name in _STORED)
_FROM = "tasks_expiration x LEFT JOIN tasks_task t ON t.id = x.task_id"
_FOUND = f"SELECT {_COLUMNS}, t.id IS NOT NULL, coalesce(t.held, false)"
_PURGE = """
LEFT JOIN LATERAL (
    SELECT e.at FROM tasks_event e WHERE e.task_id = x.task_id AND e.kind = 'purged' ORDER BY e.id LIMIT 1) purge ON true
"""
_PURGED_UNDER = """
CASE WHEN purge.at IS NOT NULL THEN
    coalesce((SELECT max(p.version) FROM tasks_policyversion p WHERE p.effective_from <= purge.at), 0) END
"""
_SUMMARY = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in _KINDS.values())


def page(wanted: Wanted, *, after: Place | None = None, limit: int) -> Page:
    """One page of the records that match, the latest expiry first."""
    where, params = _conditions(wanted)
    if after is not None:
        # The order is descending in time and ascending in the id, as the indexes have it.
        where += " AND x.observed_at <= %(at)s AND (x.observed_at < %(at)s OR x.task_id > %(id)s)"
        params |= {"at": after.at, "id": after.id}
    text = f"{_FOUND} FROM {_FROM} WHERE {where} ORDER BY x.observed_at DESC, x.task_id LIMIT {int(limit) + 1}"
    found = tuple(_record(each) for each in rows(text, params))
    last = found[limit - 1] if len(found) > limit else None
    return Page(found[:limit], None if last is None else Place(last.observed_at, last.task_id))


def purged(wanted: Wanted, *, after: int | None = None, limit: int) -> tuple[tuple[Record, ...], int | None]:
    """The records of tasks whose payload is gone, the latest purge first, and where the next page begins.

    The times that are wanted are those of the purge.
    """
    where, params = _conditions(wanted, at="e.at")
    text = f"""
        SELECT {_COLUMNS}, false, false, e.at, e.id FROM tasks_event e JOIN tasks_expiration x ON x.task_id = e.task_id
         WHERE e.kind = 'purged' AND {where} {"AND e.id < %(after)s" if after else ""}
         ORDER BY e.id DESC LIMIT {int(limit) + 1}
    """
    found = rows(text, {**params, "after": after})
    records = tuple(_record(each[:-1]) for each in found[:limit])
    return records, int(found[limit - 1][-1]) if len(found) > limit else None


def record_of(task_id: UUID, *, owner_id: int | None) -> Record | None:
    """The record of one task, of an owner or (None) of anyone."""
    text = f"""
        {_FOUND}, purge.at, {_PURGED_UNDER} FROM {_FROM} {_PURGE}
         WHERE x.task_id = %(task)s AND (%(owner)s::bigint IS NULL OR x.owner_id = %(owner)s)
    """
    found = row(text, {"task": task_id, "owner": owner_id})
    return None if found is None else _record(found)


def summary(wanted: Wanted) -> Summary:
    """How what was looked for splits up, whatever kind is looked at now."""
    where, params = _conditions(wanted, any_kind=True)
    found = row(
        f"SELECT count(*), {_SUMMARY} FROM (SELECT * FROM tasks_expiration x WHERE {where}"
        f" ORDER BY x.observed_at DESC, x.task_id LIMIT {MOST_COUNTED}) x",
        params,
    )
    return Summary(*found) if found else Summary(0, 0, 0, 0, 0, 0)


def by_owner(wanted: Wanted) -> list[tuple[int, int]]:
    """The owners with the most of what was looked for, and how many."""
    where, params = _conditions(wanted)
    found = rows(
        f"SELECT owner_id, count(*) AS n FROM (SELECT x.owner_id FROM tasks_expiration x WHERE {where}"
        f" ORDER BY x.observed_at DESC, x.task_id LIMIT {MOST_COUNTED}) x"
        f" GROUP BY owner_id ORDER BY n DESC, owner_id LIMIT {MOST_GROUPS}",
        params,
    )
    return [(int(owner_id), int(count)) for owner_id, count in found]


# From one tool to the next by the index: as many steps as there are tools, however many records.
_TOOLS = """
WITH RECURSIVE known (tool) AS (
    (SELECT tool FROM tasks_expiration ORDER BY tool LIMIT 1)
    UNION ALL
    SELECT (SELECT x.tool FROM tasks_expiration x WHERE x.tool > k.tool ORDER BY x.tool LIMIT 1) FROM known k WHERE k.tool IS NOT NULL)
SELECT tool FROM known WHERE tool IS NOT NULL
"""
_TOOLS_OF_OWNER = f"""
SELECT DISTINCT tool FROM (SELECT x.tool FROM tasks_expiration x WHERE x.owner_id = %(scope)s
                            ORDER BY x.observed_at DESC, x.task_id LIMIT {MOST_COUNTED}) x
"""


def tools(scope: int | None) -> list[str]:
    """The tools that records name: those of everyone, or those of an owner's newest records."""
    found = rows(_TOOLS) if scope is None else rows(_TOOLS_OF_OWNER, {"scope": scope})
    return sorted(tool for (tool,) in found)


def _conditions(wanted: Wanted, *, any_kind: bool = False, at: str = "x.observed_at") -> tuple[str, dict[str, Any]]:
    """The filter as the WHERE of a statement over records called `x`, with its parameters."""
    given = {
        "x.owner_id = %(scope)s": ("scope", wanted.scope),
        f"{at} >= %(since)s": ("since", wanted.since),
        f"{at} < %(until)s": ("until", wanted.until),
        "x.owner_id = ANY(%(owners)s)": ("owners", None if wanted.owners is None else list(wanted.owners)),
        "x.tool = %(tool)s": ("tool", wanted.tool or None),
    }
    used = {text: pair for text, pair in given.items() if pair[1] is not None}
    parts = [*used, *([_KINDS[wanted.kind]] if wanted.kind and not any_kind else [])]
    return " AND ".join(parts) or "true", dict(used.values())


def _record(found: Row) -> Record:
    values = list(found)
    for index in _JSON:
        if isinstance(values[index], str):
            values[index] = codec.decode(values[index])
    values[_DIGEST] = bytes(values[_DIGEST])
    return Record(*values)
