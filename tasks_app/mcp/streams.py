"""From what a handler gives back to an answer of HTTP: plain JSON where one object says it all, else a stream.

A stream may stay open for hours, so its credential and its session are looked at again now and then: one that was
revoked, has expired or was ended ends the stream.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from tasks_app.domain.errors import StorageUnavailable
from tasks_app.mcp import auth, http, lanes
from tasks_app.mcp.call import Call, Event, Final, Headed, Result, ResultText, Streaming, StreamItem
from tasks_app.mcp.errors import NOT_FOUND, OK, Refused, fault_of
from tasks_app.mcp.exchange import Answer, Reply, Stream
from tasks_app.mcp.feed import Feed, Pause
from tasks_app.mcp.jsonrpc import encode, encode_error, encode_result, encode_result_text

CHECK_SECONDS = 5.0


async def answer_of(call: Call, result: Result) -> Answer:
    """The answer that carries a result. Raises what the events of a stream raise before the first of them."""
    if isinstance(result, Streaming):
        return await _streamed(call, result)
    if isinstance(result, Headed):
        return Reply(OK, _response(call, result.result), result.headers)
    return Reply(OK, _response(call, result))


def _response(call: Call, result: dict[str, Any] | ResultText) -> bytes:
    if isinstance(result, ResultText):
        return encode_result_text(call.id, result.text)
    return encode_result(call.id, result)


async def _streamed(call: Call, streaming: Streaming) -> Answer:
    feed = Feed(streaming.events)
    if streaming.at_once:
        return Stream(_frames(call, feed, Pause.WAITING))
    try:
        unless = (call.request.disconnected, call.request.stopping)
        first = await feed.next(seconds=http.KEEPALIVE_SECONDS, unless=unless)
        if call.request.disconnected.is_set():
            raise http.Gone
        if isinstance(first, Final):
            await feed.close()
            return Reply(OK, _response(call, first.result))
    except BaseException:
        await feed.close()
        raise
    return Stream(_frames(call, feed, first))


async def _frames(call: Call, feed: Feed[StreamItem], item: StreamItem | Pause) -> AsyncIterator[bytes]:
    """Every event as a frame, and as the last one the response to the request."""
    access = _Access(call)
    try:
        while not isinstance(item, Final):
            if isinstance(item, Event | dict):
                yield _frame(item)
            item = await feed.next(seconds=access.seconds_left())
            if item is Pause.END:
                return
            await access.check()
        yield http.frame(_response(call, item.result), event_id=item.event_id)
    except Refused as refused:
        # The status has gone out already: all that is left is to say it in the response, where there is one.
        if call.id is not None:
            yield http.frame(encode_error(call.id, fault_of(refused)))
    except Exception as error:
        yield http.frame(encode_error(call.id, fault_of(error)))
    finally:
        await feed.close()


class _Access:
    """Whether the credential and the session that opened a stream are still in force, asked every few seconds."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._next = time.monotonic() + CHECK_SECONDS

    def seconds_left(self) -> float:
        """How long both may be taken for good."""
        return max(0.0, self._next - time.monotonic())

    async def check(self) -> None:
        """Ask again if it is time. Raises Refused (401, 404); a database that is away is asked the next time."""
        if self.seconds_left() > 0:
            return
        self._next = time.monotonic() + CHECK_SECONDS
        try:
            await auth.identify(auth.presented(self._call.request.headers))
            await self._check_session()
        except StorageUnavailable:
            return

    async def _check_session(self) -> None:
        session = self._call.session
        if session is not None and await lanes.find_session(session.id, owner_id=session.owner_id) is None:
            raise Refused(NOT_FOUND, "The session has ended. Start a new one with initialize.", error="session_ended")


def _frame(item: Event | dict[str, Any]) -> bytes:
    if isinstance(item, dict):
        return http.frame(encode(item))
    if item == Event():
        return http.KEEPALIVE
    data = None if item.message is None else encode(item.message)
    return http.frame(data, event_id=item.id, retry_ms=item.retry_ms)
