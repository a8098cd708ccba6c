"""Sending one message: one POST to an address that was looked at, no redirect followed, never for more than seconds."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult

from console.webhooks.address import Refused, parse_url, port_of, resolve

CONNECT_SECONDS = 4.0
TOTAL_SECONDS = 10.0
MOST_ADDRESSES = 3


class NotSent(Exception):
    """The other side did not take a message, and what is known of the reason."""


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Send it. Raises NotSent unless the other side said that it took it."""
    try:
        parts = parse_url(url)
        addresses = resolve(parts.hostname or "", port_of(parts))
    except Refused as refused:
        raise NotSent(str(refused)) from None
    except (OSError, UnicodeError):  # the second for a name that no name server could be asked about
        raise NotSent("The name of its host is not known.") from None
    status = _exchange(_Call(parts, addresses[:MOST_ADDRESSES]), body, headers)
    if 300 <= status < 400:
        raise NotSent(f"It answered {status}; redirects are not followed.")
    if not 200 <= status < 300:
        raise NotSent(f"It answered {status}.")


class _Call(http.client.HTTPConnection):
    """A connection to one of the addresses that were looked at, under the name that was asked for."""

    def __init__(self, parts: SplitResult, addresses: list[str]) -> None:
        super().__init__(parts.hostname or "", port_of(parts), timeout=CONNECT_SECONDS)
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._addresses = addresses
        self._open: socket.socket | None = None

    def connect(self) -> None:
        """Open the connection to the first address that answers."""
        for number, address in enumerate(self._addresses, 1):
            try:
                self._open = socket.create_connection((address, self.port), timeout=CONNECT_SECONDS)
                break
            except OSError:
                if number == len(self._addresses):
                    raise
        assert self._open is not None
        if self._tls is not None:
            self._open = self._tls.wrap_socket(self._open, server_hostname=self.host)
        self.sock = self._open

    def cut(self) -> None:
        """End it from another thread: a side that sends a byte now and then outlives every time-out of a socket."""
        if self._open is not None:
            with suppress(OSError):
                self._open.shutdown(socket.SHUT_RDWR)


def _exchange(call: _Call, body: bytes, headers: Mapping[str, str]) -> int:
    limit = threading.Timer(TOTAL_SECONDS, call.cut)
    limit.daemon = True
    limit.start()
    try:
        call.request("POST", call.target, body, dict(headers))
        return call.getresponse().status
    except TimeoutError:
        raise NotSent("It did not answer in time.") from None
    except ssl.SSLError as error:
        raise NotSent(f"Its certificate or encryption is not in order: {error.reason or error}.") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotSent(f"The connection failed: {type(error).__name__}.") from None
    finally:
        limit.cancel()
        call.close()
