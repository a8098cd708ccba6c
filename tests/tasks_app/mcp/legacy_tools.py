"""What the tests of 2025-11-25 need besides the tools of `modern_tools`. Imported anew for each test."""

from __future__ import annotations

import threading
import time
from typing import Any

from tasks_app.engine import Context, ToolError, tool

LOOK_SECONDS = 0.01
LONGEST_SECONDS = 20.0

gate = threading.Event()
"""What `through_the_gate` and `counts` wait for: the tools run in this process."""


def _wait(ctx: Context) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not gate.wait(LOOK_SECONDS) and time.monotonic() < deadline:
        ctx.check_cancelled()


@tool
def through_the_gate(ctx: Context) -> str:
    """Wait for the gate."""
    _wait(ctx)
    return "through"


@tool
def counts(ctx: Context) -> str:
    """Tell how far it is, wait for the gate, and tell again."""
    ctx.progress(1, 2, "half way")
    _wait(ctx)
    ctx.progress(2, 2, "all the way")
    return "counted"


@tool
def asks_model(ctx: Context) -> str:
    """Ask the client's model."""
    answer = ctx.sample("thought", "Think.", max_tokens=7)
    return answer.value.text if answer.value else f"no thought: {answer.action}"


@tool
def asks_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    answer = ctx.roots("places")
    return ",".join(root.uri for root in answer.value or ())


@tool
def asks_visit(ctx: Context) -> str:
    """Ask the person to open an address."""
    return ctx.ask_url("visit", "https://example.com/pay", message="Please pay").action.value


@tool
def with_meta() -> dict[str, Any]:
    """Return a whole result with a note of its own."""
    return {"content": [{"type": "text", "text": "noted"}], "_meta": {"example.com/note": 1}}


@tool(task="forbidden")
def waits_here(ctx: Context) -> str:
    """Wait for the gate in the web process."""
    ctx.log("waiting")
    _wait(ctx)
    return "through"


@tool(retries=0)
def fails_half_way(ctx: Context) -> str:
    """Fail with many words, after it told how far it is."""
    ctx.progress(1, 2, "half way")
    raise ToolError("x" * 5_000)
