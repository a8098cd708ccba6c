"""Running a function inside this process: forbidden tools, prompts and resources, which leave no row.

They have a time limit, threads of their own, and a journal in memory that tells of progress and log lines one by one.
What becomes of their questions is decided by who calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tasks_app.conf import conf
from tasks_app.domain.errors import RpcError, Stop
from tasks_app.domain.identity import new_task_id
from tasks_app.domain.outcome import Dialect
from tasks_app.engine.call import Ended, How, call_tool_async
from tasks_app.engine.journal import Entry, Facts
from tasks_app.engine.memory import MemoryJournal
from tasks_app.engine.registry import Tool
from tasks_app.engine.results import tool_error
from tasks_app.engine.store_journal import answerable
from tasks_app.mcp import aside, background, pool
from tasks_app.mcp.call import Call, Final, Message, ResultText
from tasks_app.mcp.errors import INTERNAL_ERROR
from tasks_app.mcp.notices import Notices
from tasks_app.store.identity import owner_name_plan

T = TypeVar("T")
Notify = Callable[[Message], None]

THREADS = 32
REMEMBERED_OWNERS = 10_000

logger = logging.getLogger(__name__)

# Apart from the threads that read the database: tools that hang must not keep the rest of the server waiting.
_threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="inline")
_owner_names: dict[int, str] = {}


async def run(
    call: Call, tool: Tool, arguments: Mapping[str, Any], *, entries: Iterable[Entry] = (), notify: Notify | None = None
) -> Ended:
    """Run a function once, with the answers recorded so far, and say how that ended.

    Raises RpcError when it takes longer than it may. When the caller gives up, the function is told to stop.
    """
    journal = LiveJournal(call, tool, await _facts(call), entries=entries, notify=notify)
    try:
        async with asyncio.timeout(tool.timeout):
            return await call_tool_async(tool, arguments, journal, limits=conf().limits, offload=_in_own_thread)
    except TimeoutError:
        text = f"The tool ran longer than its {tool.timeout:g} s."
        raise RpcError(INTERNAL_ERROR, text, {"reason": "timeout"}) from None
    finally:
        # A thread cannot be ended from outside: whatever still runs there learns it from its context.
        journal.signal = Stop("nobody waits for this call any more")


def payload(ended: Ended) -> dict[str, Any]:
    """The result of a tool that has ended without asking. Raises the protocol error that it ended with."""
    if ended.how is How.RPC_ERROR and ended.payload is not None:
        raise RpcError(ended.payload["code"], ended.payload["message"], ended.payload.get("data"))
    return tool_error(f"The tool ended without a result ({ended.how}).") if ended.payload is None else ended.payload


async def streamed(
    call: Call, work: Callable[[Notify], Awaitable[dict[str, Any] | ResultText]]
) -> AsyncGenerator[Message | Final, None]:
    """Do the work of a call and yield what it notifies of as it comes, then its result; errors are raised.

    A client that goes away cancels its request in 2026-07-28; in 2025-11-25 the work goes on.
    """
    loop = asyncio.get_running_loop()
    messages: asyncio.Queue[Message | None] = asyncio.Queue()

    def notify(message: Message) -> None:
        loop.call_soon_threadsafe(messages.put_nowait, message)

    working = asyncio.ensure_future(work(notify))
    working.add_done_callback(lambda _: loop.call_soon(messages.put_nowait, None))
    try:
        while (message := await messages.get()) is not None:
            yield message
        yield Final(working.result())
    finally:
        if not working.done():
            _leave(call, working)


def _leave(call: Call, working: asyncio.Future[Any]) -> None:
    if call.dialect is Dialect.MODERN:
        working.cancel()
    else:
        background.spawn(_ignoring(working))


async def _ignoring(working: asyncio.Future[Any]) -> None:
    await asyncio.wait({working})
    if not working.cancelled():
        working.exception()


class LiveJournal(MemoryJournal):
    """A journal in memory whose progress and lines go to the client as they come."""

    def __init__(
        self, call: Call, tool: Tool, facts: Facts, *, entries: Iterable[Entry] = (), notify: Notify | None = None
    ) -> None:
        super().__init__(facts, entries=entries, limits=conf().limits)
        self._tool = tool
        self._notices = Notices(call)
        self._notify = notify

    def save_progress(self, done: float, *, total: float | None, message: str | None) -> None:
        """Tell how far the tool is."""
        self._tell(self._notices.progress(done, total, message))

    def save_message(self, text: str) -> None:
        """Keep nothing: a status message is for those who look at a task, and there is none."""

    def save_log(self, text: str) -> None:
        """Tell what the tool wrote."""
        self._tell(self._notices.log(text, logger=self._tool.name))

    def question_changed(self, name: str, *, was: str, now: str) -> None:
        """A text that depends on something that changes is worth a line in the log, no more."""
        logger.warning("%s asked %r as %r and now asks %r", self._tool.name, name, was, now)

    def _tell(self, messages: Iterator[Message]) -> None:
        for message in messages:
            if self._notify is not None and self.signal is None:
                self._notify(message)


async def _facts(call: Call) -> Facts:
    owner_id = call.caller.owner_id
    if owner_id not in _owner_names:
        if len(_owner_names) >= REMEMBERED_OWNERS:
            _owner_names.clear()
        _owner_names[owner_id] = await pool.run(owner_name_plan(owner_id))
    return Facts(
        task_id=str(new_task_id()),
        owner=_owner_names[owner_id],
        owner_id=owner_id,
        credential_id=call.caller.credential_id,
        is_task=False,
        client_can=answerable(call.client_capabilities),
    )


async def _in_own_thread(work: Callable[[], T]) -> T:
    return await aside.in_threads(_threads, work)
