"""The tool by which a client that knows no tasks fetches a result later.

It only reads, and only what belongs to its caller. How a task is shown on the wire is not known here.
"""

from __future__ import annotations

import math
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from tasks_app import store
from tasks_app.domain.errors import NotFound, ToolError
from tasks_app.domain.status import Status
from tasks_app.engine import Context, tool
from tasks_app.store import codec, queries

TIMEOUT_SECONDS = 10.0


def declare(name: str) -> None:
    """Offer the tool under this name; an empty one leaves it out."""
    if not name:
        return
    offer = tool(
        name=name,
        title="Get a task's result",
        task="forbidden",
        timeout=TIMEOUT_SECONDS,
        annotations={"readOnlyHint": True, "openWorldHint": False},
    )
    offer(get_task_result)


def get_task_result(
    ctx: Context, task_id: Annotated[str, Field(description="The id that the earlier call returned.")]
) -> str | dict[str, Any]:
    """Get the result of a task that an earlier tool call started.

    Returns that tool's own result once the task has ended. Until then it says where the task stands and in how many
    seconds to call again.
    """
    task = _find(task_id, owner_id=ctx.owner_id)
    if not task.status.is_terminal:
        return _still(task)
    store.record_fetch(task.id, credential_id=ctx.credential_id)
    if task.result is not None:
        return codec.decode(task.result)  # type: ignore[no-any-return]
    raise ToolError(_why_there_is_none(task))


def _find(task_id: str, *, owner_id: int | None) -> store.Snapshot:
    """The caller's task; an id that cannot be one, and a caller whom nobody knows, find nothing."""
    # For the store no owner means everyone's tasks, which a caller without a name must not see.
    if owner_id is None:
        raise NotFound
    try:
        wanted = UUID(task_id)
    except ValueError:
        raise NotFound from None
    return queries.get(wanted, owner_id=owner_id)


def _still(task: store.Snapshot) -> str:
    seconds = max(1, math.ceil(task.poll_ms / 1000))
    unit = "second" if seconds == 1 else "seconds"
    said = f" It says: {task.status_message}" if task.status_message else ""
    return f"The task is still {_shown(task)}, try again in {seconds} {unit}.{said}"


def _shown(task: store.Snapshot) -> str:
    # What waits before its first attempt waits for an operator, and clients are not told of that question.
    is_gated = task.status is Status.INPUT_REQUIRED and task.attempt == 0
    return Status.WORKING.value if is_gated else task.status.value


def _why_there_is_none(task: store.Snapshot) -> str:
    if task.error is not None:
        return str(codec.decode(task.error)["message"])
    if task.status is Status.CANCELLED:
        return "The task was cancelled, so it has no result."
    return "The task ended without a result."
