"""Reading the audit log: by task, person, action and time, the newest first, by keyset.

Only reads. Numbers of events grow with time, so a range of times becomes a range of numbers by bisection, and no index on
the time has to be kept up to date while tasks run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tasks_app.models.event import PEOPLE
from tasks_app.store import codec
from tasks_app.store.db import Row, row, rows
from tasks_app.store.refusals import GRAVEST_FIRST, NOT_FOUND

SLACK = timedelta(minutes=10)
"""Events of transactions that overlap may stand in another order than their times; none of ours lives so long."""
REFUSED = "refused"
EXPORT_BEGUN = "export"
EXPORT_DONE = "export_finished"

_KIND = re.compile(r"[a-z_]{1,40}")
# In the words of the index, and as constants: it could not be used for parameters.
_PERSON = "(e.actor -> 'kind') IN ({}) AND (e.actor ->> 'id') = ANY(%(people)s)".format(
    ", ".join(f"'\"{kind}\"'::jsonb" for kind in PEOPLE)
)
# A refusal names its task in the detail only: its owner must not see that somebody tried.
_TASK = f"(e.task_id = %(task)s::uuid OR (e.kind = '{REFUSED}' AND jsonb_exists(e.detail -> 'tasks', %(task)s::uuid::text)))"
# The first number whose event is not before a moment.
_FIRST = """
(WITH RECURSIVE edge (lo, hi) AS (
    SELECT min(id), max(id) + 1 FROM tasks_event
    UNION ALL
    SELECT CASE WHEN probe.at < %({moment})s THEN probe.id + 1 ELSE lo END, CASE WHEN probe.at < %({moment})s THEN hi ELSE mid END
      FROM edge, LATERAL (SELECT (lo + hi) / 2 AS mid) middle,
           LATERAL (SELECT e.id, e.at FROM tasks_event e WHERE e.id >= mid ORDER BY e.id LIMIT 1) probe
     WHERE lo < hi)
 SELECT max(lo) FROM edge WHERE lo >= hi)
"""
_COLUMNS = "e.id, e.task_id, e.owner_id, e.kind, e.from_status, e.to_status, e.attempt, e.actor, e.detail, e.at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events; `scope` is whose rows the reader may see (None: all), the rest is what they ask for."""

    scope: int | None
    task_id: UUID | None = None
    people: tuple[int, ...] | None = None
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of the log."""

    id: int
    task_id: UUID | None
    owner_id: int | None
    kind: str
    from_status: str | None
    to_status: str | None
    attempt: int | None
    actor: Mapping[str, Any]
    detail: Mapping[str, Any]
    at: datetime


def page(wanted: Wanted, *, after: int | None = None, limit: int) -> tuple[list[Entry], int | None]:
    """One page of what happened, the newest first, and where the next one begins (None: this was the last)."""
    parts, params = _conditions(wanted)
    if after is not None:
        parts.append("e.id < %(after)s")
        params["after"] = after
    text = f"SELECT {_COLUMNS} FROM tasks_event e WHERE {' AND '.join(parts) or 'true'} ORDER BY e.id DESC LIMIT {int(limit) + 1}"
    found = [_entry(each) for each in rows(text, params)]
    if wanted.scope is not None:
        found = [_as_told(each) for each in found]
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def export_of(export_id: UUID, *, scope: int | None) -> tuple[Entry, Entry | None] | None:
    """The beginning and the end of an export, as the log has them; the end is missing while it runs."""
    text = f"""
        SELECT {_COLUMNS} FROM tasks_event e WHERE e.kind = '{{kind}}' AND e.detail ->> 'export' = %(export)s
           AND (%(scope)s::bigint IS NULL OR e.owner_id = %(scope)s) ORDER BY e.id DESC LIMIT 1
    """
    params = {"export": str(export_id), "scope": scope}
    begun, done = (row(text.format(kind=kind), params) for kind in (EXPORT_BEGUN, EXPORT_DONE))
    return None if begun is None else (_entry(begun), None if done is None else _entry(done))


def _conditions(wanted: Wanted) -> tuple[list[str], dict[str, Any]]:
    given: dict[str, tuple[str, Any]] = {
        "e.owner_id = %(scope)s": ("scope", wanted.scope),
        (_TASK if wanted.scope is None else "e.task_id = %(task)s"): ("task", wanted.task_id),
        _PERSON: ("people", None if wanted.people is None else [str(each) for each in wanted.people]),
        "e.at >= %(since)s": ("since", wanted.since),
        "e.at < %(until)s": ("until", wanted.until),
        f"e.id >= {_FIRST.format(moment='from_at')}": ("from_at", wanted.since and wanted.since - SLACK),
        f"e.id < {_FIRST.format(moment='to_at')}": ("to_at", wanted.until and wanted.until + SLACK),
    }
    used = {text: pair for text, pair in given.items() if pair[1] is not None}
    parts = list(used)
    if wanted.kind:
        parts.append(f"e.kind = '{wanted.kind}'" if _KIND.fullmatch(wanted.kind) else "false")
    return parts, dict(used.values())


def _as_told(entry: Entry) -> Entry:
    """An event as who was refused may see it: why a task was denied would say that there is one of somebody else."""
    if entry.kind != REFUSED or entry.detail.get("why") not in GRAVEST_FIRST:
        return entry
    told = {name: value for name, value in entry.detail.items() if name != "reasons"}
    return replace(entry, detail={**told, "why": NOT_FOUND})


def _entry(found: Row) -> Entry:
    return Entry(*(*found[:7], _json(found[7]), _json(found[8]), found[9]))


def _json(value: Any) -> Any:
    return codec.decode(value) if isinstance(value, str) else value
