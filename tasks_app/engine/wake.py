"""The wake list: where drained children wait for a moment, and where a hint finds them without a message.

A token says "something is due". It stays in the list, trimmed to a few, when nobody waits: a child that is about to
wait then finds it. Without Redis there is no list, and hints go through the broker alone.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import redis
from django.db import connection

from tasks_app.conf import conf
from tasks_app.trip import Line

TOKENS = 8
SOCKET_SECONDS = 2.0
# For how long a message is believed to be on its way, if no child ever says that it has come.
ON_ITS_WAY_MS = 1_000


@lru_cache(maxsize=4)
def _connect(address: str) -> Line:
    return Line(redis.Redis.from_url(address, socket_timeout=SOCKET_SECONDS, socket_connect_timeout=SOCKET_SECONDS))


def _line() -> Line:
    return _connect(conf().wake_url)


def _list() -> str:
    # Servers that share a Redis but not a database must not wake each other's workers.
    return f"taskdeck.wake.{connection.settings_dict['NAME']}"


def _mark() -> str:
    return f"taskdeck.hinted.{connection.settings_dict['NAME']}"


def push(tokens: int) -> bool:
    """Wake as many waiting children; true when all that was pushed was taken at once."""
    if not conf().wake_url:
        return False
    tokens = max(1, min(tokens, TOKENS))
    name = _list()
    said = _line().trip([("LPUSH", name, *(["due"] * tokens)), ("LTRIM", name, 0, TOKENS - 1), ("LLEN", name)])
    return int(said[-1]) == 0


def park(seconds: float) -> bool:
    """Wait for a token; true when there was one. Without a list that can be reached it returns at once."""
    if not conf().wake_url:
        return False
    try:
        return _line().trip([("BLPOP", _list(), seconds)])[0] is not None
    except redis.RedisError:
        return False


def may_send() -> bool:
    """Whether a message is worth sending: false while one waits that no child has taken. Without a list, always."""
    if not conf().wake_url:
        return True
    return _line().trip([("SET", _mark(), 1, "NX", "PX", ON_ITS_WAY_MS)])[0] is not None


def taken() -> None:
    """Say that a child has taken a message: the next hint may send one. To be said before the child looks for work."""
    if not conf().wake_url:
        return
    with suppress(redis.RedisError):
        _line().trip([("DEL", _mark())])
