"""The result that stands for a tool's own failure, in the format that a tool's result has everywhere."""

from __future__ import annotations

from typing import Any


def tool_error(text: str) -> dict[str, Any]:
    """A result that says what went wrong and is marked as an error."""
    return {"content": [{"type": "text", "text": text}], "isError": True}
