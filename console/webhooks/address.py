"""Where a message may go: never into the network that this server itself stands in, unless a setting allows it.

A name is resolved when a message is sent, every address that it has is looked at, and the connection is made to one of
those addresses: so a name that changes its mind between the look and the call reaches nothing.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

LONGEST = 2000
PORTS = {"http": 80, "https": 443}
# IPv6 addresses that carry an IPv4 address on their way to a translator.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class Refused(Exception):
    """An address that no message is sent to, and why."""


def parse_url(text: str) -> SplitResult:
    """The parts of an address that a message could be sent to, as far as its text tells. Raises Refused."""
    if len(text) > LONGEST or not text.isascii() or any(not each.isprintable() or each == " " for each in text):
        raise Refused("An address has only visible ASCII characters, at most 2000.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise Refused("This is no address.") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise Refused("Give a full address, such as https://hooks.example.org/abc.")
    if parts.username is not None or parts.password is not None:
        raise Refused("An address must not hold a name or a password.")
    if port == 0:
        raise Refused("Port 0 cannot be reached.")
    literal = _literal(parts.hostname)
    if literal is not None:
        check_public(literal)
    return parts


def port_of(parts: SplitResult) -> int:
    """The port that an address names, or the usual one."""
    return parts.port or PORTS[parts.scheme]


def resolve(host: str, port: int) -> list[str]:
    """The numeric addresses of a host, each one allowed. Raises Refused, or OSError when there are none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    numbers = list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    for number in numbers:
        check_public(ip_address(number))
    return numbers


def check_public(address: IPv4Address | IPv6Address) -> None:
    """Refuse loopback, private, link-local, multicast and reserved addresses, also when they are wrapped in IPv6."""
    if settings.TASKDECK_WEBHOOK_ALLOW_PRIVATE:
        return
    for each in (address, *_carried(address)):
        if not each.is_global or each.is_multicast or each.is_reserved or each.is_unspecified:
            raise Refused("It leads into a private network; TASKDECK_WEBHOOK_ALLOW_PRIVATE=1 would allow that.")


def _carried(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in _TRANSLATED):
        carried.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in carried if each is not None]


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def host_of(url: str) -> str:
    """The host of an address, for people to read: the rest of it is a secret in most systems."""
    return urlsplit(url).hostname or ""
