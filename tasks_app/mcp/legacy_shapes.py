"""What every legacy method asks: whether its client has tasks, how a task is shown, what its result says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import calls, wire
from tasks_app.mcp.call import Call
from tasks_app.mcp.errors import method_not_found
from tasks_app.store.rows import Snapshot


def has_tasks(call: Call) -> bool:
    """Whether the revision that the client speaks knows tasks, and streams that can be resumed: both came with it."""
    return call.version == Dialect.LEGACY.value


def require_tasks(call: Call) -> None:
    """Raises the fault for a method that the client's revision does not have."""
    if not has_tasks(call):
        raise method_not_found()


def is_anonymous(call: Call) -> bool:
    """Whether nobody said who calls: then everyone is the same owner, and nobody may list what others made."""
    return "authorization" not in call.request.headers


def shown(task: Snapshot) -> dict[str, Any]:
    """A task as the client sees it."""
    # An approval is none of the client's business, and nothing else is asked before the first attempt.
    return wire.legacy_task(task, asks_client=task.attempt > 0, now=datetime.now(UTC))


def result_text(task: Snapshot) -> str:
    """What the tool returned, word for word, and the task it belongs to. Raises the fault that the task ended with."""
    stored = calls.stored_result(task)
    related = {wire.RELATED_TASK: {"taskId": str(task.id)}}
    if '"_meta"' not in stored:
        members = stored.strip()[1:].lstrip()
        return f'{{"_meta":{json.dumps(related)}{"" if members == "}" else ","}{members}'
    result = json.loads(stored)
    result["_meta"] = {**(result.get("_meta") or {}), **related}
    return json.dumps(result)
