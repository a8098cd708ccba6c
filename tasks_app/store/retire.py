"""The end of the audit log's own time: whole sealed batches leave, and their seals stay, so the chain still verifies."""

from __future__ import annotations

from tasks_app.domain.identity import Actor
from tasks_app.store import policy
from tasks_app.store.chain import SEAL_LOCK, chain_state
from tasks_app.store.db import affected, atomic, row
from tasks_app.store.events import record_event

_LOCK = f"SELECT pg_try_advisory_xact_lock({SEAL_LOCK}), set_config('tasks.retire', 'on', true)"
# In order, so that of a task the beginning leaves first. Nothing leaves while its task is there: a held one, say.
_NEXT = """
SELECT s.number, s.last_id, s.first_id, s.count FROM (
    SELECT * FROM tasks_seal WHERE retired_at IS NULL ORDER BY number LIMIT 1) s
 WHERE s.until < tasks_now() - %(keep)s::float8 * interval '1 second'
   AND NOT EXISTS (SELECT 1 FROM tasks_event e JOIN tasks_task t ON t.id = e.task_id
                    WHERE e.id BETWEEN s.first_id AND s.last_id)
"""
_LEAVE = """
WITH gone AS (DELETE FROM tasks_event WHERE id BETWEEN %(first)s AND %(last)s RETURNING task_id, kind),
records AS (DELETE FROM tasks_expiration WHERE task_id IN (SELECT task_id FROM gone WHERE kind = 'expired') RETURNING 1)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM records)
"""
_RETIRED = "UPDATE tasks_seal SET retired_at = tasks_now(), leaves = '' WHERE number = %(number)s"


def retire(*, by: Actor | None = None) -> int:
    """Let the oldest batch leave when all in it is past the record retention; gives how many events left."""
    with atomic():
        if not (row(_LOCK) or (False,))[0]:
            return 0
        # What was tampered with is evidence, and stays.
        if chain_state().broken is not None:
            return 0
        found = row(_NEXT, {"keep": policy.current().longest_record_retention()})
        if found is None:
            return 0
        number, last, first, _ = found
        events, records = row(_LEAVE, {"first": first, "last": last}) or (0, 0)
        affected(_RETIRED, {"number": number})
        # For the rest of the transaction nothing may leave any more.
        row("SELECT set_config('tasks.retire', 'off', true)")
        detail = {"batch": number, "first": first, "last": last, "events": events, "records": records}
        record_event("retired", by=by or Actor.engine(), detail=detail)
        return int(events)
