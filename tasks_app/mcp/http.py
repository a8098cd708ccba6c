"""HTTP as the server hands it over (ASGI): reading a request within its limits, sending a reply or a stream.

What a message means is not known here, only whether it may come in and how an answer goes out.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any, TypeAlias

from tasks_app.mcp.errors import BAD_REQUEST, Refused
from tasks_app.mcp.exchange import EVENT_STREAM, JSON, Headers, Reply, Request, Stream
from tasks_app.mcp.feed import Feed, Pause
from tasks_app.mcp.stopping import stopping

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

READ_SECONDS = 5.0
KEEPALIVE_SECONDS = 15.0
LAST_WORD_SECONDS = 2.0
SLOW_CLIENT_SECONDS = 30.0
# Of a larger answer so much at a time, so that a client that does not read is noticed before it holds all of it.
PIECE_BYTES = 64 * 1024
# Most requests are answered before anyone could go away: only then is it worth a look.
WATCH_AFTER_SECONDS = 0.05

# More digits than the length of any body has; Python refuses to read thousands of them.
LENGTH_DIGITS = 20

TIMEOUT = 408
NOT_ACCEPTABLE = 406
TOO_LARGE = 413
UNSUPPORTED_MEDIA = 415

KEEPALIVE = b": ping\r\n\r\n"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CLOSE = {"Connection": "close"}

logger = logging.getLogger(__name__)


class Gone(Exception):
    """The client went away before its request was complete: there is nobody to answer."""


def request_of(scope: Scope) -> Request:
    """The request without its body."""
    headers = Headers(scope["headers"])
    given = headers.get("x-request-id")
    client = scope.get("client")
    return Request(
        http_method=scope["method"],
        path=scope["path"],
        headers=headers,
        query=scope.get("query_string", b"").decode("latin-1"),
        address=client[0] if client else "",
        request_id=given if given and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8),
        stopping=stopping(),
    )


def check_content(headers: Headers) -> None:
    """The body of a POST must be JSON as it is, and both kinds of answer must be welcome. Raises Refused (415, 406)."""
    kinds, taken = tuple(headers.all("content-type")), tuple(headers.all("accept"))
    if not _is_json(kinds):
        raise Refused(UNSUPPORTED_MEDIA, f"The body must be {JSON} in UTF-8.", error="unsupported_media_type")
    if "content-encoding" in headers:
        raise Refused(UNSUPPORTED_MEDIA, "The body must not be compressed.", error="unsupported_media_type")
    if not _takes_both(taken):
        raise Refused(NOT_ACCEPTABLE, f"Accept must list {JSON} and {EVENT_STREAM}.", error="not_acceptable")


# Clients of one kind always send the same, so what these headers mean is worked out once.
@lru_cache(maxsize=256)
def _is_json(kinds: tuple[str, ...]) -> bool:
    if len(kinds) != 1:
        return False
    kind, _, parameters = kinds[0].partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    return kind.strip().lower() == JSON and charset in {"", "utf-8"}


@lru_cache(maxsize=256)
def _takes_both(accept: tuple[str, ...]) -> bool:
    return all(any(_is_among(value, kind) for value in accept) for kind in (JSON, EVENT_STREAM))


def accepts(headers: Headers, media_type: str) -> bool:
    """Say whether a client that sends these headers takes an answer of this type."""
    return any(_is_among(value, media_type) for value in headers.all("accept"))


def _is_among(accept: str, media_type: str) -> bool:
    wanted = {media_type, f"{media_type.partition('/')[0]}/*", "*/*"}
    for part in accept.split(","):
        name, *parameters = part.split(";")
        if name.strip().lower() in wanted and not any(_is_zero(parameter) for parameter in parameters):
            return True
    return False


def _is_zero(parameter: str) -> bool:
    return re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameter, re.IGNORECASE) is not None


async def read_body(headers: Headers, receive: Receive, *, limit: int) -> bytes:
    """The whole body. Raises Refused (413 too large, 408 too slow, 400 malformed length) and Gone."""
    stated = headers.get("content-length")
    if stated is not None and not (stated.isascii() and stated.isdigit()):
        raise Refused(BAD_REQUEST, "Content-Length must be a number.", error="bad_length", headers=_CLOSE)
    if stated is not None and (len(stated) > LENGTH_DIGITS or int(stated) > limit):
        raise _too_large(limit)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await _read(receive, limit=limit)
    except TimeoutError:
        text = f"The body did not come within {READ_SECONDS:.0f} s."
        raise Refused(TIMEOUT, text, error="too_slow", headers=_CLOSE) from None


async def _read(receive: Receive, *, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> Refused:
    return Refused(TOO_LARGE, f"The body has more than {limit} bytes.", error="too_large", headers=_CLOSE)


class Watch:
    """Looks whether the client is still there, from a moment after the request was read until `stop`."""

    def __init__(self, request: Request, receive: Receive) -> None:
        self._request = request
        self._receive = receive
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_SECONDS, self._start)

    def stop(self) -> None:
        """Look no longer."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._request.disconnected.set()


