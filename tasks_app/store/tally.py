"""Counting without counting: folding the appended changes into counters and minutes, and reading both together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks_app.domain.histogram import BOUNDS_SECONDS, BUCKETS
from tasks_app.store import room
from tasks_app.store.db import row, rows

BATCH = 5000
FOLD_LOCK = 7_140_001
"""One process folds at a time: two would only wait for each other's counters."""

_BOUNDS = ", ".join(str(bound) for bound in BOUNDS_SECONDS)
_BUCKETS = ", ".join(f"count(*) FILTER (WHERE b = {index})" for index in range(BUCKETS))
# Bytes are kept where the task entered; only their sum over all standings of an owner means something.
_MOVES = """
    SELECT owner_id, tool, entered AS standing, 1 AS tasks, bytes FROM {source} WHERE entered <> 'gone'
    UNION ALL SELECT owner_id, tool, "left", -1, 0 FROM {source} WHERE "left" <> ''
    UNION ALL SELECT owner_id, tool, "left", 0, bytes FROM {source} WHERE entered = 'gone'
"""
_FOLD = f"""
WITH mine AS MATERIALIZED (SELECT pg_try_advisory_xact_lock({FOLD_LOCK}) AS got),
taken AS (
    DELETE FROM tasks_tally WHERE id = ANY (ARRAY(
        SELECT y.id FROM tasks_tally y, mine WHERE mine.got ORDER BY y.id LIMIT {BATCH} FOR UPDATE OF y SKIP LOCKED))
    RETURNING *),
counted AS (
    INSERT INTO tasks_count (owner_id, tool, standing, tasks, bytes)
    SELECT owner_id, tool, standing, sum(tasks), sum(bytes) FROM ({_MOVES.format(source="taken")}) moves
     GROUP BY owner_id, tool, standing ORDER BY owner_id, tool, standing
    ON CONFLICT (owner_id, tool, standing) DO UPDATE
       SET tasks = tasks_count.tasks + excluded.tasks, bytes = tasks_count.bytes + excluded.bytes),
minutes AS (
    INSERT INTO tasks_minute (minute, owner_id, tool, "left", entered, tasks, seconds, buckets)
    SELECT date_trunc('minute', at), owner_id, tool, "left", entered, count(*), sum(seconds), ARRAY[{_BUCKETS}]
      FROM (SELECT *, width_bucket(seconds, ARRAY[{_BOUNDS}]::float8[]) AS b FROM taken) measured
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (minute, owner_id, tool, "left", entered) DO UPDATE
       SET tasks = tasks_minute.tasks + excluded.tasks, seconds = tasks_minute.seconds + excluded.seconds,
           buckets = ARRAY(SELECT a + b FROM unnest(tasks_minute.buckets, excluded.buckets) WITH ORDINALITY AS u(a, b, n) ORDER BY n))
SELECT count(*) FROM taken
"""
_ALL_MOVES = f"""(
    SELECT owner_id, tool, standing, tasks FROM tasks_count
    UNION ALL SELECT owner_id, tool, standing, tasks FROM ({_MOVES.format(source="tasks_tally")}) moves) all_moves"""
_COUNTS = f"""
SELECT {{what}}, sum(tasks)::bigint FROM {_ALL_MOVES}
 WHERE (%(owner)s::bigint IS NULL OR owner_id = %(owner)s) GROUP BY {{what}} HAVING sum(tasks) > 0 ORDER BY {{what}}
"""
_BY_STANDING = _COUNTS.format(what="standing")
_BY_TOOL = _COUNTS.format(what="tool, standing")
_BY_OWNER_AND_TOOL = _COUNTS.format(what="owner_id, tool")
_BY_OWNER = f"""
SELECT owner_id, sum(tasks)::bigint FROM {_ALL_MOVES} WHERE standing <> 'expired'
 GROUP BY owner_id HAVING sum(tasks) > 0 ORDER BY 2 DESC, 1 LIMIT %(limit)s
"""
_MINUTES = """
SELECT minute, tool, "left", entered, sum(tasks)::bigint, sum(seconds), array_agg(buckets) FROM tasks_minute
 WHERE minute >= %(since)s AND (%(owner)s::bigint IS NULL OR owner_id = %(owner)s)
 GROUP BY minute, tool, "left", entered ORDER BY minute
"""


@dataclass(frozen=True, slots=True)
class Moved:
    """What moved from one standing to another within a minute."""

    minute: datetime
    tool: str
    left: str
    entered: str
    tasks: int
    seconds: float
    buckets: tuple[int, ...]


def fold() -> int:
    """Fold one batch of appended changes into the counters, and give how many. Any number of callers is safe."""
    found = row(_FOLD)
    room.forget()
    return int(found[0]) if found else 0


def counts(owner_id: int | None) -> dict[str, int]:
    """How many tasks stand where, folded or not, for an owner or (None) for all: never a count over the tasks."""
    return dict(rows(_BY_STANDING, {"owner": owner_id}))


def counts_by_tool(owner_id: int | None) -> dict[str, dict[str, int]]:
    """The same, tool by tool."""
    tools: dict[str, dict[str, int]] = {}
    for tool, standing, tasks in rows(_BY_TOOL, {"owner": owner_id}):
        tools.setdefault(tool, {})[standing] = tasks
    return tools


def counts_by_owner_and_tool() -> list[tuple[int, str, int]]:
    """How many tasks there are of each owner and tool, wherever they stand."""
    return [(owner_id, tool, tasks) for owner_id, tool, tasks in rows(_BY_OWNER_AND_TOOL, {"owner": None})]


def counts_by_owner(*, limit: int) -> dict[int, int]:
    """How many tasks that have not expired the owners with the most of them have, most first."""
    return dict(rows(_BY_OWNER, {"limit": limit}))


def minutes(owner_id: int | None, *, since: datetime) -> list[Moved]:
    """What moved since then, minute by minute, as far as it is folded."""
    found = rows(_MINUTES, {"owner": owner_id, "since": since})
    return [Moved(*(*each[:6], tuple(map(sum, zip(*each[6], strict=True))))) for each in found]
