"""HTTP/1.1 over one kept connection, as little of it as the load needs: a request at a time, and its whole body."""

from __future__ import annotations

import asyncio

OK = (b"HTTP/1.1 200", b"HTTP/1.1 202")
END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One connection to a server on this machine."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._waiting: asyncio.Future[bytes] | None = None
        self._lost = False
        # The status line and the headers of the last answer.
        self.head = b""

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    async def request(self, data: bytes) -> bytes:
        """Send a request and give the body of its answer. Raises for any status but 200 and 202."""
        assert self._transport is not None
        assert self._waiting is None
        if self._lost:
            raise ConnectionResetError("the server hung up")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        body = await self._waiting
        if not self.head.startswith(OK):
            raise AssertionError(f"{self.head!r} {body!r}")
        return body

    def header(self, name: str) -> str:
        """A header of the last answer."""
        for line in self.head.decode("ascii").split("\r\n")[1:]:
            named, _, value = line.partition(":")
            if named.lower() == name:
                return value.strip()
        raise AssertionError(f"there is no {name} in {self.head!r}")

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Tell who waits, and who comes later."""
        self._lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error or ConnectionResetError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        """Take what came, and hand on a body that is whole."""
        self._buffer += data
        head, end, rest = self._buffer.partition(END)
        if not end:
            return
        body = _body(head.lower(), rest)
        if body is not None and self._waiting is not None:
            self.head, self._buffer = head, b""
            waiting, self._waiting = self._waiting, None
            # Whoever asked may have left.
            if not waiting.done():
                waiting.set_result(body)


def _body(head: bytes, rest: bytes) -> bytes | None:
    """The body if all of it is there."""
    _, named, after = head.partition(b"content-length:")
    if named:
        return rest if len(rest) >= int(after.split(b"\r\n", 1)[0]) else None
    if b"transfer-encoding: chunked" in head:
        return _unchunked(rest) if rest.endswith(b"0\r\n\r\n") else None
    return b""


def _unchunked(rest: bytes) -> bytes:
    found = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return found
        found, rest = found + rest[:length], rest[length + 2 :]
