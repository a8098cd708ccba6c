"""The tool that the benchmark of the endpoint calls."""

from __future__ import annotations

from tasks_app.engine import tool


@tool
def noop(number: int) -> str:
    """Do nothing."""
    return "done"
