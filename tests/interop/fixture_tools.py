"""The tools that the clients of these tests call: one for each way in which a call can go."""

from __future__ import annotations

import time

from pydantic import BaseModel

from tasks_app.engine import Choice, Context, Text, ToolError, prompt, resource, tool

LOOK_SECONDS = 0.02
LONGEST_SECONDS = 60.0


class Sum(BaseModel):
    """A number."""

    total: int


@tool(task="forbidden")
def add_here(left: int, right: int) -> Sum:
    """Add two numbers in the web process."""
    return Sum(total=left + right)


@tool(task="forbidden")
def count(ctx: Context, to: int) -> str:
    """Count, and tell how far it is."""
    for number in range(1, to + 1):
        ctx.progress(number, to, f"{number} of {to}")
    return f"counted to {to}"


@tool
def add(left: int, right: int) -> Sum:
    """Add two numbers on a worker."""
    return Sum(total=left + right)


@tool(task="required")
def report() -> str:
    """Only as a task."""
    return "the report"


@tool
def refuse() -> str:
    """Fail."""
    raise ToolError("this tool refuses")


@tool
def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = ctx.ask("name", Text, message="What is your name?")
    return f"Hello, {answer.value}!" if answer.accepted else f"Hello? ({answer.action})"


@tool
def introduce(ctx: Context) -> str:
    """Ask for a name, then for a colour."""
    name = ctx.ask("name", Text, message="What is your name?")
    colour = ctx.ask("colour", Choice("red", "blue"), message=f"Which colour, {name.value}?")
    return f"{name.value} likes {colour.value}."


@tool
def wait(ctx: Context) -> str:
    """Go on until somebody cancels it."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        ctx.check_cancelled()
        time.sleep(LOOK_SECONDS)
    return "nobody cancelled this"


@resource("interop://motto")
def motto() -> str:
    """Something to read."""
    return "one row is the truth"


@prompt
def hello(name: str) -> str:
    """Something to say."""
    return f"Say hello to {name}."
