"""One conversation in each dialect, message for message as it is kept in `tests/contracts/golden`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.asgi_client import Answer, Client
from tests.contracts.golden import expected, steady
from tests.tasks_app.mcp.helpers import asking, ended, result_of
from tests.tasks_app.mcp.legacy_client import RELATED, Session, asked, heard, last_message, response
from tests.tasks_app.mcp.test_modern_listen import listening

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("legacy_tools", "worker")]
YES = {"action": "accept", "content": {"confirm": True}}
FILE = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}


async def test_conversation_of_2025_11_25_is_as_it_was_written_down(client: Client) -> None:
    """check 7, check 10, check 11, check 14."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "tester", "version": "1"},
    }
    greeting = await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    session = Session(client, greeting.headers["mcp-session-id"])
    said: dict[str, Any] = {"initialize": greeting.json}
    said["tools/list"] = only((await session.request("tools/list")).json, "tools", "confirm_delete", "add", "greet")
    async with session.stream() as standing:
        await standing.until(b"\r\n\r\n")
        created = await session.request("tools/call", {**FILE, "task": {"ttl": 600_000}})
        said["created"] = created.json
        task_id = created.json["result"]["task"]["taskId"]
        await session.until(task_id, "input_required")
        said["asking"] = (await session.request("tasks/get", {"taskId": task_id})).json
        asking_ = await heard(standing, is_about("input_required"))
        async with session.opened("tasks/result", {"taskId": task_id}, id=7) as waiting:
            said["question"] = await asked(waiting)
            await session.respond(said["question"]["id"], {**YES, "_meta": {RELATED: {"taskId": task_id}}})
            said["result"] = await response(waiting, id=7)
        said["notifications"] = [asking_, await heard(standing, is_about("completed"))]
    said["completed"] = (await session.request("tasks/get", {"taskId": task_id})).json
    said["list"] = (await session.request("tasks/list")).json
    said["cancel of a finished task"] = (await session.request("tasks/cancel", {"taskId": task_id})).json
    said["unknown task"] = (await session.request("tasks/get", {"taskId": "nobody's"})).json
    said["tool error"] = await self_contained(session, "fail_softly")
    said["protocol error"] = await self_contained(session, "fail_hard")
    said["forbidden as a task"] = (await session.request("tools/call", {"name": "greet", "task": {}})).json
    said["required without a task"] = (await session.request("tools/call", {"name": "report"})).json
    sleeping = await session.make("sleep")
    said["cancelled"] = (await session.request("tasks/cancel", {"taskId": sleeping["taskId"]})).json

    found = steady(said)

    assert found == expected("legacy", found)


def is_about(status: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a message tells that a task has this status."""
    return lambda message: message.get("params", {}).get("status") == status


async def self_contained(session: Session, tool: str) -> dict[str, Any]:
    """What a failed task ended with."""
    task = await session.make(tool)
    await session.ended(task["taskId"])
    return last_message(await session.request("tasks/result", {"taskId": task["taskId"]}))


async def test_conversation_of_2026_07_28_is_as_it_was_written_down(
    client: Client, legacy_tools: threading.Event
) -> None:
    """check 32, check 36, check 37, check 40, check 41."""
    said: dict[str, Any] = {"discover": (await client.modern("server/discover")).json}
    tools = (await client.modern("tools/list")).json
    said["tools/list"] = only(tools, "tools", "confirm_delete", "add", "greet")
    created = await call(client, FILE)
    said["created"] = created.json
    task_id = created.json["result"]["taskId"]
    [key] = await asking(client, task_id)
    said["asking"] = await get(client, task_id)
    update = {"taskId": task_id, "inputResponses": {key: YES, "unknown": {"ignored": True}}}
    async with listening(client, task_id, id=9) as told:
        asking_ = await heard(told, is_about("input_required"))
        said["answered"] = (await client.modern("tasks/update", update, tasks=True)).json
        said["notifications"] = [asking_, await heard(told, is_about("completed"))]
    await ended(client, task_id)
    said["completed"] = await get(client, task_id)
    said["cancel of a finished task"] = (await client.modern("tasks/cancel", {"taskId": task_id}, tasks=True)).json
    said["unknown task"] = await get(client, "nobody's")
    for name, tool in (("tool error", "fail_softly"), ("protocol error", "fail_hard")):
        failed = result_of(await call(client, {"name": tool, "arguments": {}}))["taskId"]
        await ended(client, failed)
        said[name] = await get(client, failed)
    said["round trip"] = (await client.modern("tools/call", FILE, capabilities={"elicitation": {}})).json
    said["required without the extension"] = (await client.modern("tools/call", {"name": "report"})).json
    sleeping = result_of(await call(client, {"name": "sleep", "arguments": {}}))["taskId"]
    said["cancel"] = (await client.modern("tasks/cancel", {"taskId": sleeping}, tasks=True)).json
    said["cancelled"] = await get(client, sleeping)

    found = steady(said)

    assert found == expected("modern", found)


async def call(client: Client, params: dict[str, Any]) -> Answer:
    """Call a tool, allowing a task."""
    return await client.modern("tools/call", params, tasks=True, capabilities={"elicitation": {}})


async def get(client: Client, task_id: str) -> Any:
    """The answer to `tasks/get`."""
    return (await client.modern("tasks/get", {"taskId": task_id}, tasks=True)).json


def only(message: dict[str, Any], member: str, *names: str) -> dict[str, Any]:
    """The same list with these items only."""
    result = message["result"]
    return {**message, "result": {**result, member: [each for each in result[member] if each["name"] in names]}}
