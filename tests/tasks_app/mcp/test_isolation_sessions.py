"""Whose session, whose stream and whose question: what is not the caller's is as unknown as what never was."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.identity import Scope
from tasks_app.mcp.pool import in_thread
from tests.asgi_client import Answer, Client
from tests.tasks_app.mcp.test_isolation import OUT_OF_FORCE, Ground, expired, ground, rows, seen
from tests.tasks_app.store import life
from tests.waiting import until

__all__ = ["ground"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
WAYS = {
    "request": ("POST", PING),
    "notification": ("POST", INITIALIZED),
    "stream": ("GET", b""),
    "end": ("DELETE", b""),
}


async def in_session(client: Client, way: str, session: str, **headers: str) -> Answer:
    """What a request of this kind gets in this session; a stream is left as soon as it is open."""
    http_method, body = WAYS[way]
    sent = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.opened(http_method, body, headers=sent) as exchange:
        await exchange.changed.wait()
    return exchange.answer


@pytest.mark.parametrize("way", WAYS)
async def test_session_of_another_is_as_unknown_as_any(ground: Ground, way: str) -> None:
    eve = ground.clients["eve"]
    over = await eve.initialize()
    await in_session(eve, "end", over)
    before = await rows()

    answers = [await in_session(eve, way, session) for session in (ground.sessions["alice"], "nobody", over)]

    assert [answer.status for answer in answers] == [404, 404, 404]
    assert all(seen(answer) == seen(answers[0]) for answer in answers)
    assert await rows() == before


@pytest.mark.parametrize("who", OUT_OF_FORCE)
@pytest.mark.parametrize("way", WAYS)
async def test_session_is_no_credential(ground: Ground, way: str, who: str) -> None:
    client = await ground.enters(who)
    before = await rows()

    known = await in_session(client, way, ground.sessions["alice"])
    unknown = await in_session(client, way, "nobody")

    assert known.status == 401
    assert seen(known) == seen(unknown)
    assert await rows() == before


@pytest.mark.parametrize(("way", "status"), [("request", 200), ("notification", 202), ("stream", 200), ("end", 204)])
async def test_session_serves_its_owner(ground: Ground, way: str, status: int) -> None:
    answer = await in_session(ground.clients["alice"], way, ground.sessions["alice"])

    assert answer.status == status


async def test_stream_needs_the_scope_to_read(ground: Ground) -> None:
    answer = await in_session(ground.lacking(Scope.READ), "stream", ground.sessions["alice"])

    assert answer.status == 403


def event_of(task_id: object) -> str:
    """The id of an event of the stream that waited for this task."""
    return f"{task_id}.r.1.{base64.urlsafe_b64encode(b'1').decode()}"


async def test_stream_of_another_is_as_unknown_as_any(ground: Ground, settings: Settings) -> None:
    own, others = await in_thread(life.completed, ground.alice), await in_thread(life.completed, ground.eve)
    over = await expired(ground.alice)
    settings.TASKDECK_MINIMUM_RETENTION = 0.01
    ended = await in_thread(life.completed, ground.alice, ttl_ms=2_000)
    await in_thread(until, store.expire)
    before = await rows()

    async def resume(task_id: object) -> Answer:
        session = ground.sessions["alice"]
        return await in_session(ground.clients["alice"], "stream", session, last_event_id=event_of(task_id))

    answers = [await resume(task_id) for task_id in (others, uuid4(), over, ended, "made up")]

    assert answers[0].status == 400
    assert all(seen(answer) == seen(answers[0]) for answer in answers)
    assert await rows() == before
    assert (await resume(own)).status == 200


async def respond(client: Client, task_id: object, key: str, *, session: str) -> Answer:
    """Answer the question of a task as a client that was asked on a stream."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": f"{task_id}/{key}"}
    message["result"] = {"action": "accept", "content": {"port": 80}}
    headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    return await client.request("POST", json.dumps(message).encode(), headers=headers)


async def test_answer_to_the_question_of_another_is_dropped_like_any_other(ground: Ground) -> None:
    task_id = await in_thread(life.asking, ground.alice)
    key = await in_thread(life.key, task_id)
    before = await rows()

    answers = [
        await respond(ground.clients["eve"], named, key, session=ground.sessions["eve"])
        for named in (task_id, uuid4(), await _over(ground))
    ]

    assert answers[0].status == 202
    assert all(seen(answer) == seen(answers[0]) for answer in answers)
    assert (await rows())[0][1] == before[0][1]
    assert (await in_thread(life.look, task_id)).status == "input_required"


async def _over(ground: Ground) -> object:
    return await expired(ground.eve)


@pytest.mark.parametrize(("who", "status"), [*((who, 401) for who in OUT_OF_FORCE), ("without tasks:answer", 403)])
async def test_answer_needs_a_token_in_force_with_its_scope(ground: Ground, who: str, status: int) -> None:
    task_id = await in_thread(life.asking, ground.alice)
    key = await in_thread(life.key, task_id)
    client = await ground.enters(who)
    before = await rows()

    known = await respond(client, task_id, key, session=ground.sessions["alice"])
    unknown = await respond(client, uuid4(), key, session=ground.sessions["alice"])

    assert known.status == status
    assert seen(known) == seen(unknown)
    assert await rows() == before
