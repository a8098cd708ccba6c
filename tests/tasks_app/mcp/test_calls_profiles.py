"""Three kinds of client against one server with a real worker: task-native, tool-polling and sync-only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.asgi_client import Client
from tests.processes import start_engine, start_worker
from tests.tasks_app.mcp.helpers import asking, ended, result_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]


@pytest.fixture
def real_worker(transactional_db: None) -> Iterator[None]:
    """A Celery worker and an engine loop, each a process of its own."""
    modules = {"TASKDECK_TOOL_MODULES": "tests.tasks_app.mcp.modern_tools"}
    with start_worker(slots=2, **modules), start_engine(**modules):
        yield


@pytest.mark.usefixtures("real_worker")
async def test_each_kind_of_client_gets_its_result(client: Client, settings: Settings) -> None:
    """check 2, check 113, check 121, check 122, check 123."""
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
