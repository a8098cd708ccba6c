"""The tools that the official conformance suite calls on every server: names, texts and schemas are the suite's own.

What a client waits for without being asked runs in the web process (`task="forbidden"`); what asks a client of
2025-11-25, and what the suite's `tasks-*` scenarios want as a task, runs on a worker.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tasks_app.engine import Confirm, Context, Question, RpcError, ToolError, tool
from tasks_app.engine.forms import Roots, Sampling, Wanted
from tasks_app.engine.registry import Support, Tool, registry
from tasks_app.engine.schema import Signature, read_signature

Block = dict[str, Any]

PAUSE_SECONDS = 0.05
LOOK_SECONDS = 0.05
# One red pixel, and a header of a sound without any samples.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
IMAGE: Block = {"type": "image", "data": PNG, "mimeType": "image/png"}


@dataclass(frozen=True)
class Form(Wanted[dict[str, Any]]):
    """A form whose schema is written out, for what no pydantic model would say in these very words."""

    properties: dict[str, Any]
    required: tuple[str, ...] = ()

    def request(self) -> dict[str, Any]:
        """Give the form."""
        schema = {"type": "object", "properties": self.properties, "required": list(self.required)}
        return {"mode": "form", "requestedSchema": schema}

    def read(self, content: Any) -> dict[str, Any]:
        """Give the fields as they came."""
        return dict(content)

    def write(self, value: Any) -> dict[str, Any]:
        """Give the fields as they are."""
        return dict(value)


class Named(BaseModel):
    """Somebody's name."""

    name: str


class Agreed(BaseModel):
    """A yes or a no."""

    ok: bool


class Coloured(BaseModel):
    """Somebody's favourite colour."""

    color: str


@tool(task="forbidden")
def test_simple_text() -> str:
    """Return one text."""
    return "This is a simple text response for testing."


@tool(task="forbidden")
def test_image_content() -> list[Block]:
    """Return one image."""
    return [IMAGE]


@tool(task="forbidden")
def test_audio_content() -> list[Block]:
    """Return one sound."""
    return [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]


@tool(task="forbidden")
def test_embedded_resource() -> list[Block]:
    """Return one resource."""
    text = "This is an embedded resource content."
    return [_resource("test://embedded-resource", "text/plain", text)]


@tool(task="forbidden")
def test_multiple_content_types() -> list[Block]:
    """Return a text, an image and a resource."""
    text: Block = {"type": "text", "text": "Multiple content types test:"}
    data = json.dumps({"test": "data", "value": 123}, separators=(",", ":"))
    return [text, IMAGE, _resource("test://mixed-content-resource", "application/json", data)]


def _resource(uri: str, kind: str, text: str) -> Block:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


@tool(task="forbidden")
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(task="forbidden")
def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        ctx.progress(done, 100)
        time.sleep(PAUSE_SECONDS)
    return "Progress was reported."


@tool(task="forbidden")
def test_tool_with_logging(ctx: Context) -> str:
    """Write three lines."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log(line)
        time.sleep(PAUSE_SECONDS)
    return "Three lines were written."


@tool(task="forbidden")
def test_logging_tool(ctx: Context) -> str:
    """Write a line, which only goes out to those who asked for lines."""
    ctx.log("A line that nobody may have asked for")
    return "A line was written."


@tool
def test_sampling(ctx: Context, prompt: str) -> str:
    """Ask the client's model."""
    answer = ctx.sample("sample", prompt, max_tokens=100)
    return f"LLM response: {answer.value.text if answer.value else answer.action}"


@tool
def test_elicitation(ctx: Context, message: str) -> str:
    """Ask for a name and an address."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = ctx.ask("user", Form(fields, ("username", "email")), message=message)
    return f"User response: action={answer.action}, content={json.dumps(answer.value)}"


@tool
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default in every field."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return _elicited(ctx, fields)


@tool
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask with every kind of choice."""
    options = ["option1", "option2", "option3"]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": _titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": _titled("First Choice", "Second Choice", "Third Choice")},
        },
    }
    return _elicited(ctx, fields)


def _titled(*titles: str) -> list[Block]:
    return [{"const": f"value{number}", "title": title} for number, title in enumerate(titles, 1)]


def _elicited(ctx: Context, fields: dict[str, Any]) -> str:
    answer = ctx.ask("form", Form(fields), message="Please fill in the form")
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.value)}"


@tool
def test_reconnection() -> str:
    """Take so long that the client gets a stream, which it could find again."""
    time.sleep(1)
    return "The stream was there all the time."


@tool(task="forbidden")
def test_missing_capability(ctx: Context) -> str:
    """Ask the client's model, which needs a client that has one."""
    answer = ctx.sample("sample", "Say hello", max_tokens=10)
    return f"The model said: {answer.value.text if answer.value else answer.action}"


