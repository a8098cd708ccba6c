"""What a server of 2026-07-28 says about itself, and what it lists."""

from __future__ import annotations

import pytest

from tasks_app.engine import tool
from tasks_app.engine.content import content
from tasks_app.engine.registry import registry
from tests.asgi_client import Client, modern_headers, modern_message

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]


async def test_discover_advertises_the_tasks_extension_and_no_legacy_capability(client: Client) -> None:
    """check 32, trap 7."""
    answer = await client.modern("server/discover", id="d1")

    result = answer.json["result"]
    assert answer.json["id"] == "d1"
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "logging": {},
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }
    assert (result["ttlMs"], result["cacheScope"]) == (300_000, "public")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "taskdeck"


async def test_discover_names_no_feature_that_is_not_there(client: Client) -> None:
    with content.temporary():
        answer = await client.modern("server/discover")

    assert set(answer.json["result"]["capabilities"]) == {"tools", "logging", "extensions"}


async def test_discover_and_the_version_error_name_the_same_versions(client: Client) -> None:
    message = modern_message("server/discover", version="2030-01-01")
    headers = modern_headers(message) | {"mcp-protocol-version": "2030-01-01"}
    error = (await client.post(message, headers=headers)).error
    discovered = (await client.modern("server/discover")).json["result"]

    assert error["code"] == -32022
    assert error["data"]["supported"] == discovered["supportedVersions"]


@pytest.mark.parametrize(
    "method",
    ["tasks/list", "tasks/result", "initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/foo"],
)
async def test_method_that_this_revision_does_not_have_is_not_found(client: Client, method: str) -> None:
    """check 33: also from a client that declares no tasks, since the method comes before the capability."""
    answer = await client.modern(method, {"taskId": "x"}, id=7)

    assert answer.status == 404
    assert answer.error["code"] == -32601
    assert answer.json["id"] == 7


async def test_tools_are_listed_by_name_without_execution_and_with_cache_hints(client: Client) -> None:
    """Trap 8."""
    result = (await client.modern("tools/list")).json["result"]

    names = [each["name"] for each in result["tools"]]
    assert names == sorted(names)
    assert {"greet", "report", "echo", "get_task_result"} <= set(names)
    assert not any("execution" in each for each in result["tools"])
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 300_000, "public")
    assert "nextCursor" not in result


async def test_tools_come_in_pages_that_cover_all_of_them_once(client: Client) -> None:
    with registry.temporary():
        for number in range(230):
            tool(name=f"tool-{number:03}")(lambda: "x")

        found, cursor, pages = [], None, 0
        while cursor is not None or pages == 0:
            page = (await client.modern("tools/list", {"cursor": cursor} if cursor else {})).json["result"]
            found += [each["name"] for each in page["tools"]]
            cursor, pages = page.get("nextCursor"), pages + 1

    assert pages == 3
    assert found == [f"tool-{number:03}" for number in range(230)]


@pytest.mark.parametrize("cursor", ["nonsense", "", 7, {"a": 1}, "\ud800"])
async def test_cursor_of_nobody_is_refused(client: Client, cursor: object) -> None:
    answer = await client.modern("tools/list", {"cursor": cursor})

    assert (answer.status, answer.error["code"]) == (400, -32602)
