"""The tools, prompts and resources that the tests of 2026-07-28 call. Imported anew for each test, and by workers."""

from __future__ import annotations

import time
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tasks_app.engine import (
    AsyncContext,
    Choice,
    Confirm,
    Context,
    Question,
    RpcError,
    Text,
    ToolError,
    prompt,
    resource,
    tool,
)


class Person(BaseModel):
    name: str


class Sum(BaseModel):
    total: int


@tool(task="forbidden")
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@tool(task="forbidden", timeout=0.2)
def hang(ctx: Context) -> str:
    """Never come back by itself."""
    while True:
        ctx.check_cancelled()
        time.sleep(0.01)


@tool(task="forbidden")
async def count_here(ctx: AsyncContext, to: int = 3) -> str:
    """Count, and tell."""
    for number in range(to + 1):
        await ctx.progress(number, to, f"{number} of {to}")
        await ctx.progress(number, to, "said before")
        await ctx.log(f"line {number}")
    return "counted"


@tool(task="forbidden")
def who_am_i(ctx: Context) -> dict[str, Any]:
    """Tell what a tool knows about its call."""
    return {"owner": ctx.owner, "is_task": ctx.is_task, "form": ctx.client_can("form"), "url": ctx.client_can("url")}


@tool(task="forbidden")
def introduce(ctx: Context) -> str:
    """Ask for a name, then for a colour."""
    name = ctx.ask("user_name", Person, message="What is your name?")
    if not name.accepted or name.value is None:
        return "Nobody."
    colour = ctx.ask("colour", Choice("red", "blue"), message=f"Which colour, {name.value.name}?")
    return f"{name.value.name} likes {colour.value}."


@tool(task="forbidden")
def wants_model(ctx: Context) -> str:
    """Ask the client's model."""
    return f"It said {ctx.sample('thought', 'Think.').value}"


@tool
def add(left: int, right: int) -> Sum:
    """Add two numbers."""
    return Sum(total=left + right)


@tool(poll=2)
def echo(ctx: Context, text: str = "hello") -> str:
    """Say it again, and whether it is a task."""
    return f"{text} {'as a task' if ctx.is_task else 'while you wait'}"


@tool
def fail_softly() -> str:
    """Fail as tools do."""
    raise ToolError("this went wrong")


@tool(retries=0)
def fail_hard() -> str:
    """Fail as the protocol does."""
    raise RpcError(-32050, "no such planet", {"planet": "Vulcan"})


@tool(task="required")
def report() -> str:
    """Only as a task."""
    return "the report"


@tool(expected=60)
def slow_by_its_own_word() -> str:
    """Said to be slow."""
    return "at last"


@tool(expected=60)
def slow_sum() -> Sum:
    """Said to be slow, and promises an object."""
    return Sum(total=1)


@tool
def sleep(ctx: Context, seconds: float = 30.0) -> str:
    """Sleep until told otherwise."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.check_cancelled()
        time.sleep(0.02)
    return "awake"


@tool(steps=("look", "end"))
def steps(ctx: Context) -> str:
    """Say how far it is, and wait for a word before it goes on."""
    ctx.step("look", len, "abc")
    ctx.set_variable("phase", "first")
    ctx.progress(1, 2, "half way")
    ctx.ask("go_on", Confirm, message="Go on?")
    ctx.progress(2, 2, "all the way")
    ctx.step("end", len, "abc")
    return "done"


@tool
def confirm_delete(ctx: Context, filename: str) -> str:
    """Delete a file, if somebody says so."""
    answer = ctx.ask("confirm", Confirm, message=f"Delete {filename}?")
    return f"{filename} deleted" if answer.accepted else f"{filename} kept"


@tool
def two_questions(ctx: Context) -> str:
    """Ask two things at once."""
    found = ctx.ask_all(who=Question(Person, "Who?"), sure=Question(Confirm, "Sure?"))
    assert found["who"].value is not None
    return f"{found['who'].value.name} {found['sure'].accepted}"


@tool(task="required", ask_first=True)
def named_report(ctx: Context) -> str:
    """Ask for a name before it is a task, and once more as one."""
    who = ctx.ask("user_name", Person, message="What is your name?").value
    assert who is not None
    title = ctx.ask("title", Text(), message="Which title?").value
    return f"{title} for {who.name}"


@tool(approval="operator")
def deploy(service: str) -> str:
    """Deploy, once an operator approves."""
    return f"{service} deployed"


@tool
def fake_task() -> dict[str, Any]:
    """Invent a task."""
    return {"taskId": "made-up", "status": "working"}


@tool(task="forbidden")
def query(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], limit: int | None = None) -> str:
    """Ask in one region."""
    return f"{region} {limit}"


@prompt(title="Review", complete={"language": ["python", "perl", "rust"]})
def review(language: Annotated[str, Field(description="Of the code.")], tone: str = "kind") -> list[Any]:
    """Review some code."""
    return [f"Review {language} code, be {tone}.", {"role": "assistant", "content": "Gladly."}]


@prompt
def with_context(ctx: Context) -> str:
    """Ask for the context first."""
    found = ctx.ask("user_context", Text(), message="Which context?")
    return f"Given {found.value}, go."


@prompt
def broken_prompt() -> int:
    """Return something that is no message."""
    return 7


@resource("notes://welcome", mime_type="text/plain", title="Welcome")
def welcome() -> str:
    """What to read first."""
    return "Welcome!"


@resource("notes://logo", mime_type="image/png")
def logo() -> bytes:
    """A picture."""
    return b"\x89PNG\xff"


@resource("notes://{book}/pages/{number}", mime_type="application/json", complete={"book": lambda typed: [typed + "!"]})
def page(book: str, number: int) -> dict[str, Any]:
    """A page of a book."""
    return {"book": book, "number": number}