def frame(data: bytes | None, *, event_id: str | None = None, retry_ms: int | None = None) -> bytes:
    """One server-sent event; without data it only primes the client. `data` is one line, an id has no line breaks."""
    lines = [b"event: message"] if data else []
    if event_id is not None:
        lines.append(b"id: " + event_id.encode("ascii"))
    if retry_ms is not None:
        lines.append(b"retry: " + str(retry_ms).encode("ascii"))
    lines.append(b"data: " + (data or b""))
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def send_reply(reply: Reply, *, send: Send, request: Request) -> None:
    """Send a whole answer, in pieces if it is large; a client that does not take the next one in time is cut off."""
    headers = [
        (b"content-length", str(len(reply.body)).encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"x-request-id", request.request_id.encode("ascii")),
        *_raw(reply.headers),
    ]
    if reply.body:
        headers.append((b"content-type", b"application/json"))
    body = b"" if request.http_method == "HEAD" else reply.body
    try:
        async with asyncio.timeout(SLOW_CLIENT_SECONDS):
            await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            if len(body) <= PIECE_BYTES:
                await send({"type": "http.response.body", "body": body})
                return
        for start in range(0, len(body), PIECE_BYTES):
            piece, is_last = body[start : start + PIECE_BYTES], start + PIECE_BYTES >= len(body)
            await _in_time(send, {"type": "http.response.body", "body": piece, "more_body": not is_last})
    except TimeoutError:
        _cut_off(request)


async def send_stream(stream: Stream, *, send: Send, request: Request) -> None:
    """Send frames as they come, with signs of life in between; ends with the last one, the client or the process."""
    headers = [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-store, no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
        (b"x-request-id", request.request_id.encode("ascii")),
        *_raw(stream.headers),
    ]
    frames = _Frames(stream, request)
    try:
        await _in_time(send, {"type": "http.response.start", "status": stream.status, "headers": headers})
        while (data := await frames.next()) is not None:
            await _in_time(send, {"type": "http.response.body", "body": data, "more_body": True})
        if not request.disconnected.is_set():
            await _in_time(send, {"type": "http.response.body", "body": b""})
    except TimeoutError:
        _cut_off(request)
    except OSError:
        request.disconnected.set()
    finally:
        await frames.close()


class _Frames:
    """What a stream has to send, and when it has to end."""

    def __init__(self, stream: Stream, request: Request) -> None:
        self._feed = Feed(stream.messages)
        self._request = request
        self._ends_at: float | None = None
        self.close = self._feed.close

    async def next(self) -> bytes | None:
        """The next frame, or a sign of life; None when there is nothing more to send."""
        item = await self._item()
        if isinstance(item, bytes):
            return item
        may_go_on = item is Pause.WAITING and self._ends_at is None and not self._request.disconnected.is_set()
        return KEEPALIVE if may_go_on else None

    async def _item(self) -> bytes | Pause:
        request = self._request
        if not request.stopping.is_set():
            unless = (request.disconnected, request.stopping)
            item = await self._feed.next(seconds=KEEPALIVE_SECONDS, unless=unless)
            if item is not Pause.WAITING or not request.stopping.is_set():
                return item
        now = asyncio.get_running_loop().time()
        self._ends_at = self._ends_at or now + LAST_WORD_SECONDS
        return await self._feed.next(seconds=max(0.0, self._ends_at - now), unless=(request.disconnected,))


def _cut_off(request: Request) -> None:
    """Send no more: an answer that is not complete makes the server close the connection."""
    request.disconnected.set()
    logger.info("request %s: the client reads too slowly and is cut off", request.request_id)


async def _in_time(send: Send, message: dict[str, Any]) -> None:
    async with asyncio.timeout(SLOW_CLIENT_SECONDS):
        await send(message)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
