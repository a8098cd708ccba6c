"""The official SDK before version 2, as a client of 2025-11-25 with its experimental tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, McpError, types  # type: ignore[import-not-found]
from mcp.client.streamable_http import streamablehttp_client  # type: ignore[import-not-found]

from tests.interop.clients.report import TOKEN, URL, run

ANSWERS = {"What is your name?": "Ada", "Which colour, Ada?": "blue"}


class Person:
    """Who is asked: answers what they know, and remembers the questions."""

    def __init__(self, *, declines: bool = False) -> None:
        self.asked: list[str] = []
        self._declines = declines

    async def __call__(self, _context: Any, params: Any) -> Any:
        """Answer one question."""
        self.asked.append(params.message)
        if self._declines:
            return types.ElicitResult(action="decline")
        field = next(iter(params.requestedSchema["properties"]))
        return types.ElicitResult(action="accept", content={field: ANSWERS[params.message]})


@asynccontextmanager
async def connected(person: Person | None = None, token: str = TOKEN) -> AsyncIterator[Any]:
    """A session that has shaken hands."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        streamablehttp_client(URL, headers=headers) as (read, write, _),
        ClientSession(read, write, elicitation_callback=person) as session,
    ):
        await session.initialize()
        yield session


async def finish(session: Any, task_id: str) -> tuple[str, Any]:
    """The last status that polling shows, and the result."""
    status = ""
    async for polled in session.experimental.poll_task(task_id):
        status = polled.status
    return status, await session.experimental.get_task_result(task_id, types.CallToolResult)


async def code_of(request: Any) -> int | None:
    """The code of the error that a request ends with."""
    try:
        await request
    except McpError as refused:
        return int(refused.error.code)
    return None


async def handshake() -> Any:
    """What the server says of itself."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with streamablehttp_client(URL, headers=headers) as (read, write, _), ClientSession(read, write) as session:
        said = await session.initialize()
        return {
            "version": said.protocolVersion,
            "tasks": said.capabilities.tasks.model_dump(exclude_none=True),
            "ping": (await session.send_ping()).model_dump(exclude_none=True),
        }


async def tools() -> Any:
    """Which tools there are, and whether they can be tasks."""
    async with connected() as session:
        listed = (await session.list_tools()).tools
        return {tool.name: tool.execution.taskSupport if tool.execution else None for tool in listed}


async def plain_call() -> Any:
    """A call without a task: of a tool in the web process, and of one on a worker."""
    async with connected() as session:
        here = await session.call_tool("add_here", {"left": 1, "right": 2})
        away = await session.call_tool("add", {"left": 3, "right": 4})
        return [here.structuredContent, away.structuredContent]


async def progress() -> Any:
    """What is told while a call is under way."""
    told: list[tuple[float, float | None, str | None]] = []

    async def tell(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with connected() as session:
        result = await session.call_tool("count", {"to": 2}, progress_callback=tell)
        return {"told": told, "text": result.content[0].text}


async def task() -> Any:
    """A task from its creation to its result."""
    async with connected() as session:
        created = (await session.experimental.call_tool_as_task("add", {"left": 2, "right": 3}, ttl=120_000)).task
        status, result = await finish(session, created.taskId)
        return {
            "created": {"status": created.status, "ttl": created.ttl},
            "status": status,
            "value": result.structuredContent,
            "is_related": (result.meta or {}).get("io.modelcontextprotocol/related-task") == {"taskId": created.taskId},
        }


async def failed_task() -> Any:
    """A task whose tool says that it failed."""
    async with connected() as session:
        created = await session.experimental.call_tool_as_task("refuse", {})
        status, result = await finish(session, created.task.taskId)
        return {"status": status, "is_error": result.isError, "text": result.content[0].text}


async def elicitation() -> Any:
    """A task that asks once, answered on the stream of `tasks/result`."""
    return await _asked("greet", Person())


async def two_elicitations() -> Any:
    """A task that asks twice."""
    return await _asked("introduce", Person())


async def declined_elicitation() -> Any:
    """A task whose question is declined."""
    return await _asked("greet", Person(declines=True))


async def _asked(tool: str, person: Person) -> Any:
    async with connected(person) as session:
        task_id = (await session.experimental.call_tool_as_task(tool, {})).task.taskId
        result = await session.experimental.get_task_result(task_id, types.CallToolResult)
        after = await session.experimental.get_task(task_id)
        return {"asked": person.asked, "text": result.content[0].text, "status": after.status}


async def elicitation_of_a_waiting_call() -> Any:
    """A call without a task that asks on its own stream."""
    person = Person()
    async with connected(person) as session:
        result = await session.call_tool("greet", {})
        return {"asked": person.asked, "text": result.content[0].text}


async def listing() -> Any:
    """Whether the caller's tasks are listed, and another session sees them."""
    async with connected() as session:
        task_id = (await session.experimental.call_tool_as_task("report", {})).task.taskId
        await finish(session, task_id)
    async with connected() as session:
        listed = (await session.experimental.list_tasks()).tasks
        return {"is_listed": task_id in [each.taskId for each in listed]}


async def cancelling() -> Any:
    """A task that is cancelled while it runs."""
    async with connected() as session:
        task_id = (await session.experimental.call_tool_as_task("wait", {})).task.taskId
        cancelled = await session.experimental.cancel_task(task_id)
        return {
            "status": cancelled.status,
            "then": (await session.experimental.get_task(task_id)).status,
            "again": await code_of(session.experimental.cancel_task(task_id)),
            "result": await code_of(session.experimental.get_task_result(task_id, types.CallToolResult)),
        }


async def refusals() -> Any:
    """The codes of what cannot be done."""
    async with connected() as session:
        return {
            "no such task": await code_of(session.experimental.get_task("nothing")),
            "never a task": await code_of(session.experimental.call_tool_as_task("add_here", {"left": 1, "right": 1})),
            "always a task": await code_of(session.call_tool("report", {})),
        }


async def content() -> Any:
    """A resource and a prompt."""
    async with connected() as session:
        read = await session.read_resource("interop://motto")
        said = await session.get_prompt("hello", {"name": "Ada"})
        return [read.contents[0].text, said.messages[0].content.text]


async def wrong_token() -> Any:
    """A client whom nobody knows."""
    async with connected(token="wrong") as session:
        return await session.list_tools()


if __name__ == "__main__":
    run(
        [handshake, tools, plain_call, progress, task, failed_task, elicitation, two_elicitations,
         declined_elicitation, elicitation_of_a_waiting_call, listing, cancelling, refusals, content, wrong_token]
    )  # fmt: skip
