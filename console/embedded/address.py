"""Where the site is served: read from HOST and PORT, checked before anything is started."""

from __future__ import annotations

import errno
import http.client
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from console.embedded.errors import EmbeddedError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "8000"
LAST_PORT = 65535
PORTS_TO_TRY = 20
PROBE_SECONDS = 2.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, never chosen


@dataclass(frozen=True)
class Address:
    """A host and port to listen on, and the name by which the site knows itself."""

    host: str
    port: int
    known_as: str

    @property
    def url(self) -> str:
        """What a person on this machine opens."""
        host = self._near_host
        return f"http://[{host}]:{self.port}/" if ":" in host else f"http://{host}:{self.port}/"

    @property
    def _near_host(self) -> str:
        return EVERYWHERE.get(self.host, self.host)

    def require_free(self) -> None:
        """Raise EmbeddedError when nothing can listen here."""
        reason = _trouble(self.host, port=self.port)
        if reason is None:
            return
        if reason == errno.EADDRINUSE:
            raise EmbeddedError(
                f"Port {self.port} is already in use. Choose another: make run PORT={self._next_free()}"
            )
        if reason in (errno.EACCES, errno.EPERM):
            raise EmbeddedError(f"Port {self.port} may not be used by this account. Choose another: make run PORT=8000")
        raise EmbeddedError(f"HOST={self.host} is not an address of this machine. Leave it out to use {DEFAULT_HOST}.")

    def is_healthy(self) -> bool:
        """Whether the site answers `GET /healthz` with 200."""
        connection = http.client.HTTPConnection(self._near_host, self.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", "/healthz", headers={"Host": f"{self.known_as}:{self.port}"})
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _next_free(self) -> int:
        later = range(self.port + 1, min(self.port + PORTS_TO_TRY, LAST_PORT) + 1)
        return next((port for port in later if _trouble(self.host, port=port) is None), int(DEFAULT_PORT))


def read_address(environ: Mapping[str, str]) -> Address:
    """HOST and PORT from the environment; raises EmbeddedError for one that makes no sense or is not safe."""
    host = environ.get("HOST") or DEFAULT_HOST
    allowed = [name.strip() for name in environ.get("TASKDECK_ALLOWED_HOSTS", "").split(",") if name.strip()]
    if not _is_loopback(host) and not allowed:
        raise EmbeddedError(
            f"HOST={host} can be reached from other machines. Say under which names the site may be asked for, "
            "for example TASKDECK_ALLOWED_HOSTS=tasks.example.org, or leave HOST out."
        )
    return Address(host=host, port=_read_port(environ), known_as=_known_as(host, allowed=allowed))


def _read_port(environ: Mapping[str, str]) -> int:
    text = environ.get("PORT") or DEFAULT_PORT
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LAST_PORT):
        raise EmbeddedError(f"PORT={text} is not a port. Choose a number from 1 to {LAST_PORT}: make run PORT=8000")
    return int(text)


def _known_as(host: str, *, allowed: list[str]) -> str:
    if _is_loopback(host) or not allowed or allowed[0] == "*":
        near = EVERYWHERE.get(host, host)
        return f"[{near}]" if ":" in near else near
    return allowed[0].lstrip(".")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _trouble(host: str, *, port: int) -> int | None:
    """The error number that keeps us from listening; None when we could."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        return errno.EADDRNOTAVAIL
    for family, kind, protocol, _, where in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(where)
                probe.listen(1)
        except OSError as error:
            return error.errno
    return None
