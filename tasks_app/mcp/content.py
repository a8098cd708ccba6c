"""Prompts, resources and completion as they look on the wire, for both dialects.

Listing and finding is the same in both; what becomes of a prompt that asks is each dialect's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from tasks_app.domain.errors import RpcError
from tasks_app.domain.outcome import Dialect
from tasks_app.engine.call import Ended, How
from tasks_app.engine.content import Completer, Prompt, Resource, content
from tasks_app.engine.registry import Tool
from tasks_app.engine.results import error_text
from tasks_app.engine.schema import InvalidArguments
from tasks_app.mcp import aside
from tasks_app.mcp.call import Call, text_param
from tasks_app.mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, Fault, invalid_params
from tasks_app.mcp.paging import page_of

RESOURCE_NOT_FOUND = -32002  # 2025-11-25 only
MOST_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class Found:
    """What a request names, as something that can be run, and with what."""

    tool: Tool
    arguments: dict[str, Any]
    extra: dict[str, Any]
    """What the result says besides what was run."""


def capabilities() -> dict[str, Any]:
    """What this server offers besides tools, for what it says about itself; nothing that is not there."""
    offered: dict[str, Any] = {}
    if content.prompts():
        offered["prompts"] = {"listChanged": False}
    if content.resources() or content.templates():
        offered["resources"] = {"listChanged": False, "subscribe": False}
    everything: Iterable[Prompt | Resource] = [*content.prompts(), *content.templates()]
    if any(each.complete for each in everything):
        offered["completions"] = {}
    return offered


def list_prompts(call: Call) -> dict[str, Any]:
    """One page of prompts."""
    page = page_of(content.prompts(), call.params.get("cursor"), key=lambda each: each.name)
    return {"prompts": [_shown_prompt(each) for each in page.items], **page.following}


def list_resources(call: Call) -> dict[str, Any]:
    """One page of resources with a fixed address."""
    page = page_of(content.resources(), call.params.get("cursor"), key=lambda each: each.uri)
    return {"resources": [{"uri": each.uri, **_shown(each)} for each in page.items], **page.following}


def list_templates(call: Call) -> dict[str, Any]:
    """One page of resources with variables in their address."""
    page = page_of(content.templates(), call.params.get("cursor"), key=lambda each: each.uri)
    return {"resourceTemplates": [{"uriTemplate": each.uri, **_shown(each)} for each in page.items], **page.following}


def find_prompt(call: Call) -> Found:
    """The prompt that a request names. Raises the fault for an unknown one and for arguments that do not fit."""
    prompt = content.prompt(text_param(call.params, "name"))
    arguments = call.params.get("arguments", {})
    if prompt is None:
        raise invalid_params("Unknown prompt: see prompts/list for those that there are")
    if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
        raise invalid_params("`arguments` must be an object of strings")
    try:
        prompt.tool.validate(arguments)
    except InvalidArguments as error:
        raise invalid_params(str(error)) from None
    return Found(prompt.tool, arguments, {"description": prompt.description} if prompt.description else {})


def find_resource(call: Call) -> Found:
    """The resource that a request names. Raises the fault of the dialect for an unknown one."""
    uri = text_param(call.params, "uri")
    found = content.find(uri)
    if found is None:
        raise _no_resource(call, uri)
    resource, values = found
    try:
        resource.tool.validate(values)
    except InvalidArguments:
        raise _no_resource(call, uri) from None
    marks = {"uri": uri, **({"mimeType": resource.mime_type} if resource.mime_type else {})}
    return Found(resource.tool, dict(values), marks)


def prompt_result(found: Found, ended: Ended) -> dict[str, Any]:
    """The messages of a prompt that has ended. Raises the error that it ended with."""
    return {**found.extra, **_value(ended)}


def resource_result(found: Found, ended: Ended) -> dict[str, Any]:
    """What a resource holds, each part with its address. Raises the error that it ended with."""
    value = _value(ended)
    return {**value, "contents": [{**found.extra, **part} for part in value["contents"]]}


async def complete(call: Call) -> dict[str, Any]:
    """What an argument of a prompt, or a variable of a template, may become. Raises the fault for an unknown one."""
    reference, argument = call.params.get("ref"), call.params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise invalid_params("`ref` and `argument` must be objects")
    named, typed = text_param(argument, "name"), text_param(argument, "value")
    owner = _referenced(reference)
    if named not in owner.tool.signature.names:
        raise invalid_params("There is no such argument")
    completer = owner.complete.get(named)
    values = [] if completer is None else await _in_time(partial(_completions, completer, typed))
    shown = values[:MOST_COMPLETIONS]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


async def _in_time(work: Callable[[], list[str]]) -> list[str]:
    try:
        return await aside.ask(work)
    except TimeoutError:
        text = f"The completion took longer than its {aside.SECONDS:g} s."
        raise Fault(INTERNAL_ERROR, text, data={"reason": "timeout"}) from None


def _referenced(reference: dict[str, Any]) -> Prompt | Resource:
    found: Prompt | Resource | None = None
    if reference.get("type") == "ref/prompt":
        found = content.prompt(text_param(reference, "name"))
    elif reference.get("type") == "ref/resource":
        found = content.template(text_param(reference, "uri"))
    if found is None:
        raise invalid_params("`ref` names no prompt and no template of this server")
    return found


def _completions(completer: Completer, typed: str) -> list[str]:
    if callable(completer):
        # One more than is shown says that there are more; an endless answer is cut.
        return [str(value) for value in islice(completer(typed), MOST_COMPLETIONS + 1)]
    return [value for value in completer if value.lower().startswith(typed.lower())]


def _value(ended: Ended) -> dict[str, Any]:
    payload = ended.payload or {}
    if ended.how is How.RESULT:
        value: dict[str, Any] = payload["structuredContent"]
        return value
    if ended.how is How.RPC_ERROR:
        raise RpcError(payload["code"], payload["message"], payload.get("data"))
    if ended.how is How.SUSPENDED:
        raise Fault(INTERNAL_ERROR, 'It asks for input, which only a tool with task="optional" can do for this client.')
    raise Fault(INTERNAL_ERROR, error_text(payload) if payload else "It ended without a result.")


def _no_resource(call: Call, uri: str) -> Fault:
    code = RESOURCE_NOT_FOUND if call.dialect is Dialect.LEGACY else INVALID_PARAMS
    return Fault(code, "Resource not found", data={"uri": uri})


def _shown_prompt(prompt: Prompt) -> dict[str, Any]:
    schema = prompt.tool.input_schema
    required = schema.get("required", ())
    arguments = [
        {"name": name, **_description(property_.get("description")), "required": name in required}
        for name, property_ in schema.get("properties", {}).items()
    ]
    title = {"title": prompt.title} if prompt.title else {}
    return {"name": prompt.name, **title, **_description(prompt.description), "arguments": arguments}


def _shown(resource: Resource) -> dict[str, Any]:
    optional = {"title": resource.title, "description": resource.description, "mimeType": resource.mime_type}
    return {"name": resource.name, **{name: value for name, value in optional.items() if value}}


def _description(text: str | None) -> dict[str, str]:
    return {"description": text} if text else {}
