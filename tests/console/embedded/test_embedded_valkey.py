"""The embedded Valkey: its two addresses, its crash, and what may lie in its way."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu.connection import Connection

from console.embedded.errors import EmbeddedError
from console.embedded.valkey import EmbeddedValkey


@pytest.fixture
def valkey(place: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(place / "valkey")
    yield server
    server.stop()


def broker(server: EmbeddedValkey) -> Any:
    connect: Any = Connection
    return connect(server.broker_url)


def client(server: EmbeddedValkey) -> Any:
    return redis.Redis.from_url(server.channel_url)


def test_valkey_answers_redis_clients_and_celery_at_its_addresses(place: Path) -> None:
    server = EmbeddedValkey(place / "with space 100%" / "valkey")

    try:
        server.start()
        with broker(server) as connection:
            queue = connection.SimpleQueue("hints")
            queue.put({"task": "t1"})
            message = queue.get(timeout=5)
            message.ack()
            queue.close()
        answered = client(server).ping()
    finally:
        server.stop()

    assert message.payload == {"task": "t1"}
    assert answered is True


def test_valkey_is_reachable_through_a_private_socket_only(valkey: EmbeddedValkey) -> None:
    valkey.start()

    settings = client(valkey).config_get("*")

    assert settings["port"] == "0"
    assert settings["maxmemory-policy"] == "noeviction"
    assert stat.S_IMODE(valkey.sockets.stat().st_mode) == 0o700


def test_valkey_keeps_what_it_acknowledged_after_kill_9(valkey: EmbeddedValkey, eventually: Any) -> None:
    valkey.start()
    client(valkey).set("kept", "yes")
    assert valkey.pid is not None

    os.kill(valkey.pid, signal.SIGKILL)
    eventually(lambda: valkey.poll() == -signal.SIGKILL, what="the end of the server")
    stale = valkey.socket.exists()
    valkey.start()

    assert stale
    assert client(valkey).get("kept") == b"yes"


def test_valkey_starts_over_a_stale_socket_and_a_reused_pid(valkey: EmbeddedValkey) -> None:
    valkey.start()
    valkey.stop()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(valkey.socket))
    (valkey.root / "valkey.pid").write_text(f"{os.getpid()}\n")

    valkey.start()

    assert valkey.is_running()


def test_valkey_puts_a_damaged_journal_aside(valkey: EmbeddedValkey) -> None:
    valkey.start()
    client(valkey).set("kept", "yes")
    valkey.stop()
    journal = next((valkey.root / "appendonlydir").glob("*.incr.aof"))
    journal.write_bytes(b"this is no journal\n" * 10)

    valkey.start()

    assert client(valkey).dbsize() == 0
    assert (valkey.root / "appendonlydir.damaged" / journal.name).exists()


def test_valkey_refuses_data_that_a_living_process_holds(valkey: EmbeddedValkey) -> None:
    valkey.start()

    with pytest.raises(EmbeddedError, match="already in use"):
        EmbeddedValkey(valkey.root).start()

    assert valkey.is_running()


def test_valkey_uses_a_short_socket_directory_when_the_path_is_long(place: Path) -> None:
    server = EmbeddedValkey(place / ("v" * 120))

    try:
        server.start()
        answered = client(server).ping()
    finally:
        server.stop()

    assert answered is True
    assert not server.sockets.exists()
