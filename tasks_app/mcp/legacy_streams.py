"""Open streams of 2025-11-25: a client waits for a task and hears of it, is asked what the task asks, and gets its end.

A message goes out on one stream only. A question goes to the stream that waits for the task, so nobody is asked twice
at once; a stream that is opened again repeats it under the same id. Where a task stands is told on the standing stream
(`legacy_news`), whichever process serves that. Losing a stream changes nothing: a disconnect is not a cancel.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.engine.registry import Tool
from tasks_app.engine.store_journal import answerable
from tasks_app.mcp import calls, legacy_withdrawals, pool, wire
from tasks_app.mcp.call import Call, Event, Final, Id, Message, ResultText, Streaming, StreamItem
from tasks_app.mcp.errors import BAD_REQUEST, INTERNAL_ERROR, INVALID_PARAMS, Fault, fault_of
from tasks_app.mcp.legacy_news import news
from tasks_app.mcp.legacy_shapes import has_tasks, result_text
from tasks_app.mcp.legacy_threads import Thread, read_event_id
from tasks_app.mcp.notices import Notices
from tasks_app.mcp.waiting import REREAD_SECONDS, Seen, look, watching
from tasks_app.store.expiry import EXPIRED
from tasks_app.store.follow import own_plan
from tasks_app.store.progress import progress_token_plan

RETRY_MS = 1_000
# A tool that ends sooner is answered with plain JSON.
PRIME_SECONDS = 0.5


class Teller:
    """Puts what is seen of a task into messages for one stream: each question once, and progress that rises."""

    def __init__(self, call: Call, thread: Thread, *, token: Id | None) -> None:
        self._call = call
        self._thread = thread
        self._kinds = answerable(call.client_capabilities)
        self._related = {} if thread.is_call else {wire.RELATED_TASK: {"taskId": str(thread.task_id)}}
        self._notices = Notices(replace(call, progress_token=token), meta=self._related)
        self._asked: set[str] = set()
        self.is_primed = False

    def prime(self) -> Iterator[StreamItem]:
        """The event that opens the stream and tells the client how to find it again, once, to those who know of it."""
        if not self.is_primed and has_tasks(self._call):
            yield Event(id=self._next(), retry_ms=RETRY_MS)
        self.is_primed = True

    def tell(self, seen: Seen) -> Iterator[StreamItem]:
        """What this stream has not said yet."""
        messages = [*self._progress(seen), *self._questions(seen)]
        if messages:
            yield from self.prime()
        for message in messages:
            yield Event(message, id=self._next() if has_tasks(self._call) else None)

    def is_asking(self, seen: Seen) -> bool:
        """Whether the task waits for this client, which was asked."""
        return any(asked.key in self._asked for asked in seen.questions)

    def cannot_ask(self, seen: Seen) -> bool:
        """Whether the task waits for an answer that only somebody else can give."""
        return bool(seen.questions) and not self.is_asking(seen)

    def end(self, seen: Seen) -> Final:
        """The outcome as the answer to the request. Raises the fault that the task ended with."""
        calls.note_fetch(self._call, seen.task.id)
        text = calls.stored_result(seen.task) if self._thread.is_call else result_text(seen.task)
        return Final(ResultText(text), event_id=self._next() if self.is_primed and has_tasks(self._call) else None)

    def _next(self) -> str:
        self._thread = self._thread.next()
        return self._thread.event_id

    def _progress(self, seen: Seen) -> Iterator[Message]:
        return iter(()) if seen.is_final else self._notices.row(seen.task)

    def _questions(self, seen: Seen) -> Iterator[Message]:
        for asked in seen.questions:
            if asked.key not in self._asked and asked.kind in self._kinds:
                self._asked.add(asked.key)
                yield self._for_client(wire.legacy_request(asked))

    def _for_client(self, request: Message) -> Message:
        """A request in the words of the client's revision: modes and tasks came later than elicitation."""
        params = dict(request["params"])
        if not has_tasks(self._call):
            params.pop("mode", None)
        if self._thread.is_call:
            params.pop("_meta", None)
        return {**request, "params": params}


async def until_end(call: Call, thread: Thread) -> AsyncGenerator[StreamItem, None]:
    """Wait for a task however long it takes; the result last. Raises the fault that the task ended with."""
    teller = Teller(call, thread, token=await _token(call, thread))
    for item in teller.prime():
        yield item
    async with (
        watching(thread.task_id, owner_id=call.caller.owner_id) as watch,
        aclosing(watch.changes(call)) as changes,
    ):
        async for seen in changes:
            for item in teller.tell(seen):
                yield item
            if seen.is_final:
                yield teller.end(seen)
                return
    if not call.request.stopping.is_set():
        raise _gone()


