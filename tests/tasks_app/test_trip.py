"""One trip to Redis: what comes back, and what a broken connection costs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
import redis

from tasks_app.conf import conf
from tasks_app.trip import Line

NAME = "taskdeck.test.trip"
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def client() -> Iterator[redis.Redis]:
    """The server by the ordinary client, without what these tests leave."""
    made = redis.Redis.from_url(conf().wake_url)
    yield made
    made.delete(NAME)
    made.close()


@pytest.fixture
def line(client: redis.Redis) -> Line:
    """The way to the same server."""
    return Line(client)


def test_trip_gives_a_reply_to_each_command_in_order(line: Line) -> None:
    replies = line.trip([("RPUSH", NAME, "a", b"b"), ("LLEN", NAME), ("LPOP", NAME)])

    assert replies == [2, 2, b"a"]


def test_trip_goes_on_after_the_server_hung_up(line: Line, client: redis.Redis) -> None:
    [number] = line.trip([("CLIENT", "ID")])
    client.client_kill_filter(_id=number)

    assert line.trip([("RPUSH", NAME, "a")]) == [1]


def test_refusal_leaves_no_reply_for_the_next_trip(line: Line) -> None:
    line.trip([("RPUSH", NAME, "a")])

    with pytest.raises(redis.ResponseError):
        line.trip([("INCR", NAME), ("LLEN", NAME)])

    assert line.trip([("LPOP", NAME)]) == [b"a"]


def test_server_that_is_away_is_an_error() -> None:
    line = Line(redis.Redis.from_url(NOWHERE, socket_connect_timeout=1, retry=None))

    with pytest.raises(redis.ConnectionError):
        line.trip([("PING",)])


def test_each_thread_talks_on_its_own(line: Line) -> None:
    numbers: list[int] = line.trip([("CLIENT", "ID")])
    other = threading.Thread(target=lambda: numbers.extend(line.trip([("CLIENT", "ID")])))
    other.start()
    other.join()

    assert len(set(numbers)) == 2


def test_child_process_does_not_talk_on_its_parents_connection(line: Line) -> None:
    [number] = line.trip([("CLIENT", "ID")])
    child = os.fork()
    if not child:
        os._exit(0 if line.trip([("CLIENT", "ID")]) != [number] else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert line.trip([("CLIENT", "ID")]) == [number]
