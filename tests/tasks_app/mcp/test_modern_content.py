"""Prompts, resources and completion of 2026-07-28, and how they are declared."""

from __future__ import annotations

import base64
import threading
from typing import Any

import pytest

from tasks_app.engine import prompt, resource
from tasks_app.engine.content import content
from tasks_app.engine.registry import registry
from tasks_app.mcp import aside
from tests.asgi_client import Answer, Client
from tests.tasks_app.mcp.helpers import result_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]


async def read(client: Client, uri: str) -> Answer:
    """Read a resource."""
    return await client.modern("resources/read", {"uri": uri})


async def test_prompts_are_listed_with_their_arguments(client: Client) -> None:
    result = result_of(await client.modern("prompts/list"))

    assert [each["name"] for each in result["prompts"]] == ["broken_prompt", "review", "with_context"]
    assert result["prompts"][1] == {
        "name": "review",
        "title": "Review",
        "description": "Review some code.",
        "arguments": [
            {"name": "language", "description": "Of the code.", "required": True},
            {"name": "tone", "required": False},
        ],
    }
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 300_000, "public")


async def test_prompt_gives_its_messages(client: Client) -> None:
    params = {"name": "review", "arguments": {"language": "rust"}}

    result = result_of(await client.modern("prompts/get", params))

    assert result["description"] == "Review some code."
    assert result["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Review rust code, be kind."}},
        {"role": "assistant", "content": {"type": "text", "text": "Gladly."}},
    ]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "nothing"},
        {"name": "review"},
        {"name": "review", "arguments": {"language": 7}},
        {"name": "review", "arguments": {"language": "x", "more": "y"}},
        {"name": "review", "arguments": []},
    ],
)
async def test_prompt_that_cannot_be_given_is_refused(client: Client, params: dict[str, Any]) -> None:
    answer = await client.modern("prompts/get", params)

    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_prompt_that_fails_says_why(client: Client) -> None:
    answer = await client.modern("prompts/get", {"name": "broken_prompt"})

    assert answer.error["code"] == -32603
    assert "neither text nor a message" in answer.error["message"]


async def test_resources_and_templates_are_listed_apart(client: Client) -> None:
    fixed = result_of(await client.modern("resources/list"))
    templates = result_of(await client.modern("resources/templates/list"))

    assert fixed["resources"] == [
        {"uri": "notes://logo", "name": "logo", "description": "A picture.", "mimeType": "image/png"},
        {
            "uri": "notes://welcome",
            "name": "welcome",
            "title": "Welcome",
            "description": "What to read first.",
            "mimeType": "text/plain",
        },
    ]
    [template] = templates["resourceTemplates"]
    assert (template["uriTemplate"], template["name"]) == ("notes://{book}/pages/{number}", "page")
    assert all(each["cacheScope"] == "public" for each in (fixed, templates))


async def test_resource_is_read_as_text_as_bytes_and_through_a_template(client: Client) -> None:
    text = result_of(await read(client, "notes://welcome"))
    binary = result_of(await read(client, "notes://logo"))
    page = result_of(await read(client, "notes://moby%20dick/pages/7"))

    assert text["contents"] == [{"uri": "notes://welcome", "mimeType": "text/plain", "text": "Welcome!"}]
    assert (text["ttlMs"], text["cacheScope"]) == (0, "private")
    [blob] = binary["contents"]
    assert base64.b64decode(blob["blob"]) == b"\x89PNG\xff"
    assert "text" not in blob
    [found] = page["contents"]
    assert found["uri"] == "notes://moby%20dick/pages/7"
    assert found["text"] == '{"book": "moby dick", "number": 7}'


@pytest.mark.parametrize("uri", ["notes://nothing", "notes://a/pages/many", "notes://a/b/pages/7", "x"])
async def test_resource_that_there_is_not_is_an_error_that_names_it(client: Client, uri: str) -> None:
    answer = await read(client, uri)

    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert answer.error["data"] == {"uri": uri}


async def test_completer_that_hangs_is_told_so_in_time_and_keeps_no_other_thread(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "SECONDS", 0.2)
    let_go = threading.Event()

    @prompt(complete={"word": lambda typed: [typed] if let_go.wait(20) else []})
    def slow(word: str) -> str:
        """Say a word."""
        return word

    params = {"ref": {"type": "ref/prompt", "name": "slow"}, "argument": {"name": "word", "value": "x"}}
    try:
        answers = [await client.modern("completion/complete", params) for _ in range(aside.THREADS + 1)]
        read = await client.modern("resources/read", {"uri": "notes://welcome"})
    finally:
        let_go.set()

    assert {answer.error["code"] for answer in answers} == {-32603}
    assert answers[0].error["data"] == {"reason": "timeout"}
    assert read.status == 200


async def test_arguments_of_prompts_and_templates_are_completed(client: Client) -> None:
    def params(reference: dict[str, str], name: str, value: str) -> dict[str, Any]:
        return {"ref": reference, "argument": {"name": name, "value": value}}

    of_prompt = params({"type": "ref/prompt", "name": "review"}, "language", "P")
    plain = params({"type": "ref/prompt", "name": "review"}, "tone", "k")
    of_template = params({"type": "ref/resource", "uri": "notes://{book}/pages/{number}"}, "book", "mob")

    found = [result_of(await client.modern("completion/complete", each)) for each in (of_prompt, plain, of_template)]

    assert found[0]["completion"] == {"values": ["python", "perl"], "total": 2, "hasMore": False}
    assert found[1]["completion"]["values"] == []
    assert found[2]["completion"]["values"] == ["mob!"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "nothing", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "tone", "value": 7}},
        {"ref": {"type": "ref/other"}, "argument": {"name": "a", "value": ""}},
    ],
)
async def test_completion_of_what_there_is_not_is_refused(client: Client, params: dict[str, Any]) -> None:
    answer = await client.modern("completion/complete", params)

    assert (answer.status, answer.error["code"]) == (400, -32602)


def test_wrong_declarations_are_collected_and_not_offered() -> None:
    before = len(registry.problems)

    prompt(name="two words")(lambda: "x")
    prompt(complete={"nothing": []})(lambda language: language)
    resource("no-scheme")(lambda: "x")
    resource("notes://{other}")(lambda name: name)
    resource("notes://welcome")(lambda: "again")
    prompt(lambda *parts: "x")

    problems = registry.problems[before:]
    assert [each.id for each in problems] == [
        "tasks.E006",
        "tasks.E006",
        "tasks.E007",
        "tasks.E007",
        "tasks.E007",
        "tasks.E006",
    ]
    assert [each.name for each in content.prompts()] == ["broken_prompt", "review", "with_context"]
    assert [each.uri for each in content.resources()] == ["notes://logo", "notes://welcome"]
