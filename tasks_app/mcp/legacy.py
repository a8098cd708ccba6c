"""The methods of 2025-11-25 and the handshake revisions before it: what there is, who may call it, and the handshake.

What the server says that it can do is derived from what stands here.
"""

from __future__ import annotations

from typing import Any

from tasks_app.domain.identity import Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import legacy_answers, legacy_calls, legacy_content, legacy_streams, legacy_tasks, pool, wire
from tasks_app.mcp.call import Call, Headed, Method, Methods, text_param
from tasks_app.mcp.errors import invalid_params
from tasks_app.mcp.legacy_shapes import is_anonymous
from tasks_app.mcp.legacy_withdrawals import withdraw
from tasks_app.mcp.negotiation import LEGACY_VERSIONS, LOG_LEVELS, bounded
from tasks_app.store import sessions

INSTRUCTIONS = "Long tools can be called as tasks: poll them with tasks/get, and wait for them with tasks/result."

METHODS = Methods(Dialect.LEGACY)
METHODS.listen = legacy_streams.listen
METHODS.receive_response = legacy_answers.receive_response
METHODS.notification("notifications/cancelled")(withdraw)

_READ, _RUN, _CANCEL = frozenset({Scope.READ}), frozenset({Scope.RUN}), frozenset({Scope.CANCEL})

for _method in (
    Method("tools/list", legacy_calls.list_tools, _READ),
    Method("tools/call", legacy_calls.call_tool, _RUN),
    Method("tasks/get", legacy_tasks.get_task, _READ, names_task=True, is_poll=True),
    Method("tasks/result", legacy_tasks.get_result, _READ, names_task=True),
    Method("tasks/list", legacy_tasks.list_tasks, _READ),
    Method("tasks/cancel", legacy_tasks.cancel_task, _CANCEL),
    Method("prompts/list", legacy_content.list_prompts, _READ),
    Method("prompts/get", legacy_content.get_prompt, _READ),
    Method("resources/list", legacy_content.list_resources, _READ),
    Method("resources/templates/list", legacy_content.list_templates, _READ),
    Method("resources/read", legacy_content.read_resource, _READ),
    Method("resources/subscribe", legacy_content.subscribe, _READ),
    Method("resources/unsubscribe", legacy_content.subscribe, _READ),
    Method("completion/complete", legacy_content.complete, _READ),
):
    METHODS.register(_method)


@METHODS.method("initialize", needs_session=False)
async def initialize(call: Call) -> Headed:
    """Agree on a revision, say what can be done, and begin a session of this owner; too many of them end the oldest."""
    asked = text_param(call.params, "protocolVersion")
    version = asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
    plan = sessions.open_session(
        call.caller.owner_id,
        version=version,
        capabilities=_object(call.params, "capabilities"),
        client=_object(call.params, "clientInfo"),
    )
    result = {
        "protocolVersion": version,
        "capabilities": capabilities(call, version=version),
        "serverInfo": wire.server_info(),
        "instructions": INSTRUCTIONS,
    }
    return Headed(result, {"Mcp-Session-Id": await pool.run(plan)})


def capabilities(call: Call, *, version: str) -> dict[str, Any]:
    """What this server can do for a client of this revision."""
    can: dict[str, Any] = {"tools": {"listChanged": False}, "logging": {}, **legacy_content.capabilities()}
    if version == Dialect.LEGACY.value:
        lists: dict[str, Any] = {} if is_anonymous(call) else {"list": {}}
        can["tasks"] = {**lists, "cancel": {}, "requests": {"tools": {"call": {}}}}
    return can


@METHODS.method("ping")
async def ping(_call: Call) -> dict[str, Any]:
    """Say that we are here."""
    return {}


@METHODS.method("logging/setLevel")
async def set_log_level(call: Call) -> dict[str, Any]:
    """Remember from which level on this session wants log lines."""
    level = call.params.get("level")
    if not isinstance(level, str) or level not in LOG_LEVELS:
        raise invalid_params(f"`level` must be one of {', '.join(LOG_LEVELS)}")
    if call.session is not None:
        await pool.run(sessions.set_log_level(call.session.id, owner_id=call.caller.owner_id, level=level))
    return {}


def _object(params: dict[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name)
    if not isinstance(value, dict):
        raise invalid_params(f"`{name}` must be an object")
    return bounded(value, name=name)
