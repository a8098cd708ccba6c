"""`tools/*` of 2025-11-25 and before: here, as a task when the caller says so, or on a worker while the caller waits.

The field `task` is the whole signal: that it is there counts, not what it holds. Clients of older revisions have no
tasks, so for them it means nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tasks_app.domain.ttl import NOT_ASKED
from tasks_app.engine.call import How
from tasks_app.engine.registry import Support, registry
from tasks_app.engine.results import tool_error
from tasks_app.mcp import calls, inline, wire
from tasks_app.mcp.call import Call, Result, Streaming
from tasks_app.mcp.calls import Wanted
from tasks_app.mcp.errors import invalid_params, method_not_found
from tasks_app.mcp.inline import Notify
from tasks_app.mcp.legacy_shapes import has_tasks, shown
from tasks_app.mcp.legacy_streams import until_answered
from tasks_app.mcp.legacy_threads import Thread
from tasks_app.mcp.legacy_withdrawals import unless_withdrawn
from tasks_app.mcp.paging import page_of
from tasks_app.store.hidden import on_stream
from tasks_app.store.progress import with_progress_token


async def list_tools(call: Call) -> dict[str, Any]:
    """Every tool; whether it can be a task is told to those who have tasks."""
    page = page_of(registry.all(), call.params.get("cursor"), key=lambda tool: tool.name)
    tools = [wire.legacy_tool(tool, has_tasks=has_tasks(call)) for tool in page.items]
    return {"tools": tools, **page.following}


async def call_tool(call: Call) -> Result:
    """Serve one call of a tool."""
    made = calls.wanted(call)
    as_task = has_tasks(call) and "task" in call.params
    _check_support(made, as_task=as_task)
    ttl_ms = _lifetime(call.params["task"]) if as_task else NOT_ASKED
    refusal = calls.argument_error(made)
    if refusal is not None:
        return refusal
    if made.tool.task is Support.FORBIDDEN:
        return Streaming(inline.streamed(call, partial(_in_process, call, made)))
    return await _as_task(call, made, ttl_ms) if as_task else await _while_waiting(call, made)


def _check_support(made: Wanted, *, as_task: bool) -> None:
    """Raises the fault for a tool that cannot be called in this way."""
    support = made.tool.task
    if as_task and support is Support.FORBIDDEN:
        raise method_not_found("This tool is never a task: call it without `task`")
    if not as_task and support is Support.REQUIRED and not calls.falls_back(made.tool):
        raise method_not_found("This tool is always a task: call it with `task`, in revision 2025-11-25")


def _lifetime(asked: Any) -> object:
    if not isinstance(asked, dict):
        raise invalid_params("`task` must be an object")
    return asked.get("ttl", NOT_ASKED)


async def _in_process(call: Call, made: Wanted, notify: Notify) -> dict[str, Any]:
    ended = await unless_withdrawn(call, partial(inline.run, call, made.tool, made.arguments, notify=notify))
    if ended.how is How.SUSPENDED:
        return tool_error(
            f"{made.tool.name} asked a question, which it cannot do in this process for clients of this revision. "
            'Declare it with task="optional", so that it runs on a worker and can wait.'
        )
    return inline.payload(ended)


async def _as_task(call: Call, made: Wanted, ttl_ms: object) -> dict[str, Any]:
    told = replace(call, client_capabilities=with_progress_token(call.client_capabilities, call.progress_token))
    created = await calls.create(told, made, ttl_ms=ttl_ms)
    task = created.task
    # The key may be that of a call that waited; from now on its caller knows the id.
    return {"task": shown(await calls.reveal(call, task.id) if task.waiting else task)}


async def _while_waiting(call: Call, made: Wanted) -> Result:
    waits = calls.may_wait(made.tool)
    told = replace(call, client_capabilities=on_stream(call.client_capabilities)) if waits else call
    created = await calls.create(told, made, waiting=waits)
    if not waits and not created.task.status.is_terminal:
        task = await calls.reveal(call, created.task.id) if created.task.waiting else created.task
        return calls.later(task, made.tool)
    assert call.id is not None
    return Streaming(until_answered(call, Thread(created.task.id, call.id, is_call=True), made.tool))
