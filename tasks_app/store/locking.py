"""The one way to take a task for a change of several statements: its row first, then its children.

A single statement would read the children as they were before it waited for the row, and so miss an attempt or a
question that was being added. Hence: lock, then write, in one transaction.
"""

from __future__ import annotations

from uuid import UUID

from tasks_app.domain.errors import NotAllowed
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store.db import Plan, Query, actor_json
from tasks_app.store.rows import Snapshot, columns, snapshot

# Expired for every reader and writer at once, whether or not the loop has seen it.
IS_LIVE = "((t.expires_at > tasks_now() OR t.held) AND t.expired_at IS NULL)"

_LOCK = f"""
SELECT {columns()}, set_config('tasks.actor', %(actor)s, true) FROM tasks_task t
 WHERE t.id = %(task)s AND (%(owner)s::bigint IS NULL OR t.owner_id = %(owner)s) AND {{condition}}
   FOR NO KEY UPDATE {{wait}}
"""
_LOCK_LIVE = _LOCK.format(condition=IS_LIVE, wait="")
_LOCK_ANY = _LOCK.format(condition="true", wait="")
_LOCK_ANY_FREE = _LOCK.format(condition="true", wait="SKIP LOCKED")
# Past its time a live task can only expire: any other ending would raise its expiry and bring it back.
_LOCK_FREE = _LOCK.format(condition=f"(t.finished_at IS NOT NULL OR {IS_LIVE})", wait="SKIP LOCKED")


def lock(task_id: UUID, *, owner_id: int | None, actor: Actor) -> Plan[Snapshot | None]:
    """Lock a task that has not expired and name the actor for what follows; None when there is no such task."""
    return (yield from _lock(_LOCK_LIVE, task_id, owner_id, actor))


def lock_unless_busy(task_id: UUID, *, actor: Actor) -> Plan[Snapshot | None]:
    """The same for the loop: none that somebody else works on, which its next round will see, or that is to expire."""
    return (yield from _lock(_LOCK_FREE, task_id, None, actor))


def lock_even_expired(task_id: UUID, *, actor: Actor, waits: bool) -> Plan[Snapshot | None]:
    """The same for what expires tasks: the loop, which waits for nobody, or whoever a task stands in the way of."""
    return (yield from _lock(_LOCK_ANY if waits else _LOCK_ANY_FREE, task_id, None, actor))


def _lock(text: str, task_id: UUID, owner_id: int | None, actor: Actor) -> Plan[Snapshot | None]:
    found = yield Query(text, {"task": task_id, "owner": owner_id, "actor": actor_json(actor)})
    return snapshot(found[0]) if found else None


def require_reason(actor: Actor, *, owner_id: int) -> None:
    """An operator who acts on another's task says why."""
    acts_for_another = actor.kind in {ActorKind.OPERATOR, ActorKind.ADMIN} and actor.id != owner_id
    if acts_for_another and not (actor.reason or "").strip():
        raise NotAllowed("Give a reason when you act on another owner's task.")
