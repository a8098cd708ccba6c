"""How things went lately, from the folded minutes: read in slots as wide as a chart's bars, never task by task."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tasks_app.domain.histogram import BUCKETS
from tasks_app.store.db import row, rows

MOST_COUNTED = 1000

_BUCKETS = ", ".join(f"sum(m.buckets[{index}])::bigint" for index in range(1, BUCKETS + 1))
_SLOTS = f"""
SELECT floor(extract(epoch FROM m.minute - %(since)s) / %(step)s::float8)::int AS slot, m.tool, m."left", m.entered,
       sum(m.tasks)::bigint, {_BUCKETS}
  FROM tasks_minute m
 WHERE m.minute >= %(since)s AND (%(owner)s::bigint IS NULL OR m.owner_id = %(owner)s)
 GROUP BY 1, 2, 3, 4
"""
_OWNED = "(%(owner)s::bigint IS NULL OR t.owner_id = %(owner)s)"
# What is live is few and has an index of its own, so this does not grow with the history.
_LIVE = f"""
SELECT min(t.status_at) FILTER (WHERE t.status = 'working'), min(t.expires_at) FILTER (WHERE t.status = 'input_required'),
       count(*) FILTER (WHERE t.status = 'working' AND t.updated_at < tasks_now() - %(silent)s::float8 * interval '1 second'
                              AND t.active_attempt IS NOT NULL),
       count(*) FILTER (WHERE t.expires_at < tasks_now() + %(near)s::float8 * interval '1 second')
  FROM (SELECT t.* FROM tasks_task t
         WHERE t.finished_at IS NULL AND t.status IN ('working', 'input_required') AND t.expires_at > tasks_now() AND {_OWNED}
         ORDER BY t.status, t.created_at DESC LIMIT {MOST_COUNTED}) t
"""


@dataclass(frozen=True, slots=True)
class Movement:
    """What moved from one standing to another within one slot; slots count from 0, the oldest."""

    slot: int
    tool: str
    left: str
    entered: str
    tasks: int
    buckets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """What is alive now: since when the oldest works, when the next question's task ends, and how many need a look."""

    oldest_since: datetime | None
    soonest_expiry: datetime | None
    silent: int
    expiring: int


def movements(owner_id: int | None, *, since: datetime, step: timedelta) -> list[Movement]:
    """What moved since then, slot by slot, for an owner or (None) for everyone, as far as it is folded."""
    found = rows(_SLOTS, {"owner": owner_id, "since": since, "step": step.total_seconds()})
    return [
        Movement(slot, tool, left, entered, tasks, tuple(buckets))
        for slot, tool, left, entered, tasks, *buckets in found
    ]


def live(owner_id: int | None, *, silent_after: timedelta, near: timedelta) -> Live:
    """A look at the live tasks, at so many of them at most: which have said nothing for long, which are near their end."""
    found = row(_LIVE, {"owner": owner_id, "silent": silent_after.total_seconds(), "near": near.total_seconds()})
    return Live(*found) if found else Live(None, None, 0, 0)
