"""FastMCP with its extension for tasks, as a client of 2026-07-28."""

from __future__ import annotations

from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]
from fastmcp.client.elicitation import ElicitResult  # type: ignore[import-not-found]
from fastmcp.exceptions import ToolError  # type: ignore[import-not-found]
from fastmcp_tasks.client import call_tool_task  # type: ignore[import-not-found]

from tests.interop.clients.report import TOKEN, URL, run

ANSWERS = {"What is your name?": "Ada", "Which colour, Ada?": "blue"}
WAIT_SECONDS = 20.0


class Person:
    """Who is asked: answers what they know, and remembers the questions."""

    def __init__(self, *, declines: bool = False) -> None:
        self.asked: list[str] = []
        self._declines = declines

    async def __call__(self, message: str, _kind: Any, params: Any, _context: Any) -> Any:
        """Answer one question."""
        self.asked.append(message)
        if self._declines:
            return ElicitResult(action="decline")
        field = next(iter(params.requested_schema["properties"]))
        return ElicitResult(action="accept", content={field: ANSWERS[message]})


def connected(person: Person | None = None, *, mode: str = "auto") -> Any:
    """A client that is to be entered."""
    return Client(URL, auth=TOKEN, elicitation_handler=person, mode=mode)


async def handshake() -> Any:
    """Which revision the two agree on, and whether it has tasks."""
    async with connected() as client:
        extensions = client.server_capabilities.extensions or {}
        return {
            "version": client.protocol_version,
            "has_tasks": "io.modelcontextprotocol/tasks" in extensions,
            "tools": [tool.name for tool in await client.list_tools()],
        }


async def plain_call() -> Any:
    """A call that the client itself polls to its end, and one that is answered at once."""
    async with connected() as client:
        away = await client.call_tool("add", {"left": 3, "right": 4})
        here = await client.call_tool("add_here", {"left": 1, "right": 2})
        return [away.structured_content, here.structured_content]


async def task() -> Any:
    """A task from its creation to its result."""
    async with connected() as client:
        made = await call_tool_task(client, "add", {"left": 2, "right": 3})
        first = await made.status()
        ended = await made.wait(timeout=WAIT_SECONDS)
        result = await made.result()
        return {
            "created": made.create_result.status,
            "is_the_same": first.task_id == made.task_id == ended.task_id,
            "status": ended.status,
            "value": result.structured_content,
        }


async def failed_task() -> Any:
    """A task whose tool says that it failed."""
    async with connected() as client:
        made = await call_tool_task(client, "refuse", {}, raise_on_error=False)
        ended = await made.wait(timeout=WAIT_SECONDS)
        result = await made.result()
        return {"status": ended.status, "is_error": result.is_error, "text": result.content[0].text}


async def elicitation() -> Any:
    """A task that asks once: seen to wait, then answered by `tasks/update`."""
    person = Person()
    async with connected(person) as client:
        made = await call_tool_task(client, "greet", {})
        waiting = await made.wait(state="input_required", timeout=WAIT_SECONDS)
        result = await made.result()
        return {
            "waiting": waiting.status,
            "asked": person.asked,
            "text": result.content[0].text,
            "status": (await made.status()).status,
        }


async def two_elicitations() -> Any:
    """A task that asks twice."""
    return await _asked("introduce", Person())


async def declined_elicitation() -> Any:
    """A task whose question is declined."""
    return await _asked("greet", Person(declines=True))


async def _asked(tool: str, person: Person) -> Any:
    async with connected(person) as client:
        result = await (await call_tool_task(client, tool, {})).result()
        return {"asked": person.asked, "text": result.content[0].text}


async def elicitation_of_a_plain_call() -> Any:
    """A call whose task the client polls and answers by itself."""
    person = Person()
    async with connected(person) as client:
        result = await client.call_tool("greet", {})
        return {"asked": person.asked, "text": result.content[0].text}


async def cancelling() -> Any:
    """A task that is cancelled while it runs."""
    async with connected() as client:
        made = await call_tool_task(client, "wait", {})
        await made.cancel()
        ended = await made.wait(timeout=WAIT_SECONDS)
        try:
            result = str(await made.result())
        except ToolError as error:
            result = str(error).replace(made.task_id, "ID")
        return {"status": ended.status, "result": result}


async def never_a_task() -> Any:
    """A tool that is answered at once, however it is called."""
    async with connected() as client:
        return (await call_tool_task(client, "add_here", {"left": 1, "right": 1})).task_id


async def older_handshake() -> Any:
    """The same client with the handshake of 2025-11-25, where it has no tasks."""
    async with connected(mode="legacy") as client:
        result = await client.call_tool("add", {"left": 3, "right": 4})
        return {"version": client.protocol_version, "value": result.structured_content}


if __name__ == "__main__":
    run(
        [handshake, plain_call, task, failed_task, elicitation, two_elicitations, declined_elicitation,
         elicitation_of_a_plain_call, cancelling, never_a_task, older_handshake]
    )  # fmt: skip
