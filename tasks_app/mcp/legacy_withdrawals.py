"""`notifications/cancelled`: a client takes back a request that still waits, in whichever process that is.

The word goes round by the bus, so it may be lost: then the request merely goes on. A task is never cancelled in this
way, only the hidden one of a waiting tool call, which its client does not know.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

from channels.layers import get_channel_layer

from tasks_app import bus
from tasks_app.domain.errors import NotFound
from tasks_app.domain.text import digest
from tasks_app.mcp import pool
from tasks_app.mcp.call import Call
from tasks_app.mcp.errors import INTERNAL_ERROR, Fault
from tasks_app.store.announce import announce_now
from tasks_app.store.cancel import cancel_plan

T = TypeVar("T")

MESSAGE = "request.cancelled"
SEND_SECONDS = 2.0
LISTEN_SECONDS = 3600.0
REASON = "the client took its request back"

logger = logging.getLogger(__name__)


async def withdraw(call: Call) -> None:
    """Tell whoever serves it that the client of this session no longer wants an answer to a request."""
    request_id = call.params.get("requestId")
    if call.session is None or isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return
    message = {"type": MESSAGE, "request": json.dumps(request_id)}
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await get_channel_layer().group_send(_group(call.session.id), message)
    except Exception as error:
        logger.warning("a cancelled request could not be announced: %r", error)


@asynccontextmanager
async def cancelling(call: Call, task_id: UUID) -> AsyncIterator[None]:
    """While the block lasts, a withdrawal of this call cancels its hidden task; the end of the task ends the wait."""
    if call.session is None:
        yield
        return
    async with bus.listening(_group(call.session.id)) as inbox:
        waiting = asyncio.create_task(_cancel_when_withdrawn(call, task_id, inbox))
        try:
            yield
        finally:
            await _stop(waiting)


async def unless_withdrawn(call: Call, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work of a call, or give up when the client takes it back. Raises the fault then."""
    if call.session is None:
        return await work()
    async with bus.listening(_group(call.session.id)) as inbox:
        working = asyncio.ensure_future(work())
        waiting = asyncio.create_task(_until_withdrawn(call, inbox))
        try:
            await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise Fault(INTERNAL_ERROR, "The request was cancelled.", data={"reason": "cancelled"})
        finally:
            await _stop(waiting)
            await _stop(working)


async def _cancel_when_withdrawn(call: Call, task_id: UUID, inbox: bus.Inbox) -> None:
    await _until_withdrawn(call, inbox)
    with suppress(NotFound):
        done = await pool.run(cancel_plan(task_id, owner_id=call.caller.owner_id, by=call.actor(reason=REASON)))
        if done.happened:
            announce_now(done.task, questions=True)


async def _until_withdrawn(call: Call, inbox: bus.Inbox) -> None:
    wanted = json.dumps(call.id)
    while True:
        heard = await inbox.get(LISTEN_SECONDS)
        if heard is not None and heard.get("request") == wanted:
            return


async def _stop(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _group(session_id: str) -> str:
    # A session id must not lie about in the broker.
    return f"session.{digest(session_id.encode('utf-8', 'surrogatepass')).hex()[:40]}"
