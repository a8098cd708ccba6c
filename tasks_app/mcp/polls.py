"""Reading the task that a call names: once, only the caller's own, and not more often than the server bears."""

from __future__ import annotations

from uuid import UUID

from tasks_app.domain.errors import NotFound
from tasks_app.engine.registry import registry
from tasks_app.mcp import lanes, pool
from tasks_app.mcp.call import Call, text_param
from tasks_app.mcp.exchange import Request
from tasks_app.mcp.throttle import throttle
from tasks_app.store import queries
from tasks_app.store.fetch import Fetched
from tasks_app.store.rows import Snapshot


def task_id_of(call: Call) -> UUID:
    """The id in `params.taskId`. Raises a fault when it is no string, NotFound when it cannot be the id of a task."""
    return to_task_id(text_param(call.params, "taskId"))


def to_task_id(text: str) -> UUID:
    """A task id as it stands on the wire. Raises NotFound for any other text: it names no task."""
    # The one spelling that we mint: `UUID` alone would also take braces, upper case and missing hyphens.
    try:
        found = UUID(text)
    except ValueError:
        raise NotFound from None
    if str(found) != text:
        raise NotFound
    return found


def check_pace(request: Request, task_id: UUID) -> None:
    """Raises Refused (429) for a poll that comes too soon after others, before the task or the token is looked up."""
    throttle().before_poll(request.credential, task_id)


async def polled(call: Call) -> Snapshot:
    """The caller's task with its payload, for a poll. Raises NotFound; Refused (429) for a live one polled too fast."""
    task = await read(call)
    if task.finished_at is None:
        throttle().poll(task.id, poll_ms=task.poll_ms, reader=call.request.credential)
    return task


async def read(call: Call) -> Snapshot:
    """The caller's task with its payload, as the statement that authenticated the caller read it or read now."""
    task_id = task_id_of(call)
    if call.poll is None:
        plan = queries.get_plan(task_id, owner_id=call.caller.owner_id, planned=registry.planned())
        return await pool.run(plan)
    if call.poll.task is None:
        raise NotFound
    return call.poll.task


def is_fetch_due(call: Call) -> bool:
    """Whether it is to be noted that a finished task was read, as far as the statement of the poll knows."""
    return call.poll is None or call.poll.notes_fetch


async def note_fetch(call: Call, task: Snapshot) -> None:
    """Record that the caller was given the result of a finished task; when it is due again is the store's rule."""
    if is_fetch_due(call):
        await lanes.note_fetch(Fetched(task.id, call.caller.credential_id, call.request.request_id))
