"""`tasks/*` of 2025-11-25: read, wait for, list and cancel the caller's tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core import signing

from tasks_app.conf import conf
from tasks_app.domain.errors import AlreadyFinished
from tasks_app.mcp import polls, pool
from tasks_app.mcp.call import Call, Result, ResultText, Streaming
from tasks_app.mcp.errors import Fault, invalid_params, method_not_found
from tasks_app.mcp.legacy_shapes import is_anonymous, require_tasks, result_text, shown
from tasks_app.mcp.legacy_streams import until_end
from tasks_app.mcp.legacy_threads import Thread
from tasks_app.store import queries
from tasks_app.store.announce import announce_now
from tasks_app.store.cancel import cancel_plan
from tasks_app.store.queries import Cursor

_SALT = "taskdeck.tasks"


async def get_task(call: Call) -> dict[str, Any]:
    """Where a task stands."""
    require_tasks(call)
    return shown(await polls.polled(call))


async def get_result(call: Call) -> Result:
    """What a task ended with; until then the caller waits on a stream and may be asked on it."""
    require_tasks(call)
    task = await polls.read(call)
    if task.status.is_terminal:
        await polls.note_fetch(call, task)
        return ResultText(result_text(task))
    assert call.id is not None
    return Streaming(until_end(call, Thread(task.id, call.id, is_call=False)))


async def list_tasks(call: Call) -> dict[str, Any]:
    """The caller's tasks, newest first, page by page."""
    require_tasks(call)
    if is_anonymous(call):
        raise method_not_found()
    owner_id = call.caller.owner_id
    after = _read_cursor(call.params.get("cursor"), owner_id=owner_id)
    page = await pool.run(queries.page_plan(owner_id=owner_id, after=after, limit=conf().list_page))
    listed: dict[str, Any] = {"tasks": [shown(task) for task in page.tasks]}
    if page.following is not None:
        listed["nextCursor"] = _write_cursor(page.following, owner_id=owner_id)
    return listed


async def cancel_task(call: Call) -> dict[str, Any]:
    """End a task now, and show it as it is then. Raises AlreadyFinished for one that had ended before."""
    require_tasks(call)
    plan = cancel_plan(polls.task_id_of(call), owner_id=call.caller.owner_id, by=call.actor())
    done = await pool.run(plan)
    if not done.happened:
        raise AlreadyFinished
    announce_now(done.task, questions=True)
    return shown(done.task)


def _write_cursor(cursor: Cursor, *, owner_id: int) -> str:
    return signing.dumps([owner_id, cursor.created_at.isoformat(), str(cursor.id)], salt=_SALT)


def _read_cursor(text: Any, *, owner_id: int) -> Cursor | None:
    if text is None:
        return None
    try:
        owner, at, task_id = signing.loads(text, salt=_SALT) if isinstance(text, str) else (None, "", "")
    except (signing.BadSignature, ValueError):  # a lone surrogate cannot even be compared
        raise _bad_cursor() from None
    if owner != owner_id:
        raise _bad_cursor()
    return Cursor(datetime.fromisoformat(at), polls.to_task_id(task_id))


def _bad_cursor() -> Fault:
    return invalid_params("The cursor is not one of this server: begin again without it")
