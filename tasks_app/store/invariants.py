"""What must be true of the tables at any moment: one query each, which returns no row. Constraints guard single rows;
these look across them. Of a task whose first events have left with their retention, the log is no longer whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks_app.store.db import rows

LIMIT = 20

INVARIANTS: dict[str, str] = {
    "a finished task has exactly one closing event": """
        SELECT t.id FROM tasks_task t WHERE t.finished_at IS NOT NULL AND 1 <> (
            SELECT count(*) FROM tasks_event e WHERE e.task_id = t.id AND e.to_status IN ('completed', 'failed', 'cancelled'))""",
    "the active attempt of a task is open and was not told to stop": """
        SELECT t.id FROM tasks_task t WHERE t.active_attempt IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM tasks_attempt a WHERE a.task_id = t.id AND a.number = t.active_attempt
               AND a.ended_at IS NULL AND a.stop_requested_at IS NULL)""",
    "an open attempt is the active one, or the last of a cancelled or expired task and told to stop": """
        SELECT t.id FROM tasks_attempt a JOIN tasks_task t ON t.id = a.task_id
         WHERE a.ended_at IS NULL AND t.active_attempt IS DISTINCT FROM a.number AND NOT (
            coalesce(t.outcome IN ('cancelled', 'expired'), false) AND a.stop_requested_at IS NOT NULL AND a.number = t.attempt)""",
    "attempts are numbered from one without a gap": """
        SELECT t.id FROM tasks_task t LEFT JOIN LATERAL (
            SELECT count(*) AS n, coalesce(max(a.number), 0) AS last FROM tasks_attempt a WHERE a.task_id = t.id) a ON true
         WHERE t.attempt <> a.n OR t.attempt <> a.last""",
    "the number of open questions is right": """
        SELECT t.id FROM tasks_task t WHERE t.open_questions <> (
            SELECT count(*) FROM tasks_question q WHERE q.task_id = t.id AND q.state = 'open')""",
    "a result has exactly one completed attempt, any other ending none": """
        SELECT t.id FROM tasks_task t WHERE coalesce(t.outcome = 'result', false)::int <> (
            SELECT count(*) FROM tasks_attempt a WHERE a.task_id = t.id AND a.outcome = 'completed')""",
    "a completed attempt is the last": """
        SELECT t.id FROM tasks_attempt a JOIN tasks_task t ON t.id = a.task_id
         WHERE a.outcome = 'completed' AND a.number <> t.attempt""",
    "each status event begins where the one before ended": """
        SELECT e.task_id FROM (
            SELECT task_id, from_status, lag(to_status) OVER (PARTITION BY task_id ORDER BY id) AS before
              FROM tasks_event WHERE to_status IS NOT NULL) e
         WHERE e.from_status IS DISTINCT FROM e.before AND (e.before IS NOT NULL OR EXISTS (
            SELECT 1 FROM tasks_event c WHERE c.task_id = e.task_id AND c.kind = 'created'))""",
    "the last status event is the status": """
        SELECT t.id FROM tasks_task t WHERE t.status IS DISTINCT FROM (
            SELECT e.to_status FROM tasks_event e WHERE e.task_id = t.id AND e.to_status IS NOT NULL ORDER BY e.id DESC LIMIT 1)""",
    "attempts do not overlap": """
        SELECT a.task_id FROM tasks_attempt a JOIN tasks_attempt b ON b.task_id = a.task_id AND b.number = a.number + 1
         WHERE coalesce(a.ended_at, 'infinity') > b.started_at""",
    "only an attempt of a finished task is told to stop": """
        SELECT t.id FROM tasks_attempt a JOIN tasks_task t ON t.id = a.task_id
         WHERE a.stop_requested_at IS NOT NULL AND t.finished_at IS NULL""",
    "an answered question has exactly one event": """
        SELECT q.task_id FROM tasks_question q WHERE q.state = 'answered' AND 1 <> (
            SELECT count(*) FROM tasks_event e
             WHERE e.task_id = q.task_id AND e.kind = 'answered' AND e.detail ->> 'key' = q.key AND e.actor = q.answered_by)""",
    "a task has expired exactly when its record exists": """
        SELECT t.id FROM tasks_task t WHERE (t.expired_at IS NOT NULL) <> EXISTS (
            SELECT 1 FROM tasks_expiration x WHERE x.task_id = t.id)""",
    "a purged task left its record and its closing event": """
        SELECT p.task_id FROM (SELECT DISTINCT e.task_id FROM tasks_event e WHERE e.kind = 'purged' AND EXISTS (
            SELECT 1 FROM tasks_event c WHERE c.task_id = e.task_id AND c.kind = 'created')) p
         WHERE NOT EXISTS (SELECT 1 FROM tasks_expiration x WHERE x.task_id = p.task_id)
            OR 1 <> (SELECT count(*) FROM tasks_event e
                      WHERE e.task_id = p.task_id AND e.to_status IN ('completed', 'failed', 'cancelled'))""",
    "output is without a gap": """
        SELECT o.task_id FROM (
            SELECT task_id, "offset", lag("offset" + size) OVER (PARTITION BY task_id ORDER BY "offset") AS place FROM tasks_output) o
         WHERE o."offset" <> coalesce(o.place, 0)""",
    "a step belongs to an attempt that was handed out": """
        SELECT t.id FROM tasks_step s JOIN tasks_task t ON t.id = s.task_id WHERE s.attempt > t.attempt OR s.attempt < 1""",
    "a question is open only in a task that waits": """
        SELECT t.id FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
         WHERE q.state = 'open' AND t.status <> 'input_required'""",
    "times follow each other": """
        SELECT t.id FROM tasks_task t WHERE t.updated_at < t.created_at OR t.finished_at < t.created_at
            OR t.expired_at < t.finished_at OR t.status_at < t.created_at""",
    "the tally adds up to the tasks": """
        SELECT DISTINCT coalesce(a.owner_id, b.owner_id) FROM (
            SELECT owner_id, standing, sum(n) AS n FROM (
                SELECT owner_id, standing, tasks AS n FROM tasks_count
                UNION ALL SELECT owner_id, entered, 1 FROM tasks_tally WHERE entered <> 'gone'
                UNION ALL SELECT owner_id, "left", -1 FROM tasks_tally WHERE "left" <> '') moves
             GROUP BY 1, 2 HAVING sum(n) <> 0) a
          FULL JOIN (
            SELECT owner_id, CASE WHEN expired_at IS NULL THEN tasks_standing(status, outcome) ELSE 'expired' END AS standing,
                   count(*) AS n FROM tasks_task GROUP BY 1, 2) b ON a.owner_id = b.owner_id AND a.standing = b.standing
         WHERE a.n IS DISTINCT FROM b.n""",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, with some of the rows that break it."""

    invariant: str
    examples: tuple[str, ...]


def violations() -> list[Violation]:
    """Every invariant that does not hold now; the heavy ones read whole tables."""
    found = ((name, rows(f"{text} LIMIT {LIMIT}")) for name, text in INVARIANTS.items())
    return [Violation(name, tuple(str(each[0]) for each in broken)) for name, broken in found if broken]
