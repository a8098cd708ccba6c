"""The Channels layer on Redis pub/sub, with a cheap way out for a thread that does nothing but send.

A message that is sent from an event loop costs a few hundred microseconds, most of them for the loop. Whoever announces
a change has two or three to send, and under load those of many changes at once: here they leave in one blocking trip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer
from channels_redis.utils import _consistent_hash, decode_hosts
from redis import Redis

from tasks_app.trip import Line

TRIP_SECONDS = 2.0
PREFIX = "asgi"


class OneTripLayer(RedisPubSubChannelLayer):  # type: ignore[misc]
    """Everything that its parent does, and `group_send_all`."""

    def group_send_all(self, messages: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Send each message to the subscribers of its group. Waits for Redis: never call it on a loop that serves."""
        by_server: dict[int, list[tuple[str, bytes]]] = defaultdict(list)
        for group, message in messages:
            # As the parent names and places it, or its subscribers would not hear it.
            channel = f"{self._kwargs.get('prefix', PREFIX)}__group__{group}"
            server = _consistent_hash(channel, len(self._servers))
            by_server[server].append((channel, self.serialize(message)))
        for server, published in by_server.items():
            self._servers[server].trip([("PUBLISH", channel, data) for channel, data in published])

    @cached_property
    def _servers(self) -> list[Line]:
        limits = {"socket_timeout": TRIP_SECONDS, "socket_connect_timeout": TRIP_SECONDS}
        return [Line(_client({**limits, **host})) for host in decode_hosts(self._kwargs.get("hosts"))]


def _client(host: dict[str, Any]) -> Redis:
    address = host.pop("address", None)
    return Redis(**host) if address is None else Redis.from_url(address, **host)
