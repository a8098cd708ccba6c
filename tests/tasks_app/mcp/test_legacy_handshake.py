"""The handshake of 2025-11-25 and before: which revision, what is offered to whom, and the small methods."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app.engine.content import content
from tasks_app.engine.registry import registry
from tasks_app.mcp.negotiation import CLIENT_BYTES
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Session as SessionRow
from tests.asgi_client import Answer, Client
from tests.tasks_app.mcp.helpers import result_of
from tests.tasks_app.mcp.legacy_client import Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
INFO = {"name": "tester", "version": "1"}
OLDER = ["2025-06-18", "2025-03-26", "2024-11-05"]


async def initialize(client: Client, **changes: Any) -> Answer:
    """Send an `initialize`, changed in some way."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO} | changes
    given = {name: value for name, value in params.items() if value is not None}
    return await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": given})


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(version, version) for version in ["2025-11-25", *OLDER]]
    + [(version, "2025-11-25") for version in ["2026-07-28", "2030-01-01", "1.0", ""]],
)
async def test_handshake_agrees_on_a_known_revision_and_never_on_the_modern_one(
    client: Client, asked: str, agreed: str
) -> None:
    answer = await initialize(client, protocolVersion=asked)

    assert answer.status == 200
    assert result_of(answer)["protocolVersion"] == agreed
    assert len(answer.headers["mcp-session-id"]) >= 22


@pytest.mark.parametrize("name", ["capabilities", "clientInfo"])
async def test_handshake_that_says_too_much_is_refused_and_leaves_no_session(client: Client, name: str) -> None:
    """What a client says of itself is kept, so it is bounded: to the byte."""
    fits = {**INFO, "x": ""}
    fits["x"] = "ü" * ((CLIENT_BYTES - len(json.dumps(fits, separators=(",", ":")))) // 2)

    good = await initialize(client, **{name: fits})
    refused = await initialize(client, **{name: {**fits, "x": fits["x"] + "12"}})

    assert good.status == 200
    assert refused.error == {"code": -32602, "message": f"`{name}` may have at most 16384 bytes as JSON"}
    assert await in_thread(SessionRow.objects.count) == 1


async def test_handshake_tells_exactly_what_is_served(client: Client) -> None:
    """check 15, trap 7: tasks are declared in full, and extensions do not exist here."""
    result = result_of(await initialize(client))

    assert result["serverInfo"] == {"name": "taskdeck", "title": "Taskdeck", "version": "0.1.0"}
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "logging": {},
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": True},
        "completions": {},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    }


async def test_server_without_tools_still_offers_tasks(client: Client) -> None:
    """check 16."""
    with registry.temporary(), content.temporary():
        result = result_of(await initialize(client))

    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "logging": {},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    }


@pytest.mark.parametrize("version", OLDER)
async def test_older_revision_has_no_tasks(client: Client, version: str) -> None:
    result = result_of(await initialize(client, protocolVersion=version))
    session = await Session.begin(client, version=version)

    tools = (await session.result("tools/list"))["tools"]
    errors = [
        await session.error(method, {"taskId": "3f9c0f5e-0d1a-4c3b-9a52-0d5c6f1f0e11"})
        for method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel")
    ]

    assert "tasks" not in result["capabilities"]
    assert tools
    assert not any("execution" in tool for tool in tools)
    assert [error["code"] for error in errors] == [-32601] * 4


