"""The wake list: where drained children wait for a moment, and where a hint finds them without a message.

A token says "something is due". It stays in the list, trimmed to a few, when nobody waits: a child that is about to
wait then finds it. Without Redis there is no list, and hints go through the broker alone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache

import redis
from django.db import connection

from tasks_app.conf import conf

TOKENS = 8
SOCKET_SECONDS = 2.0
# For how long a message is believed to be on its way, if no child ever says that it has come.
ON_ITS_WAY_MS = 1_000


@lru_cache(maxsize=4)
def _connect(address: str, _process: int) -> redis.Redis:
    # By process: a connection that a fork shares would mix up two conversations.
    return redis.Redis.from_url(address, socket_timeout=SOCKET_SECONDS, socket_connect_timeout=SOCKET_SECONDS)


def _client() -> redis.Redis:
    return _connect(conf().wake_url, os.getpid())


def _list() -> str:
    # Servers that share a Redis but not a database must not wake each other's workers.
    return f"taskdeck.wake.{connection.settings_dict['NAME']}"


def _mark() -> str:
    return f"taskdeck.hinted.{connection.settings_dict['NAME']}"


def push(tokens: int) -> bool:
    """Wake as many waiting children; true when all that was pushed was taken at once."""
    if not conf().wake_url:
        return False
    pipeline = _client().pipeline(transaction=False)
    pipeline.lpush(_list(), *(["due"] * max(1, min(tokens, TOKENS))))
    pipeline.ltrim(_list(), 0, TOKENS - 1)
    pipeline.llen(_list())
    return int(pipeline.execute()[-1]) == 0


def park(seconds: float) -> bool:
    """Wait for a token; true when there was one. Without a list that can be reached it returns at once."""
    if not conf().wake_url:
        return False
    try:
        return _client().blpop([_list()], timeout=seconds) is not None
    except redis.RedisError:
        return False


def may_send() -> bool:
    """Whether a message is worth sending: false while one waits that no child has taken. Without a list, always."""
    if not conf().wake_url:
        return True
    return bool(_client().set(_mark(), 1, nx=True, px=ON_ITS_WAY_MS))


def taken() -> None:
    """Say that a child has taken a message: the next hint may send one. To be said before the child looks for work."""
    if not conf().wake_url:
        return
    with suppress(redis.RedisError):
        _client().delete(_mark())
