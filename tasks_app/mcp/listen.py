"""`subscriptions/listen` of 2026-07-28: a stream on which the changes of the caller's own tasks arrive.

Polling tells the same. What was missed while nobody listened is not sent again: the stream begins with how things are.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tasks_app.domain.errors import NotFound
from tasks_app.mcp import calls, pool, wire
from tasks_app.mcp.call import Call, Final, Message, Streaming
from tasks_app.mcp.errors import invalid_params, missing_tasks_capability
from tasks_app.mcp.polls import to_task_id
from tasks_app.mcp.waiting import Seen, watching
from tasks_app.store.follow import own_plan

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
MOST_TASKS = 100


async def listen(call: Call) -> Streaming:
    """Open the stream. Ids that name no task of the caller's are left out, without a word."""
    wanted = call.params.get("notifications")
    if not isinstance(wanted, dict):
        raise invalid_params("`notifications` must be an object")
    if "taskIds" not in wanted:
        return Streaming(_silent(call))
    if not call.declares_tasks:
        raise missing_tasks_capability()
    named = _task_ids(wanted["taskIds"])
    return Streaming(_follow(call, await pool.run(own_plan(named, owner_id=call.caller.owner_id))))


def _task_ids(named: Any) -> list[UUID]:
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        raise invalid_params("`taskIds` must be a list of strings")
    if len(named) > MOST_TASKS:
        raise invalid_params(f"`taskIds` may name at most {MOST_TASKS} tasks")
    found = []
    for text in dict.fromkeys(named):
        try:
            found.append(to_task_id(text))
        except NotFound:
            continue
    return found


async def _follow(call: Call, task_ids: list[UUID]) -> AsyncGenerator[Message | Final, None]:
    async with watching(*task_ids, owner_id=call.caller.owner_id) as watch:
        # Only now: what happens from here on is heard.
        yield _acknowledged(call, {"taskIds": [str(task_id) for task_id in task_ids]})
        async with aclosing(watch.changes(call)) as changes:
            async for seen in changes:
                yield _changed(call, seen)
    yield _end(call)


async def _silent(call: Call) -> AsyncGenerator[Message | Final, None]:
    """Nothing that we could tell was asked for: the stream stays open, and says nothing until the server stops."""
    yield _acknowledged(call, {})
    await call.request.stopping.wait()
    yield _end(call)


def _acknowledged(call: Call, honoured: dict[str, Any]) -> Message:
    return _notification(call, "notifications/subscriptions/acknowledged", {"notifications": honoured})


def _changed(call: Call, seen: Seen) -> Message:
    if seen.is_final:
        calls.note_fetch(call, seen.task.id)
    shown = wire.modern_detail(seen.task, seen.questions, now=datetime.now(UTC))
    plain = {name: json.loads(value) if isinstance(value, wire.Spliced) else value for name, value in shown.items()}
    return _notification(call, "notifications/tasks", plain, meta=wire.extras(seen.task))


def _notification(call: Call, method: str, params: dict[str, Any], *, meta: dict[str, Any] | None = None) -> Message:
    subscription = {SUBSCRIPTION_ID: call.id, **(meta or {})}
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": subscription, **params}}


def _end(call: Call) -> Final:
    return Final({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: call.id}})
