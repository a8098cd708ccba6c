"""Clients that all come at once, come again, leave in the middle or hardly speak: nothing is made twice or half."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor
from tests.asgi_client import JSON_HEADERS, modern_message
from tests.conftest import Person
from tests.fuzz.cases import Case, Request
from tests.fuzz.world import World
from tests.processes import start_web
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]

CROWD = 1_000
MADE_WITH_KEY = "SELECT count(*) FROM tasks_task WHERE idempotency_key = %(key)s"
LAST_BYTE_SECONDS = 1.0


def create(text: str = "x", *, key: str = "k-9") -> Case:
    """A call that becomes a task."""
    message = modern_message("tools/call", {"name": "echo", "arguments": {"text": text}}, tasks=True)
    return Request(message, (("idempotency-key", key),), is_modern=True).case()


def test_thousand_identical_creates_with_one_key_make_one_task(world: World) -> None:
    """section 2 item 11: whoever is told of a task is told of the same one."""
    answers = world.gather(*[create()] * CROWD)

    made = [answer.json["result"]["taskId"] for answer in answers if "result" in answer.json]
    others = {answer.error["data"]["reason"] for answer in answers if "error" in answer.json}
    assert len(set(made)) == 1
    # A crowd may be more than the connections of one process can serve in time, and is told so: few, not most.
    assert others <= {"storage"}
    assert len(made) >= CROWD // 2
    assert life.scalar(MADE_WITH_KEY, key="k-9") == 1


def test_key_with_other_arguments_is_refused_and_makes_nothing(world: World) -> None:
    first = world.ask(create())

    other = world.ask(create("y"))
    again = world.ask(create())

    assert (other.status, other.error["code"], other.error["data"]["reason"]) == (400, -32602, "key_conflict")
    assert again.json["result"]["taskId"] == first.json["result"]["taskId"]
    assert life.scalar(MADE_WITH_KEY, key="k-9") == 1


def test_client_that_left_finds_its_task_again_by_its_key(world: World) -> None:
    for _ in range(20):
        world.ask(replace(create(), leaves=True))

    again = world.ask(create())

    assert again.json["result"]["resultType"] == "task"
    assert life.scalar(MADE_WITH_KEY, key="k-9") == 1


def test_client_that_leaves_before_its_call_is_whole_makes_nothing(world: World) -> None:
    whole = create()

    world.ask(replace(whole, body=(whole.body[0][:50],), leaves=True, stalls=True))

    assert life.scalar(MADE_WITH_KEY, key="k-9") == 0


def test_client_that_sends_a_byte_a_second_is_given_up_while_others_are_served(alice: Person) -> None:
    token, _ = store.create_token(alice.id, name="slow", by=Actor.system(via="tests"))
    message = modern_message("server/discover")
    body = json.dumps(message).encode()
    with start_web() as (process, origin):
        slow, quick = _opened(origin), _opened(origin)
        with closing(slow), closing(quick):
            slow.sendall(_head(message, token, length=len(body)) + body[:3])
            quick.sendall(_head(message, token, length=len(body)) + body)
            served = quick.recv(65_536)
            refused = _drip(slow, body[3:])

        assert served.startswith(b"HTTP/1.1 200 ")
        assert refused.startswith(b"HTTP/1.1 408 ")
        assert "Traceback" not in process.output()


def _opened(origin: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(origin).port or 0), timeout=20)


def _head(message: dict[str, Any], token: str, *, length: int) -> bytes:
    headers = {**JSON_HEADERS, "host": "localhost", "authorization": f"Bearer {token}", "content-length": str(length)}
    headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def _drip(link: socket.socket, body: bytes) -> bytes:
    """What comes back while the body is sent byte by byte."""
    link.settimeout(LAST_BYTE_SECONDS)
    for at in range(len(body)):
        link.sendall(body[at : at + 1])
        try:
            return link.recv(65_536)
        except TimeoutError:
            continue
    raise AssertionError("the whole body was waited for")