class Patience:
    """How long a tool call may still wait; the time in which its client is asked does not count."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._since = time.monotonic()
        self._is_asked = False

    @property
    def is_spent(self) -> bool:
        """Whether the time is up."""
        return self._left <= 0

    def pass_time(self, *, is_asked: bool) -> None:
        """Count the time since the last look, and say how things stand from now on."""
        now = time.monotonic()
        self._left -= 0 if self._is_asked else now - self._since
        self._since, self._is_asked = now, is_asked

    def step(self, longest: float) -> float:
        """How long to wait before the next look."""
        return longest if self._is_asked else min(longest, max(self._left, 0))


async def until_answered(call: Call, thread: Thread, tool: Tool) -> AsyncGenerator[StreamItem, None]:
    """Wait for the hidden task of a tool call within the budget; the result last. Raises the fault that it ended with.

    When the budget is spent, or the task asks what this client cannot answer, the result says how to get it later.
    """
    teller = Teller(call, thread, token=call.progress_token)
    patience = Patience(conf().sync_budget)
    is_asked = is_stuck = False
    async with (
        legacy_withdrawals.cancelling(call, thread.task_id),
        watching(thread.task_id, owner_id=call.caller.owner_id) as watch,
    ):
        while not (is_stuck or patience.is_spent or call.request.stopping.is_set()):
            step = patience.step(REREAD_SECONDS if teller.is_primed else PRIME_SECONDS)
            async with aclosing(watch.changes(call, seconds=step)) as changes:
                async for seen in changes:
                    for item in teller.tell(seen):
                        yield item
                    if seen.is_final:
                        yield teller.end(seen)
                        return
                    is_asked, is_stuck = teller.is_asking(seen), teller.cannot_ask(seen)
                    patience.pass_time(is_asked=is_asked)
            patience.pass_time(is_asked=is_asked)
            for item in teller.prime():
                yield item
    if call.request.stopping.is_set() and teller.is_primed and has_tasks(call):
        return
    yield await _later(call, teller, tool, task_id=thread.task_id)


async def _later(call: Call, teller: Teller, tool: Tool, *, task_id: UUID) -> Final:
    """How to get the result later, unless it has just come."""
    seen = await look(task_id, owner_id=call.caller.owner_id)
    if seen is None:
        raise _gone()
    return teller.end(seen) if seen.is_final else Final(calls.later(await calls.reveal(call, task_id), tool))


async def listen(call: Call) -> Streaming:
    """The stream of a GET: of everything that happens to the owner's tasks, or the one that broke off after an event.

    Raises the fault (400) when the event is none of a stream that waited for a task of this owner.
    """
    last = call.params.get("lastEventId")
    if last is None:
        return Streaming(news(call))
    try:
        thread = read_event_id(last)
    except NotFound:
        raise _no_stream() from None
    # Not `look`, which sees what has expired too: nobody waits for that any more.
    if not await pool.run(own_plan([thread.task_id], owner_id=call.caller.owner_id)):
        raise _no_stream()
    return Streaming(_resumed(call, thread), at_once=True)


def _no_stream() -> Fault:
    return Fault(INVALID_PARAMS, "There is no stream with this event: send the request again", http_status=BAD_REQUEST)


async def _resumed(call: Call, thread: Thread) -> AsyncGenerator[StreamItem, None]:
    """The rest of a broken stream, its response included: a GET has none of its own."""
    response: Message = {"jsonrpc": "2.0", "id": thread.request_id}
    try:
        async with aclosing(until_end(call, thread)) as events:
            async for item in events:
                if isinstance(item, Final):
                    assert isinstance(item.result, ResultText)
                    yield Event({**response, "result": json.loads(item.result.text)}, id=item.event_id)
                else:
                    yield item
    except Exception as error:
        yield Event({**response, "error": fault_of(error).as_json()})


async def _token(call: Call, thread: Thread) -> Id | None:
    """Under which token this client hears of the progress: the one that the tool was called with."""
    kept = await pool.run(progress_token_plan(thread.task_id, owner_id=call.caller.owner_id))
    return call.progress_token if kept is None else kept


def _gone() -> Fault:
    """A task whose row went away while it was waited for has expired long ago."""
    return Fault(INTERNAL_ERROR, str(EXPIRED["message"]), data=EXPIRED["data"])
