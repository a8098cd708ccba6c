"""What stands first on the page of a task that has ended: how it ended, in a sentence that needs no click. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import present, story
from tasks_app import store
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.status import Status
from tasks_app.store import codec
from tasks_app.store.queries import AttemptView, EventView


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence, what else there is to know, and how it looks."""

    said: str
    detail: str
    icon: str
    tone: str
    code: str = ""


def headline(
    task: store.Snapshot,
    *,
    events: Sequence[EventView],
    attempts: Sequence[AttemptView],
    names: Mapping[int, str],
    now: datetime,
) -> Headline | None:
    """How it ended, when there is more to say than its status does; None for a result, and for what goes on."""
    if task.expires_at <= now and not task.held:
        return _expired(task, now)
    if task.status is Status.CANCELLED:
        return Headline(_cancelled(events, names), story.stopping(attempts, now=now), icon="cancelled", tone="")
    if task.status is Status.FAILED and task.error is not None:
        return _failed(codec.decode(task.error), attempts)
    if task.outcome is Outcome.TOOL_ERROR:
        detail = "The tool reported an error. The task itself completed and its result can be fetched."
        return Headline(_text(task) or "The tool reported an error", detail, icon="warn", tone="toolband")
    return None


def _expired(task: store.Snapshot, now: datetime) -> Headline:
    was_live = task.finished_at is None or task.outcome is Outcome.EXPIRED
    said = "Expired before it ended" if was_live else "Expired"
    detail = "Clients can no longer read it, and what it was given and returned is no longer shown."
    return Headline(f"{said}, {present.span(now - task.expires_at)} ago", detail, icon="hourglass", tone="")


def _failed(error: Mapping[str, Any], attempts: Sequence[AttemptView]) -> Headline:
    data = error.get("data")
    reason = data.get("reason") if isinstance(data, dict) else None
    parts = [f"reason {reason}"] if isinstance(reason, str) else []
    if attempts:
        parts.append(f"last attempt on {present.worker_name(attempts[-1].worker)}")
    code = str(error.get("code", ""))
    return Headline(str(error.get("message", "It failed")), " · ".join(parts), icon="failed", tone="failed", code=code)


def _cancelled(events: Sequence[EventView], names: Mapping[int, str]) -> str:
    by = next((event for event in reversed(events) if event.to_status == Status.CANCELLED), None)
    if by is None:
        return "Cancelled"
    reason = by.actor.get("reason")
    return f"Cancelled by {story.who(by, names)}" + (f": {reason}" if reason else "")


def _text(task: store.Snapshot) -> str:
    blocks = codec.decode(task.result).get("content", []) if task.result else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return next((text for text in texts if isinstance(text, str)), "")[:500]
