"""What both dialects share about `tools/call`: reading it, making its task, and saying that the result comes later.

Which calls become tasks is each dialect's own rule; running a tool in this process is in `inline`, waiting for a task
in `waiting`. Everything is for the caller's own tasks.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.utils.module_loading import import_string

from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.status import Status
from tasks_app.domain.ttl import NOT_ASKED
from tasks_app.engine import hints
from tasks_app.engine.calling import approval_request, milliseconds, poll_ms
from tasks_app.engine.registry import Support, Tool, registry
from tasks_app.engine.results import tool_error
from tasks_app.engine.schema import InvalidArguments
from tasks_app.mcp import aside, background, lanes, pool
from tasks_app.mcp.call import Call, text_param
from tasks_app.mcp.errors import INTERNAL_ERROR, Fault, invalid_params
from tasks_app.store.announce import announce_now
from tasks_app.store.cancel import cancel_plan
from tasks_app.store.create import Created, NewTask
from tasks_app.store.fetch import Fetched
from tasks_app.store.hidden import reveal_plan
from tasks_app.store.rows import Snapshot

TASK_ID = "taskdeck/taskId"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool that is called, and with what."""

    tool: Tool
    arguments: dict[str, Any]


def wanted(call: Call) -> Wanted:
    """Read a call. Raises the fault for a tool that there is not, and for arguments that are no object."""
    tool = registry.get(text_param(call.params, "name"))
    arguments = call.params.get("arguments", {})
    if tool is None:
        raise invalid_params("Unknown tool: see tools/list for those that there are")
    if not isinstance(arguments, dict):
        raise invalid_params("`arguments` must be an object")
    return Wanted(tool, arguments)


def argument_error(call: Wanted) -> dict[str, Any] | None:
    """The tool result that says what is wrong with the arguments; None when they fit."""
    try:
        call.tool.validate(call.arguments)
    except InvalidArguments as error:
        return tool_error(str(error))
    return None


async def create(call: Call, made: Wanted, *, waiting: bool = False, ttl_ms: object = NOT_ASKED) -> Created:
    """Store a call whose arguments fit as a task, or find the one that its idempotency key made; workers are hinted.

    `waiting` hides it: the caller waits for the result and is given no id. Raises what the store's `create` raises.
    """
    created = await lanes.create(new_task(call, made, waiting=waiting, ttl_ms=ttl_ms))
    for gone in created.expired:
        announce_now(gone, questions=True)
    if created.is_new:
        announce_now(created.task, questions=created.task.open_questions > 0)
        if created.task.wake_at is not None:
            hints.send()
    return created


def new_task(call: Call, made: Wanted, *, waiting: bool = False, ttl_ms: object = NOT_ASKED) -> NewTask:
    """What the store is told about a call that becomes a task."""
    tool = made.tool
    return NewTask(
        owner_id=call.caller.owner_id,
        credential_id=call.caller.credential_id,
        tool=tool.name,
        tool_version=tool.version,
        arguments=made.arguments,
        ttl_ms=ttl_ms,
        tool_ttl_ms=milliseconds(tool.ttl),
        key=call.idempotency_key,
        request_id=call.request.request_id,
        client=call.client,
        client_capabilities=call.client_capabilities,
        waiting=waiting,
        max_retries=tool.retries,
        poll_ms=poll_ms(tool),
        labels=tool.labels,
        approval=approval_request(tool, made.arguments) if tool.approval else None,
    )


async def becomes_task(made: Wanted) -> bool:
    """Whether a call of an optional tool becomes a task where the client allows it: `TASKDECK_AUGMENT` decides.

    When that takes too long it does, as every call would without the setting.
    """
    path = conf().augment
    if not path:
        return True
    decide: Callable[[str, Mapping[str, Any]], bool] = import_string(path)
    try:
        return bool(await aside.ask(partial(decide, made.tool.name, made.arguments)))
    except TimeoutError:
        logger.warning("%s did not decide about a call of %s in time: it becomes a task", path, made.tool.name)
        return True


def may_wait(tool: Tool) -> bool:
    """Whether a caller without tasks is made to wait; otherwise it is told at once how to fetch the result later."""
    settings = conf()
    if settings.non_task_clients == "text_handle":
        return False
    return tool.expected is None or tool.expected <= settings.sync_budget


def falls_back(tool: Tool) -> bool:
    """Whether a tool that has to be a task is served to a caller without tasks all the same; logged as a warning."""
    if tool.task is not Support.REQUIRED or conf().required_fallback != "sync":
        return False
    logger.warning("tool %s has to be a task, and is served to a client without tasks", tool.name)
    return True


def later(task: Snapshot, tool: Tool, *, asks: bool = False) -> dict[str, Any]:
    """The result that says that the result comes later, under which id, and how to get it.

    `asks` says that the task waits for an answer that this caller cannot give.
    """
    seconds = max(1, math.ceil(task.poll_ms / 1000))
    state = "waits for an answer, which can be given in the console" if asks else "is still running"
    text = f"{tool.name} {state}: it is task {task.id}."
    if conf().fallback_tool:
        arguments = json.dumps({"task_id": str(task.id)})
        text += f" Call {conf().fallback_tool} with {arguments} in {seconds} s to get its result."
    text += " A client that supports tasks can call the tool as a task instead."
    # A tool that promises structured content may leave it out only of an error: published clients insist on it.
    return {
        "content": [{"type": "text", "text": text}],
        "isError": tool.output_schema is not None,
        "_meta": {TASK_ID: str(task.id)},
    }


def stored_result(task: Snapshot) -> str:
    """The JSON of what a finished tool returned. Raises the fault for a task that ended in any other way."""
    if task.result is not None:
        return task.result
    if task.outcome is Outcome.CANCELLED:
        data = {"reason": "cancelled", "taskId": str(task.id), "status": Status.CANCELLED.value}
        raise Fault(INTERNAL_ERROR, "The task was cancelled.", data=data)
    error = json.loads(task.error or "{}")
    raise Fault(error.get("code", INTERNAL_ERROR), error.get("message", ""), data=error.get("data"))


async def reveal(call: Call, task_id: UUID) -> Snapshot:
    """Make a hidden task an ordinary one, because the caller is given its id."""
    task = await pool.run(reveal_plan(task_id, owner_id=call.caller.owner_id, by=call.actor()))
    announce_now(task)
    return task


def note_fetch(call: Call, task_id: UUID) -> None:
    """Record, off the path of the answer, that the caller was given the outcome of a finished task."""
    background.spawn(lanes.note_fetch(Fetched(task_id, call.caller.credential_id, call.request.request_id)))


def abandon(call: Call, task_id: UUID) -> None:
    """Cancel a hidden task whose caller went away, unless a key lets the caller come back for it."""
    if call.idempotency_key is None:
        background.spawn(_cancel_hidden(call, task_id))


async def _cancel_hidden(call: Call, task_id: UUID) -> None:
    by = call.actor(reason="the caller went away")
    try:
        done = await pool.run(cancel_plan(task_id, owner_id=call.caller.owner_id, by=by))
    except NotFound:
        return
    if done.happened:
        announce_now(done.task, questions=True)
