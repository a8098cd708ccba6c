"""The tasks that demo clients made: whether any is alive, and taking all of them away. Events and records stay.

Nothing is deleted silently here either: what lives is cancelled, then its expiry is recorded, then it is purged.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from tasks_app.domain.identity import Actor
from tasks_app.store.cancel import cancel
from tasks_app.store.credentials import DEMO
from tasks_app.store.db import row, rows
from tasks_app.store.expiry import purge_now

_OF_DEMO = "t.credential_id IN (SELECT c.id FROM tasks_credential c WHERE c.name = %(name)s)"
_LIVE = f"SELECT t.id FROM tasks_task t WHERE t.finished_at IS NULL AND t.expires_at > tasks_now() AND {_OF_DEMO}"
_ALL = f"SELECT t.id FROM tasks_task t WHERE {_OF_DEMO} AND NOT t.held"
# What the demo asked this owner, newest tokens included; the question that stays open for longest is the one to answer.
_ASKED = f"""
FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
WHERE t.owner_id = %(owner)s AND q.audience = 'owner' AND {_OF_DEMO}
"""
_HOW_FAR = f"""
SELECT EXISTS (SELECT FROM tasks_task t WHERE t.owner_id = %(owner)s AND {_OF_DEMO}),
       (SELECT q.task_id {_ASKED} AND q.state = 'open' AND q.expires_at > tasks_now() AND t.expires_at > tasks_now()
         ORDER BY q.expires_at DESC LIMIT 1),
       EXISTS (SELECT {_ASKED} AND q.state = 'answered' AND q.answered_via = 'console'),
       EXISTS (SELECT {_ASKED} AND (q.state = 'expired' OR t.outcome = 'expired')),
       EXISTS (SELECT FROM tasks_credential c
                WHERE c.owner_id = %(owner)s AND c.name <> %(name)s AND c.used_at IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class HowFar:
    """How far somebody came with the demo."""

    has_begun: bool
    waiting: UUID | None
    """The task that waits for them."""
    has_answered: bool
    has_missed: bool
    """Whether a question ran out."""
    has_connected: bool
    """Whether a client of their own has called."""


@dataclass(frozen=True, slots=True)
class Removed:
    """How many tasks are gone, and how many have to wait for their worker to stop."""

    gone: int
    stopping: int


def has_live() -> bool:
    """Whether a task of a demo client is still to end."""
    return row(f"{_LIVE} LIMIT 1", {"name": DEMO}) is not None


def how_far(owner_id: int) -> HowFar:
    """How far an owner came with the demo: one statement."""
    found = row(_HOW_FAR, {"owner": owner_id, "name": DEMO})
    return HowFar(*found) if found else HowFar(False, None, False, False, False)


def remove(*, by: Actor) -> Removed:
    """Cancel, expire and purge every task of the demo clients; one whose worker still stops is left for the next call."""
    for [task_id] in rows(_LIVE, {"name": DEMO}):
        cancel(task_id, owner_id=None, by=by)
    found = [task_id for [task_id] in rows(_ALL, {"name": DEMO})]
    gone = purge_now(found, by=by)
    return Removed(gone, len(found) - gone)
