"""`subscriptions/listen` of 2026-07-28."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tasks_app import store
from tasks_app.mcp import pool, waiting
from tasks_app.mcp.pool import in_thread
from tasks_app.mcp.stopping import stopping
from tasks_app.store.cancel import cancel_plan
from tests.asgi_client import Client, Exchange, modern_headers, modern_message
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import asking, ended, get, result_of, until_row
from tests.tasks_app.mcp.workers import working
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


async def made(client: Client, name: str, arguments: dict[str, Any] | None = None) -> str:
    """The id of a new task."""
    answer = await client.modern("tools/call", {"name": name, "arguments": arguments or {}}, tasks=True)
    return str(result_of(answer)["taskId"])


def listening(client: Client, *task_ids: str, id: Any = 31) -> Any:  # noqa: A002
    """A stream that follows these tasks."""
    message = modern_message("subscriptions/listen", {"notifications": {"taskIds": list(task_ids)}}, id=id, tasks=True)
    return client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message))


async def finished(exchange: Exchange) -> list[Any]:
    """Every message of a stream that ends by itself."""
    async with asyncio.timeout(15):
        await exchange.ended.wait()
    return exchange.answer.events


@pytest.mark.parametrize("id_", [31, "31", 0, ""])
async def test_stream_is_acknowledged_then_shows_how_things_are_then_each_change_then_ends(
    client: Client, id_: str | int
) -> None:
    """check 58, traps 15 and 22."""
    task_id = await made(client, "echo")

    async with listening(client, task_id, id=id_) as exchange:
        await exchange.until(b'"working"')
        with working():
            events = await finished(exchange)

    first, second, *_, before_last, last = events
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {"taskIds": [task_id]}
    assert (second["method"], second["params"]["status"]) == ("notifications/tasks", "working")
    assert before_last["params"]["status"] == "completed"
    assert before_last["params"]["result"]["content"] == [{"type": "text", "text": "hello as a task"}]
    assert last == {"jsonrpc": "2.0", "id": id_, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION: id_}}}
    for event in events[:-1]:
        found = event["params"]["_meta"][SUBSCRIPTION]
        assert (found, type(found)) == (id_, type(id_))
        assert "resultType" not in event["params"]


@pytest.mark.usefixtures("worker")
async def test_what_is_told_is_what_a_poll_would_show(client: Client) -> None:
    task_id = await made(client, "confirm_delete", {"filename": "a.txt"})
    [key] = await asking(client, task_id)

    async with listening(client, task_id) as exchange:
        await exchange.until(b'"input_required"')
        params = {"taskId": task_id, "inputResponses": {key: {"action": "accept", "content": {"confirm": True}}}}
        await client.modern("tasks/update", params, tasks=True)
        events = await finished(exchange)

    shown = await ended(client, task_id)
    _, asked, *_, told, _ = events
    assert list(asked["params"]["inputRequests"]) == [key]
    ours = {name: value for name, value in shown.items() if name not in ("_meta", "resultType")}
    assert {name: value for name, value in told["params"].items() if name != "_meta"} == ours
    statuses = [event["params"]["status"] for event in events[1:-1]]
    assert statuses[0] == "input_required"
    assert statuses[-1] == "completed"


async def test_what_is_told_of_an_old_task_asks_for_the_same_patience_as_a_poll(client: Client, alice: Person) -> None:
    """section 2 item 8: the same function makes both."""
    task_id = str(await in_thread(_made_long_ago, alice))

    async with listening(client, task_id) as exchange:
        await exchange.until(b"notifications/tasks")
        polled = await get(client, task_id)

    told = exchange.answer.events[1]["params"]
    assert told["pollIntervalMs"] == polled["pollIntervalMs"] > 2_000


def _made_long_ago(person: Person) -> UUID:
    # By the clock of this thread's connection, which is closed at its end.
    life.sql("SELECT set_config('tasks.fake_now', (now() - interval '5 minutes')::text, false)")
    return life.created(person, poll_ms=2_000).id


async def test_chatty_task_does_not_keep_a_silent_one_from_being_read(
    client: Client, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of one task is not announced; another says something again and again before it is time to read all."""
    monkeypatch.setattr(waiting, "REREAD_SECONDS", 0.5)
    claim = await in_thread(life.claimed, alice)
    silent = await in_thread(life.created, alice)

    async with listening(client, str(claim.task_id), str(silent.id)) as exchange:
        await exchange.until(str(silent.id).encode())
        await pool.run(cancel_plan(silent.id, owner_id=alice.id, by=alice.acts()))
        async with asyncio.timeout(15):
            number = 0
            while b'"cancelled"' not in exchange.answer.body:
                number += 1
                await in_thread(store.set_message, claim, f"line {number} of many")
                await exchange.until(f"line {number} of many".encode())


async def test_tasks_of_others_and_of_nobody_are_left_out_without_a_word(client: Client, eve_client: Client) -> None:
    own, foreign = await made(client, "echo"), await made(eve_client, "echo")

    async with listening(client, foreign, str(uuid4()), "nonsense", own, own) as exchange:
        await exchange.until(b"notifications/tasks")
        body = exchange.answer.body.decode()

    acknowledged = exchange.answer.events[0]
    assert acknowledged["params"]["notifications"] == {"taskIds": [own]}
    assert foreign not in body


async def test_stream_about_nothing_of_the_callers_ends_at_once(client: Client, eve_client: Client) -> None:
    foreign = await made(eve_client, "echo")

    async with listening(client, foreign) as exchange:
        events = await finished(exchange)

    assert events[0]["params"]["notifications"] == {"taskIds": []}
    assert events[1]["result"]["resultType"] == "complete"
    assert len(events) == 2


async def test_tasks_are_followed_only_for_a_client_that_declares_them(client: Client) -> None:
    answer = await client.modern("subscriptions/listen", {"notifications": {"taskIds": ["x"]}})

    assert (answer.status, answer.error["code"]) == (400, -32021)
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "params", [{}, {"notifications": []}, {"notifications": {"taskIds": "x"}}, {"notifications": {"taskIds": [1]}}]
)
async def test_malformed_filter_is_refused(client: Client, params: dict[str, Any]) -> None:
    answer = await client.modern("subscriptions/listen", params, tasks=True)

    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_more_tasks_than_one_stream_can_follow_are_refused(client: Client) -> None:
    params = {"notifications": {"taskIds": [str(uuid4()) for _ in range(101)]}}

    answer = await client.modern("subscriptions/listen", params, tasks=True)

    assert answer.error["code"] == -32602


async def test_lists_that_never_change_are_not_promised_to_be_told_of(client: Client) -> None:
    message = modern_message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    async with client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message)) as exchange:
        await exchange.until(b"acknowledged")

        assert exchange.answer.events[0]["params"]["notifications"] == {}
        assert not exchange.ended.is_set()


async def test_stream_says_its_last_word_when_the_server_stops(client: Client) -> None:
    task_id = await made(client, "echo")

    async with listening(client, task_id, id=5) as exchange:
        await exchange.until(b"notifications/tasks")
        stopping().set()
        events = await finished(exchange)

    assert events[-1] == {"jsonrpc": "2.0", "id": 5, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION: 5}}}


async def test_caller_that_waits_is_told_the_id_when_the_server_stops(client: Client) -> None:
    message = modern_message("tools/call", {"name": "echo", "arguments": {}})
    async with client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message)) as exchange:
        task = await until_row()
        stopping().set()
        async with asyncio.timeout(10):
            await exchange.ended.wait()

    assert str(task.id) in result_of(exchange.answer)["content"][0]["text"]