async def test_nobody_in_particular_may_not_list_tasks(stranger: Client, settings: Settings) -> None:
    settings.TASKDECK_ALLOW_ANONYMOUS = True
    result = result_of(await initialize(stranger))
    session = await Session.begin(stranger)

    error = await session.error("tasks/list")

    assert result["capabilities"]["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}
    assert error["code"] == -32601


@pytest.mark.parametrize(
    "changes",
    [
        {"protocolVersion": None},
        {"protocolVersion": 7},
        {"capabilities": None},
        {"capabilities": []},
        {"clientInfo": None},
        {"clientInfo": "tester"},
    ],
    ids=str,
)
async def test_handshake_that_says_too_little_is_refused(client: Client, changes: dict[str, Any]) -> None:
    # None leaves the member out.
    answer = await initialize(client, **changes)

    assert answer.status == 200
    assert answer.error["code"] == -32602
    assert "mcp-session-id" not in answer.headers


async def test_tools_tell_whether_they_can_be_tasks(session: Session) -> None:
    """check 17, trap 8."""
    tools = (await session.result("tools/list"))["tools"]

    support = {tool["name"]: tool.get("execution") for tool in tools}
    assert support["report"] == {"taskSupport": "required"}
    assert support["echo"] == {"taskSupport": "optional"}
    assert support["greet"] is None


async def test_list_begins_only_where_a_cursor_of_ours_says(session: Session) -> None:
    error = await session.error("tools/list", {"cursor": "made up"})

    assert error["code"] == -32602


async def test_ping_is_answered(session: Session) -> None:
    assert await session.result("ping") == {}


@pytest.mark.parametrize("level", ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"])
async def test_log_level_is_one_of_eight(session: Session, level: str) -> None:
    assert await session.result("logging/setLevel", {"level": level}) == {}


@pytest.mark.parametrize("level", ["loud", "", 3, None, ["info"]])
async def test_other_log_level_is_refused(session: Session, level: Any) -> None:
    error = await session.error("logging/setLevel", {"level": level})

    assert error["code"] == -32602


@pytest.mark.parametrize("method", ["tasks/update", "server/discover", "subscriptions/listen", "tools/unknown"])
async def test_unknown_method_is_an_error_but_no_failure_of_http(session: Session, method: str) -> None:
    """Trap 9."""
    answer = await session.request(method, id="seven")

    assert answer.status == 200
    assert answer.json["id"] == "seven"
    assert answer.error["code"] == -32601


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/roots/list_changed", "notifications/x"])
async def test_notification_is_accepted_without_a_word(session: Session, method: str) -> None:
    answer = await session.notify(method, {})

    assert (answer.status, answer.body) == (202, b"")


async def test_session_that_was_ended_is_gone(session: Session) -> None:
    ended = await session.client.request("DELETE", headers=session.headers)

    after = await session.request("ping")

    assert ended.status == 204
    assert after.status == 404


async def test_request_without_a_session_is_refused(client: Client) -> None:
    answer = await client.legacy("tools/list")

    assert answer.status == 400


async def test_session_of_another_owner_is_as_unknown_as_any(session: Session, eve_client: Client) -> None:
    theirs = Session(eve_client, session.id)
    made_up = Session(eve_client, "made-up")

    answers = [await each.request("tools/list") for each in (theirs, made_up)]

    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].body == answers[1].body
    assert (await session.request("tools/list")).status == 200


async def test_prompts_resources_and_completion_are_served(session: Session) -> None:
    prompts = await session.result("prompts/list")
    prompt = await session.result("prompts/get", {"name": "review", "arguments": {"language": "rust"}})
    resources = await session.result("resources/list")
    templates = await session.result("resources/templates/list")
    text = await session.result("resources/read", {"uri": "notes://welcome"})
    page = await session.result("resources/read", {"uri": "notes://iliad/pages/7"})
    completion = await session.result(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": "p"}},
    )

    assert "review" in [each["name"] for each in prompts["prompts"]]
    assert [message["content"]["text"] for message in prompt["messages"]] == [
        "Review rust code, be kind.",
        "Gladly.",
    ]
    assert "notes://welcome" in [each["uri"] for each in resources["resources"]]
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["notes://{book}/pages/{number}"]
    assert text == {"contents": [{"uri": "notes://welcome", "mimeType": "text/plain", "text": "Welcome!"}]}
    assert page["contents"][0]["text"] == '{"book": "iliad", "number": 7}'
    assert completion["completion"]["values"] == ["python", "perl"]


async def test_only_a_resource_that_there_is_can_be_watched(session: Session) -> None:
    watched = await session.result("resources/subscribe", {"uri": "notes://welcome"})
    unwatched = await session.result("resources/unsubscribe", {"uri": "notes://welcome"})
    error = await session.error("resources/subscribe", {"uri": "notes://nowhere"})

    assert (watched, unwatched) == ({}, {})
    assert error["code"] == -32002


async def test_prompt_that_asks_says_that_it_cannot(session: Session) -> None:
    error = await session.error("prompts/get", {"name": "with_context"})

    assert error["code"] == -32603
    assert 'task="optional"' in error["message"]
