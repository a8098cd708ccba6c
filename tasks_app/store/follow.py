"""Reading for somebody who waits for tasks: plans for the pool of the web process, each for one owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from tasks_app.domain.status import Status
from tasks_app.store.db import Plan, Query
from tasks_app.store.locking import IS_LIVE
from tasks_app.store.rows import PLANNED_STEPS, Snapshot, columns, planned_snapshot, planning

MOST_NEW = 100

# Whoever waits for a task sees its end too, be it that its time ran out.
_FOLLOW = f"""
SELECT {columns()}, t.result, t.error, t.variables, {PLANNED_STEPS} FROM tasks_task t
 WHERE t.id = %(task)s AND t.owner_id = %(owner)s
"""
_OWN = f"SELECT t.id FROM tasks_task t WHERE t.id = ANY(%(tasks)s) AND t.owner_id = %(owner)s AND {IS_LIVE}"
# By two indexes: the places of the live ones, which the quota bounds, and what the owner began since the last reading.
_STANDING = f"""
SELECT t.id, t.status FROM tasks_task t WHERE t.owner_id = %(owner)s AND t.finished_at IS NULL AND NOT t.waiting
 UNION ALL
(SELECT t.id, t.status FROM tasks_task t
  WHERE t.owner_id = %(owner)s AND t.created_at >= %(since)s AND t.finished_at IS NOT NULL AND NOT t.waiting
  ORDER BY t.created_at DESC, t.id DESC LIMIT {MOST_NEW})
"""
_NOW = "SELECT tasks_now()"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the tasks of an owner stood at one time: those that are live, and those begun since the reading before."""

    at: datetime
    tasks: list[tuple[UUID, Status]]


def follow_plan(task_id: UUID, *, owner_id: int, planned: Sequence[str] = ()) -> Plan[Snapshot | None]:
    """A task of the owner with its payload, also past its time; None once it is gone. `planned` as for `get_plan`."""
    found = yield Query(_FOLLOW, {"task": task_id, "owner": owner_id, "planned": planning(tuple(planned))})
    return planned_snapshot(found[0]) if found else None


def own_plan(task_ids: Sequence[UUID], *, owner_id: int) -> Plan[list[UUID]]:
    """Which of these tasks are the owner's and have not expired, in the order in which they were named."""
    found = yield Query(_OWN, {"tasks": list(task_ids), "owner": owner_id})
    own = {task_id for [task_id] in found}
    return [task_id for task_id in task_ids if task_id in own]


def standing_plan(*, owner_id: int, since: datetime | None) -> Plan[Standing]:
    """Where the owner's tasks stand that are live or, when that is asked, were begun since; hidden ones left out."""
    [[now]] = yield Query(_NOW, {})
    found = yield Query(_STANDING, {"owner": owner_id, "since": since or now})
    return Standing(now, [(task_id, Status(status)) for task_id, status in found])
