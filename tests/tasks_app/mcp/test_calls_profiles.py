"""Three kinds of client against one server with a real worker: task-native, tool-polling and sync-only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime

import pytest
from pytest_django import Settings

from tasks_app.mcp import http
from tasks_app.mcp.endpoint import endpoint
from tests.asgi_client import Client
from tests.processes import start_engine, start_worker
from tests.tasks_app.mcp.helpers import asking, ended, result_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
GATEWAY_SECONDS = 3.0


@pytest.fixture
def real_worker(transactional_db: None) -> Iterator[None]:
    """A Celery worker and an engine loop, each a process of its own."""
    modules = {"TASKDECK_TOOL_MODULES": "tests.tasks_app.mcp.modern_tools"}
    with start_worker(slots=2, **modules), start_engine(**modules):
        yield


async def gateway(scope: http.Scope, receive: http.Receive, send: http.Send) -> None:
    """The endpoint behind a proxy that gives up on a request after a while."""
    async with asyncio.timeout(GATEWAY_SECONDS):
        await endpoint(scope, receive, send)


@pytest.mark.usefixtures("real_worker", "served")
async def test_tool_that_takes_longer_than_any_request_may_reaches_its_end(alice_token: str) -> None:
    """check 2: the call and every poll come back before the proxy gives up, and the tool has not ended by then."""
    behind = Client(gateway, token=alice_token)
    longer = {"name": "sleep", "arguments": {"seconds": 1.5 * GATEWAY_SECONDS}}

    task = result_of(await behind.modern("tools/call", longer, tasks=True))
    shown = await ended(behind, task["taskId"])

    assert shown["result"]["content"][0]["text"] == "awake"
    ran = datetime.fromisoformat(shown["lastUpdatedAt"]) - datetime.fromisoformat(shown["createdAt"])
    assert ran.total_seconds() > GATEWAY_SECONDS


@pytest.mark.usefixtures("real_worker")
async def test_each_kind_of_client_gets_its_result(client: Client, settings: Settings) -> None:
    """check 113, check 121, check 122, check 123."""
    native = result_of(await client.modern("tools/call", {"name": "report", "arguments": {}}, tasks=True))
    assert (await ended(client, native["taskId"]))["result"]["content"][0]["text"] == "the report"

    asked = result_of(
        await client.modern("tools/call", {"name": "confirm_delete", "arguments": {"filename": "a"}}, tasks=True)
    )
    [key] = await asking(client, asked["taskId"])
    yes = {key: {"action": "accept", "content": {"confirm": True}}}
    await client.modern("tasks/update", {"taskId": asked["taskId"], "inputResponses": yes}, tasks=True)
    assert (await ended(client, asked["taskId"]))["result"]["content"][0]["text"] == "a deleted"

    waiting = await client.modern("tools/call", {"name": "echo", "arguments": {}})
    assert text_of(waiting) == "hello while you wait"
    refused = await client.modern("tools/call", {"name": "report", "arguments": {}})
    assert refused.error["code"] == -32021

    settings.TASKDECK_SYNC_BUDGET = 0.2
    handle = result_of(await client.modern("tools/call", {"name": "sleep", "arguments": {"seconds": 1}}))
    task_id = handle["_meta"]["taskdeck/taskId"]
    fetch = {"name": "get_task_result", "arguments": {"task_id": task_id}}
    assert "still working" in text_of(await client.modern("tools/call", fetch))
    await ended(client, task_id)
    assert text_of(await client.modern("tools/call", fetch)) == "awake"
