"""How the whole does, in a few bounded queries: for the metrics and for the alarms of the console. Only reads."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_app.store import chain, tally, workers
from tasks_app.store.db import row, rows

MOST_COUNTED = 10_000
NEWEST_EVENTS = 5000
RECENT_SECONDS = 300

_QUESTIONS = f"""
SELECT count(*), extract(epoch FROM tasks_now() - min(created_at))::float8
  FROM (SELECT created_at FROM tasks_question WHERE state = 'open' ORDER BY expires_at LIMIT {MOST_COUNTED}) q
"""
_EXPIRY = """
SELECT extract(epoch FROM tasks_now() - expires_at)::float8 FROM tasks_task
 WHERE expired_at IS NULL AND NOT held AND expires_at <= tasks_now() ORDER BY expires_at LIMIT 1
"""
_UNSEALED = """
SELECT extract(epoch FROM tasks_now() - at)::float8 FROM tasks_event
 WHERE id > coalesce((SELECT max(last_id) FROM tasks_seal), 0) ORDER BY id LIMIT 1
"""
_RECENT = f"""
WITH newest AS MATERIALIZED (SELECT * FROM tasks_event ORDER BY id DESC LIMIT {NEWEST_EVENTS}),
recent AS (SELECT * FROM newest WHERE at > tasks_now() - interval '{RECENT_SECONDS} seconds')
"""
_ATTEMPTS = f"""
{_RECENT} SELECT detail ->> 'outcome', count(*) FROM recent WHERE kind = 'attempt_ended' GROUP BY 1 ORDER BY 1
"""
# From its creation to its first attempt; what an operator had to approve waited for a person, not for a worker.
_LATENCY = f"""
{_RECENT}
SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM e.at - t.created_at)::float8)
  FROM recent e JOIN tasks_task t ON t.id = e.task_id
 WHERE e.kind = 'attempt_started' AND e.attempt = 1
   AND NOT EXISTS (SELECT 1 FROM tasks_question q WHERE q.task_id = t.id AND q.audience = 'operator')
"""


@dataclass(frozen=True, slots=True)
class Gauges:
    """One reading. Ages are in seconds; None where there is nothing that could have one."""

    tasks: dict[str, int]
    due: int
    oldest_due: float | None
    start_latency: dict[str, float]
    attempts: dict[str, int]
    questions: int
    oldest_question: float | None
    expiry_lag: float | None
    unsealed: float | None
    chain: chain.ChainState
    workers: int
    slots: int
    busy: int


def read() -> Gauges:
    """How it stands now; counts of what is due or open stop at `MOST_COUNTED`, a look back at the newest events."""
    questions, oldest_question = row(_QUESTIONS) or (0, None)
    live = workers.live_workers()
    return Gauges(
        tasks=tally.counts(None),
        due=workers.due_count(older_than=0, limit=MOST_COUNTED),
        oldest_due=workers.oldest_due_seconds(),
        start_latency=_latency(),
        attempts=dict(rows(_ATTEMPTS)),
        questions=questions,
        oldest_question=oldest_question,
        expiry_lag=expiry_lag(),
        unsealed=_value(_UNSEALED),
        chain=chain.chain_state(),
        workers=len(live),
        slots=sum(worker.slots for worker in live),
        busy=sum(worker.busy for worker in live),
    )


def expiry_lag() -> float | None:
    """For how long the oldest task that should have been expired by the loop has been past its time."""
    return _value(_EXPIRY)


def _latency() -> dict[str, float]:
    found = row(_LATENCY)
    return dict(zip(("0.5", "0.95", "0.99"), found[0], strict=True)) if found and found[0] else {}


def _value(text: str) -> float | None:
    found = row(text)
    return float(found[0]) if found else None
