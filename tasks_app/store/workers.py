"""Which workers are alive, how much they can still take, and how long work waits for them.

Only the table of workers is written here. What a worker runs is counted from the open attempts, never kept twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tasks_app.conf import conf
from tasks_app.store import db
from tasks_app.store.claim import WITHIN_CAPS, cap_params

# A worker unseen for so many times `worker_gone` is forgotten; until then the console can show that it is gone.
FORGET_AFTER = 10

BEAT = """
    INSERT INTO tasks_worker (id, slots, draining, busy, seen_at)
    SELECT %(id)s::text, %(slots)s::int, %(draining)s::boolean, count(*), tasks_now()
      FROM tasks_attempt WHERE split_part(worker, '/', 1) = %(id)s::text AND ended_at IS NULL
    ON CONFLICT (id) DO UPDATE
       SET slots = EXCLUDED.slots, draining = EXCLUDED.draining, busy = EXCLUDED.busy, seen_at = EXCLUDED.seen_at
"""
LEAVE = "DELETE FROM tasks_worker WHERE id = %(id)s::text"
LIVE = "seen_at > tasks_now() - make_interval(secs => %(gone)s::float8)"
LIVE_WORKERS = f"""
    SELECT id, slots, busy, draining, started_at, seen_at FROM tasks_worker WHERE {LIVE} ORDER BY started_at, id
"""
KNOWN_WORKERS = f"""
    SELECT id, slots, busy, draining, started_at, seen_at, {LIVE} FROM tasks_worker ORDER BY started_at, id
"""
FORGET_GONE = f"DELETE FROM tasks_worker WHERE NOT ({LIVE})"
FREE_SLOTS = f"""
    SELECT coalesce(sum(greatest(w.slots - coalesce(a.open, 0), 0)), 0)
      FROM tasks_worker w
      LEFT JOIN (SELECT split_part(worker, '/', 1) AS worker, count(*) AS open
                   FROM tasks_attempt WHERE ended_at IS NULL GROUP BY 1) a
        ON a.worker = w.id
     WHERE NOT w.draining AND w.{LIVE}
"""
_DUE = "t.wake_at <= tasks_now() - %(seconds)s::float8 * interval '1 second' AND (t.held OR t.expires_at > tasks_now())"
OLDEST_DUE = """
    SELECT extract(epoch FROM tasks_now() - wake_at)::float8
      FROM tasks_task
     WHERE wake_at <= tasks_now() AND (held OR expires_at > tasks_now())
     ORDER BY wake_at LIMIT 1
"""
# Less what waits for a cap, as the claim does: that is nobody's fault.
OLDEST_CLAIMABLE = f"""
    WITH running AS MATERIALIZED (
        SELECT r.owner_id, r.tool FROM tasks_attempt a JOIN tasks_task r ON r.id = a.task_id WHERE a.ended_at IS NULL)
    SELECT extract(epoch FROM tasks_now() - d.wake_at)::float8
      FROM tasks_task d
     WHERE d.wake_at <= tasks_now() AND (d.held OR d.expires_at > tasks_now()) AND {WITHIN_CAPS}
     ORDER BY d.wake_at LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as one reading saw it; `busy` is as of its last beat."""

    id: str
    slots: int
    busy: int
    draining: bool
    started_at: datetime
    seen_at: datetime


def beat(worker_id: str, *, slots: int, draining: bool) -> None:
    """Say that this worker is alive now, with so many slots, and whether it takes no more work."""
    db.affected(BEAT, {"id": worker_id, "slots": slots, "draining": draining})


def leave(worker_id: str) -> None:
    """Take a worker that stops off the list; harmless when it is not on it."""
    db.affected(LEAVE, {"id": worker_id})


def live_workers() -> list[WorkerView]:
    """Every worker that was seen lately, by the database's clock; the longest running first."""
    return [WorkerView(*row) for row in db.rows(LIVE_WORKERS, {"gone": conf().worker_gone})]


def known_workers() -> tuple[list[WorkerView], list[WorkerView]]:
    """The same, and beside them those that went without a word and are not forgotten yet."""
    found = db.rows(KNOWN_WORKERS, {"gone": conf().worker_gone})
    live, lost = ([WorkerView(*row) for *row, is_live in found if is_live is wanted] for wanted in (True, False))
    return live, lost


def forget_gone() -> int:
    """Remove workers that have not been seen for long, and say how many."""
    return db.affected(FORGET_GONE, {"gone": conf().worker_gone * FORGET_AFTER})


def free_slots() -> int:
    """How many more attempts the live workers can take now; a draining one takes none."""
    found = db.row(FREE_SLOTS, {"gone": conf().worker_gone})
    return int(found[0]) if found else 0


def due_count(*, older_than: float, limit: int) -> int:
    """How many tasks have been due for longer than this, up to a limit: what the dispatcher hints at."""
    # In order, although only counted: else a small limit makes the planner hope to meet some early in the whole table.
    text = f"SELECT count(*) FROM (SELECT 1 FROM tasks_task t WHERE {_DUE} ORDER BY t.wake_at LIMIT {int(limit)}) due"
    found = db.row(text, {"seconds": older_than})
    return int(found[0]) if found else 0


def oldest_due_seconds() -> float | None:
    """For how long the oldest task has been due, at a cap or not; None when none is."""
    found = db.row(OLDEST_DUE)
    return float(found[0]) if found else None


def oldest_claimable_seconds(caps: Mapping[str, int]) -> float | None:
    """The same for what a worker could take now, with these caps of tools; None when there is none."""
    found = db.row(OLDEST_CLAIMABLE, cap_params(caps))
    return float(found[0]) if found else None
