"""Who is answering which question just now: taken by typing, renewed while it goes on, gone by itself after a minute.

A claim is advice. Nothing here keeps anybody from answering: the first valid answer wins, in the tables of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tasks_app import store
from tasks_app.store.announce import announce
from tasks_app.store.db import affected, atomic, row, rows

CLAIM_SECONDS = 60
FORGET_SECONDS = 3600

# One statement decides: of two who claim at once the second sees the first's row. `since` begins anew with a new holder.
# The clock is read once, which only a materialized list makes sure of.
_TAKE = f"""
WITH clock AS MATERIALIZED (SELECT tasks_now() AS now)
INSERT INTO console_answerclaim AS c (question_id, owner_id, since, until)
SELECT q.id, %(owner)s::bigint, clock.now, clock.now + interval '{CLAIM_SECONDS} seconds'
  FROM tasks_question q, clock WHERE q.id = %(question)s::bigint AND q.state = 'open'
    ON CONFLICT (question_id) DO UPDATE SET owner_id = excluded.owner_id, until = excluded.until,
       since = CASE WHEN c.owner_id = excluded.owner_id AND c.until > excluded.since THEN c.since ELSE excluded.since END
 WHERE c.owner_id = excluded.owner_id OR c.until <= excluded.since OR %(over)s::boolean
RETURNING c.owner_id, c.until, c.since = c.until - interval '{CLAIM_SECONDS} seconds'
"""
_RELEASE = """
DELETE FROM console_answerclaim WHERE question_id = %(question)s::bigint AND owner_id = %(owner)s::bigint
   AND until > tasks_now()
"""
_HOLDERS = """
SELECT question_id, owner_id, until FROM console_answerclaim
 WHERE question_id = ANY(%(questions)s::bigint[]) AND until > tasks_now()
"""
_FORGET = f"DELETE FROM console_answerclaim WHERE until < tasks_now() - interval '{FORGET_SECONDS} seconds'"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has claimed a question, and until when."""

    owner_id: int
    until: datetime


def claim(task: store.Snapshot, question_id: int, *, owner_id: int, take_over: bool = False) -> Holder | None:
    """Take or renew the claim; gives who holds it now, which is somebody else unless it was free or is taken over.

    None when there is nothing to claim: the question is not open.
    """
    params = {"question": question_id, "owner": owner_id, "over": take_over}
    with atomic():
        taken = row(_TAKE, params)
        if taken is None:
            return holders([question_id]).get(question_id)
        holder_id, until, is_new = taken
        if is_new:
            # No change of the task: its version stays, and who watches it looks again.
            announce(task, questions=True)
        return Holder(holder_id, until)


def release(task: store.Snapshot, question_id: int, *, owner_id: int) -> bool:
    """Give one's own claim back; false when there was none."""
    with atomic():
        if affected(_RELEASE, {"question": question_id, "owner": owner_id}) == 0:
            return False
        announce(task, questions=True)
        return True


def holders(question_ids: Sequence[int]) -> dict[int, Holder]:
    """Who is answering which of these questions."""
    if not question_ids:
        return {}
    found = rows(_HOLDERS, {"questions": list(question_ids)})
    return {question_id: Holder(owner_id, until) for question_id, owner_id, until in found}


def forget_claims() -> int:
    """Drop what ended an hour ago."""
    return affected(_FORGET)
