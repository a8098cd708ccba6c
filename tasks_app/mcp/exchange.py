"""One HTTP exchange as the protocol core sees it: plain values, free of any framework.

`http` makes the `Request` and sends the `Reply` or the `Stream`; everything in between knows only what stands here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

JSON = "application/json"
EVENT_STREAM = "text/event-stream"


class Headers:
    """The header fields of a request: names in any case, values without surrounding blanks, duplicates kept apart."""

    __slots__ = ("_values",)

    def __init__(self, raw: RawHeaders = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip(" \t"))

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Headers:
        """The same from plain text, one value a name: for tests and for code that has no raw headers."""
        return cls((name.encode("latin-1"), value.encode("latin-1")) for name, value in values.items())

    def get(self, name: str) -> str | None:
        """The first value of this name; None when there is none. Bytes beyond ASCII appear as Latin-1."""
        found = self._values.get(name.lower())
        return found[0] if found else None

    def all(self, name: str) -> Sequence[str]:
        """Every value of this name, in the order in which they came."""
        return self._values.get(name.lower(), ())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values


@dataclass(slots=True)
class Request:
    """One HTTP request, read to its end."""

    http_method: str
    path: str
    headers: Headers
    body: bytes = b""
    query: str = ""
    address: str = ""
    """Who is at the other end of the connection, for limits and logs only."""
    credential: bytes | None = None
    """The digest of its bearer token, by which limits know the caller before the token is looked up."""
    request_id: str = ""
    """Goes into the log, the reply's X-Request-Id, the actor of every write and the worker's log."""
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has gone away before its answer was complete."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when this process was told to stop: an open stream says its last word now and ends."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. Cache-Control and X-Request-Id are added when it is sent."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that comes in frames of server-sent events; keep-alive comments are added in between.

    `messages` yields complete frames (`http.frame`). It is closed when the client goes away.
    """

    messages: AsyncIterator[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = Reply | Stream
