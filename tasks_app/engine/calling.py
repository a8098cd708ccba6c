"""From a tool and its arguments to a task: what the store is told, whoever calls. The arguments are checked before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tasks_app.conf import conf
from tasks_app.domain.polling import poll_interval_ms
from tasks_app.domain.text import clean_text
from tasks_app.engine.registry import Tool
from tasks_app.store.create import NewTask

SHOWN_CHARACTERS = 2_000


def own_task(tool: Tool, arguments: Mapping[str, Any], *, owner_id: int, client: str) -> NewTask:
    """What becomes of a call that a person makes in their own name, without a credential."""
    return NewTask(
        owner_id=owner_id,
        tool=tool.name,
        tool_version=tool.version,
        arguments=arguments,
        tool_ttl_ms=milliseconds(tool.ttl),
        client=client,
        max_retries=tool.retries,
        poll_ms=poll_ms(tool),
        labels=tool.labels,
        approval=approval_request(tool, arguments) if tool.approval else None,
    )


def approval_request(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What an operator is asked before the tool may run: nothing but yes or no, with the arguments in view."""
    shown = json.dumps(arguments, ensure_ascii=False, indent=2)
    return {
        "mode": "form",
        "message": clean_text(f"Run {tool.name} with these arguments?\n{shown}", SHOWN_CHARACTERS),
        "requestedSchema": {"type": "object", "properties": {}},
    }


def poll_ms(tool: Tool) -> int:
    """How often a client should look at a new task of this tool."""
    unknown = conf().limits.default_poll_interval_ms
    return poll_interval_ms(tool.expected, override_ms=milliseconds(tool.poll), unknown_ms=unknown)


def milliseconds(seconds: float | None) -> int | None:
    """What a tool declares in seconds as the store keeps it."""
    return None if seconds is None else max(1, round(seconds * 1000))
