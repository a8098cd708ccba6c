"""`tools/call` of 2026-07-28: here, as a task, or on a worker while the caller waits.

The server decides. A caller that waits holds a hidden task: when it goes away, so does the task; when it waits too
long, the task becomes an ordinary one and the caller is told its id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.engine.call import Ended, How
from tasks_app.engine.registry import Support, Tool
from tasks_app.mcp import calls, headers, inline, rounds, wire
from tasks_app.mcp.call import Call, Final, Message, Result, ResultText, Streaming
from tasks_app.mcp.calls import Wanted
from tasks_app.mcp.errors import missing_tasks_capability
from tasks_app.mcp.inline import Notify
from tasks_app.mcp.notices import Notices
from tasks_app.mcp.rounds import Round, State
from tasks_app.mcp.waiting import Seen, until_settled
from tasks_app.store.questions import Answered
from tasks_app.store.rows import Snapshot


async def call_tool(call: Call) -> Result:
    """Serve one call of a tool."""
    made = calls.wanted(call)
    tool = made.tool
    headers.check_params(call.request.headers, _annotations(tool), made.arguments)
    if tool.task is Support.REQUIRED and not call.declares_tasks and not calls.falls_back(tool):
        raise missing_tasks_capability()
    refusal = calls.argument_error(made)
    if refusal is not None:
        return wire.complete(refusal)
    this = rounds.read_round(call, tool.name, made.arguments)
    if tool.task is Support.FORBIDDEN:
        return Streaming(inline.streamed(call, partial(_in_process, this, made)))
    return await _on_worker(this, made)


async def _in_process(this: Round, made: Wanted, notify: Notify) -> dict[str, Any]:
    ended = await replay(this, made.tool, made.arguments, notify=notify)
    return wire.complete(inline.payload(ended)) if isinstance(ended, Ended) else ended


async def replay(
    this: Round, tool: Tool, arguments: dict[str, Any], *, notify: Notify | None = None
) -> Ended | dict[str, Any]:
    """Run a function of this process with the answers known so far: how it ended, or the result that asks for more."""
    state = this.state
    while True:
        ended = await inline.run(this.call, tool, arguments, entries=state.entries, notify=notify)
        if ended.how is not How.SUSPENDED:
            return ended
        fresh = rounds.entries_for(this, ended.questions)
        if not fresh:
            return rounds.ask(this, {asked.name: asked for asked in ended.questions}, state=state)
        state = rounds.after(state, fresh)


async def _on_worker(this: Round, made: Wanted) -> Result:
    call, tool = this.call, made.tool
    as_task = call.declares_tasks and (tool.task is Support.REQUIRED or await calls.becomes_task(made))
    if this.state.task_id is not None:
        return _wait(this, made, this.state.task_id, as_task=as_task)
    waits = tool.ask_first if as_task else calls.may_wait(tool)
    created = await calls.create(call, made, waiting=waits)
    if waits or (created.task.status.is_terminal and not as_task):
        return _wait(this, made, created.task.id, as_task=as_task)
    task = await calls.reveal(call, created.task.id) if created.task.waiting else created.task
    return task_result(task) if as_task else wire.complete(calls.later(task, tool))


def task_result(task: Snapshot) -> dict[str, Any]:
    """The result that hands out a task."""
    # An approval is none of the client's business, and nothing else is asked before the first attempt.
    shown = wire.modern_task(task, asks_client=task.attempt > 0)
    return {**wire.complete(shown), "resultType": "task"}


def _wait(this: Round, made: Wanted, task_id: UUID, *, as_task: bool) -> Streaming:
    return Streaming(_unless_left(this.call, task_id, _rounds(this, made, task_id, as_task=as_task)))


async def _unless_left(
    call: Call, task_id: UUID, events: AsyncGenerator[Message | Final, None]
) -> AsyncGenerator[Message | Final, None]:
    """The same events; a caller who does not stay for the last one takes the hidden task with it."""
    has_ended = False
    try:
        async with aclosing(events):
            async for item in events:
                has_ended = isinstance(item, Final)
                yield item
    except (asyncio.CancelledError, GeneratorExit):
        if not has_ended:
            calls.abandon(call, task_id)
        raise


async def _rounds(this: Round, made: Wanted, task_id: UUID, *, as_task: bool) -> AsyncGenerator[Message | Final, None]:
    """Wait for the task, answer it with what this round brought, and end with its outcome or with what it asks."""
    deadline = time.monotonic() + conf().sync_budget
    notices = Notices(this.call)
    count = this.state.count
    while True:
        seen: Seen | None = None
        left = max(0.0, deadline - time.monotonic())
        async with aclosing(until_settled(this.call, task_id, seconds=left, notices=notices)) as items:
            async for item in items:
                if isinstance(item, Seen):
                    seen = item
                else:
                    yield item
        if seen is None:
            raise NotFound
        answered = await _answer(this, seen)
        if answered is None:
            yield Final(await _ended(this, made, seen, count=count, as_task=as_task))
            return
        count += len(answered.recorded)
        if as_task and not answered.task.open_questions:
            yield Final(task_result(await calls.reveal(this.call, task_id)))
            return


async def _answer(this: Round, seen: Seen) -> Answered | None:
    """Record what this round brought for the questions that are open; None when it brought nothing for them."""
    asked = [question for question in seen.questions if question.name in this.given]
    if not asked:
        return None
    # Taken out, so that an answer that came too late is not tried again and again.
    answers = {each.key: wire.answer_of(each.kind, this.given.pop(each.name)) for each in asked}
    return await rounds.answer(this.call, seen.task.id, answers)


async def _ended(this: Round, made: Wanted, seen: Seen, *, count: int, as_task: bool) -> dict[str, Any] | ResultText:
    """What the caller is told when there is nothing more to wait for, or no more time."""
    call, task = this.call, seen.task
    if seen.is_final and not as_task:
        calls.note_fetch(call, task.id)
        return ResultText(wire.complete_text(calls.stored_result(task)))
    if seen.questions and rounds.undeclared(call, seen.questions) is None:
        questions = {asked.name: asked for asked in seen.questions}
        return rounds.ask(this, questions, state=State(count=count, task_id=task.id))
    task = await calls.reveal(call, task.id)
    return task_result(task) if as_task else wire.complete(calls.later(task, made.tool, asks=bool(seen.questions)))


@lru_cache(maxsize=1024)
def _annotations(tool: Tool) -> dict[str, tuple[str, ...]]:
    try:
        return headers.annotated_headers(tool.input_schema)
    except ValueError:
        # No client could honour it, so none is held to it.
        return {}