@tool(task="forbidden")
def test_streaming_elicitation(ctx: Context) -> str:
    """Ask after some progress: never with a request on the stream of 2026-07-28."""
    ctx.progress(1, 2)
    return f"Hello, {_name(ctx)}!"


@tool(task="forbidden")
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    return f"Hello, {_name(ctx)}!"


@tool(task="forbidden")
def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model for a capital."""
    answer = ctx.sample("capital_question", "What is the capital of France?", max_tokens=100)
    return answer.value.text if answer.value else "No answer."


@tool(task="forbidden")
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    answer = ctx.roots("client_roots")
    return "Roots: " + ", ".join(root.uri for root in answer.value or ())


@tool(task="forbidden")
def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation, and say that the state came back whole."""
    ctx.ask("confirm", Agreed, message="Please confirm")
    return "state-ok"


@tool(task="forbidden")
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask for three things of three kinds at once."""
    message = {"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}
    answers = ctx.ask_all(
        user_name=Question(Named, "What is your name?"),
        greeting=Question(Sampling((message,), 50)),
        client_roots=Question(Roots()),
    )
    return f"Answered: {', '.join(answers)}"


@tool(task="forbidden")
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask twice, one after the other."""
    first = ctx.ask("step1", Named, message="Step 1: What is your name?")
    second = ctx.ask("step2", Coloured, message="Step 2: What is your favorite color?")
    return f"{first.value.name if first.value else '?'} likes {second.value.color if second.value else '?'}"


@tool(task="forbidden")
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation; a state that was changed on its way is refused before this runs again."""
    ctx.ask("confirm", Agreed, message="Please confirm")
    return "The state was whole."


@tool(task="forbidden")
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client can answer."""
    if ctx.client_can("form"):
        return f"Hello, {_name(ctx)}!"
    if ctx.client_can("sampling"):
        answer = ctx.sample("greeting", "Generate a greeting", max_tokens=50)
        return answer.value.text if answer.value else "No answer."
    return "There is nothing that this client could be asked."


def _name(ctx: Context) -> str:
    answer = ctx.ask("user_name", Named, message="What is your name?")
    return answer.value.name if answer.value else "stranger"


@tool(task="forbidden")
def greet(name: str) -> str:
    """Greet."""
    return f"Hello, {name}!"


@tool
def slow_compute(ctx: Context, seconds: float, label: str = "work") -> str:
    """Take so many seconds, unless it is cancelled."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ctx.check_cancelled()
        time.sleep(min(LOOK_SECONDS, seconds))
    return f"{label}: {seconds:g} s"


@tool(task="required")
def failing_job() -> str:
    """Fail after a while."""
    time.sleep(1)
    raise ToolError("The job failed")


@tool
def protocol_error_job() -> str:
    """End with a protocol error."""
    raise RpcError(-32603, "The job broke the protocol", {"job": "protocol_error_job"})


@tool
def confirm_delete(ctx: Context, filename: str) -> str:
    """Ask before it would delete something."""
    answer = ctx.ask("confirm", Confirm, message=f"Delete {filename}?")
    return f"Deleted {filename}." if answer.accepted else f"Kept {filename}."


@tool
def multi_input(ctx: Context) -> str:
    """Ask two things at once."""
    answers = ctx.ask_all(
        who=Question(Form({"name": {"type": "string"}}), "What is your name?"),
        sure=Question(Form({"confirm": {"type": "boolean"}}), "Are you sure?"),
    )
    return f"Answered: {', '.join(answers)}"


@tool(task="required", ask_first=True)
def test_tool_with_task(ctx: Context) -> str:
    """Ask for a name before there is a task, and greet in the task."""
    return f"Hello, {_name(ctx)}!"


@tool(task="forbidden")
def route_query(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], query: str = "") -> str:
    """Take an argument that clients repeat in a header."""
    return f"{region}: {query}"


def _described(name: str | None = None, contactMethod: str | None = None) -> str:  # noqa: N803
    return f"Hello, {name or 'stranger'}!"


DESCRIBED_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _with_schema(schema: dict[str, Any]) -> Signature:
    read = read_signature(_described)
    return Signature(read.names, read.context_name, read.arguments, schema, read.returns, read.output_schema)


# No function has this schema: it is there to be shown.
registry.add(
    Tool(
        name="json_schema_2020_12_tool",
        description="Shows that keywords of JSON Schema 2020-12 reach the client.",
        function=_described,
        signature=_with_schema(DESCRIBED_SCHEMA),
        task=Support.FORBIDDEN,
    )
)
