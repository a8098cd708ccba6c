"""What tests of the endpoint share: reading answers, waiting for tasks, and calls that came from nowhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tasks_app import bus
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp.call import Call
from tasks_app.mcp.exchange import Headers, Request
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Task
from tasks_app.store.identity import Caller
from tests.asgi_client import Answer, Client

WAIT_SECONDS = 20.0
AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.05


def result_of(answer: Answer) -> dict[str, Any]:
    """The result of an answer, whether it came as one object or as a stream."""
    is_stream = answer.headers["content-type"] == "text/event-stream"
    message = answer.events[-1] if is_stream else answer.json
    assert "result" in message, message
    found: dict[str, Any] = message["result"]
    return found


def text_of(answer: Answer) -> str:
    """The first text of a tool's result."""
    return str(result_of(answer)["content"][0]["text"])


async def get(client: Client, task_id: str) -> dict[str, Any]:
    """A task as the client sees it."""
    return result_of(await client.modern("tasks/get", {"taskId": task_id}, tasks=True))


async def until(client: Client, task_id: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The task once this holds of it; fails the test when that never comes."""
    async with asyncio.timeout(WAIT_SECONDS), bus.listening(bus.task_group(task_id)) as inbox:
        while not holds(shown := await get(client, task_id)):
            await inbox.get(AGAIN_SECONDS)
    return shown


async def ended(client: Client, task_id: str) -> dict[str, Any]:
    """The task once it has ended."""
    return await until(client, task_id, lambda shown: shown["status"] in ("completed", "failed", "cancelled"))


async def asking(client: Client, task_id: str) -> dict[str, Any]:
    """The questions of a task, by key, once it has some."""
    shown = await until(client, task_id, lambda shown: shown["status"] == "input_required")
    found: dict[str, Any] = shown["inputRequests"]
    return found


async def count_tasks() -> int:
    """How many tasks there are."""
    return await in_thread(Task.objects.count)


async def only_task() -> Task:
    """The one task that there is."""
    return await in_thread(Task.objects.get)


async def until_row(holds: Callable[[Task], bool] = lambda _: True) -> Task:
    """The only task once it is there and this holds of its row."""
    async with asyncio.timeout(WAIT_SECONDS), bus.listening(bus.STATS) as inbox:
        while not (await count_tasks() and holds(await only_task())):
            await inbox.get(LOOK_SECONDS)
    return await only_task()


def only_echo(name: str, arguments: Mapping[str, Any]) -> bool:
    """A predicate for TASKDECK_AUGMENT."""
    assert isinstance(arguments, dict)
    return name == "echo"


has_begun, let_go, has_ended = threading.Event(), threading.Event(), threading.Event()
"""What `hangs` and whoever tests it tell each other."""


def hangs(_name: str, _arguments: Mapping[str, Any]) -> bool:
    """A predicate that does not come back until it is let go."""
    has_begun.set()
    let_go.wait(WAIT_SECONDS)
    has_ended.set()
    return False


def a_call(**values: Any) -> Call:
    """A call of nobody in particular."""
    request = Request("POST", "/mcp", Headers(), request_id="req-1")
    known: dict[str, Any] = {
        "caller": Caller(7, 8, frozenset()),
        "request": request,
        "dialect": Dialect.MODERN,
        "version": "2026-07-28",
        "method": "tools/call",
        "id": 1,
        "client": "tester/1",
    }
    return Call(**(known | values))
