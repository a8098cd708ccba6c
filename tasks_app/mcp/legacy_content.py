"""Prompts, resources and completion for clients of 2025-11-25 and before; what they look like is in `content`."""

from __future__ import annotations

from typing import Any

from tasks_app.mcp import content, inline
from tasks_app.mcp.call import Call


async def list_prompts(call: Call) -> dict[str, Any]:
    """One page of prompts."""
    return content.list_prompts(call)


async def get_prompt(call: Call) -> dict[str, Any]:
    """The messages of a prompt; one that asks ends with an error, because it cannot ask this client."""
    found = content.find_prompt(call)
    return content.prompt_result(found, await inline.run(call, found.tool, found.arguments))


async def list_resources(call: Call) -> dict[str, Any]:
    """One page of resources."""
    return content.list_resources(call)


async def list_templates(call: Call) -> dict[str, Any]:
    """One page of resource templates."""
    return content.list_templates(call)


async def read_resource(call: Call) -> dict[str, Any]:
    """What stands at an address."""
    found = content.find_resource(call)
    return content.resource_result(found, await inline.run(call, found.tool, found.arguments))


async def subscribe(call: Call) -> dict[str, Any]:
    """Accept that a client wants to know of changes; raises the fault for a resource that there is not.

    What a resource holds is made when it is read, so there is never a change to tell of and nothing to remember.
    """
    content.find_resource(call)
    return {}


async def complete(call: Call) -> dict[str, Any]:
    """What an argument may become."""
    return await content.complete(call)


def capabilities() -> dict[str, Any]:
    """What there is to read, as the handshake tells it; only here can a client subscribe."""
    offered = content.capabilities()
    if "resources" in offered:
        offered["resources"] = {**offered["resources"], "subscribe": True}
    return offered
