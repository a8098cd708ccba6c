"""The prompts and resources that the official conformance suite reads on every server, in the suite's own words."""

from __future__ import annotations

import base64
from typing import Any

from tasks_app.engine import Context, prompt, resource
from tests.conformance.fixture_tools import IMAGE, PNG, Form


@prompt
def test_simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


@prompt(complete={"arg1": ("paris", "park", "party"), "arg2": ("world",)})
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A message with two arguments in it."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[dict[str, Any]]:  # noqa: N803
    """A resource, and what to do with it."""
    text = "Embedded resource content for testing."
    embedded = {"type": "resource", "resource": {"uri": resourceUri, "mimeType": "text/plain", "text": text}}
    return [embedded, {"type": "text", "text": "Please process the embedded resource above."}]


@prompt
def test_prompt_with_image() -> list[dict[str, Any]]:
    """An image, and what to do with it."""
    return [IMAGE, {"type": "text", "text": "Please analyze the image above."}]


@prompt
def test_input_required_result_prompt(ctx: Context) -> str:
    """A message that depends on an answer."""
    answer = ctx.ask(
        "user_context",
        Form({"context": {"type": "string"}}, ("context",)),
        message="What context should the prompt use?",
    )
    return f"Use this context: {answer.value['context'] if answer.value else 'none'}"


@resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return base64.b64decode(PNG)


@resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:  # noqa: A002
    """Data that depends on the address."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Something that a client may want to watch."""
    return "This resource can be watched."
