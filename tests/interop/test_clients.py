"""Published clients against a real server, each in an environment of its own and through its own public calls.

A client runs all its scenarios in one go; each test is about one of them. section 2 item 21: both eras from one server.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.interop.conftest import CLIENT_SECONDS, Found
from tests.interop.environments import INSTALL_SECONDS

# The database is the server's; the tests themselves do not touch it.
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(INSTALL_SECONDS + CLIENT_SECONDS + 60)]

TOOLS = {
    "add": "optional",
    "add_here": None,
    "count": None,
    "get_task_result": None,
    "greet": "optional",
    "introduce": "optional",
    "refuse": "optional",
    "report": "required",
    "wait": "optional",
}
COUNTED = {"told": [[1.0, 2.0, "1 of 2"], [2.0, 2.0, "2 of 2"]], "text": "counted to 2"}
INTRODUCED = {"asked": ["What is your name?", "Which colour, Ada?"], "text": "Ada likes blue."}
GREETED = {"asked": ["What is your name?"], "text": "Hello, Ada!"}
DECLINED = {"asked": ["What is your name?"], "text": "Hello? (decline)"}
CONTENT = ["one row is the truth", "Say hello to Ada."]


@pytest.fixture(scope="module")
def mcp1(run_client: Callable[[str, str], Found]) -> Found:
    """What the official SDK before version 2 saw."""
    return run_client("mcp1", "mcp1")


@pytest.fixture(scope="module")
def fastmcp(run_client: Callable[[str, str], Found]) -> Found:
    """What FastMCP saw."""
    return run_client("fastmcp4", "fastmcp")


@pytest.fixture(scope="module")
def mcp2(run_client: Callable[[str, str], Found]) -> Found:
    """What the official SDK of version 2 saw."""
    return run_client("mcp2", "mcp2")


def test_mcp1_shakes_hands_and_finds_tasks(mcp1: Found) -> None:
    assert mcp1["handshake"] == {
        "version": "2025-11-25",
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        "ping": {},
    }


def test_mcp1_lists_the_tools_and_what_can_be_a_task(mcp1: Found) -> None:
    assert mcp1["tools"] == TOOLS


def test_mcp1_calls_without_a_task(mcp1: Found) -> None:
    assert mcp1["plain_call"] == [{"total": 3}, {"total": 7}]
    assert mcp1["progress"] == COUNTED


def test_mcp1_creates_polls_and_fetches_a_task(mcp1: Found) -> None:
    assert mcp1["task"] == {
        "created": {"status": "working", "ttl": 120_000},
        "status": "completed",
        "value": {"total": 5},
        "is_related": True,
    }


def test_mcp1_sees_the_error_of_a_failed_task(mcp1: Found) -> None:
    assert mcp1["failed_task"] == {"status": "failed", "is_error": True, "text": "this tool refuses"}


def test_mcp1_answers_what_a_task_asks(mcp1: Found) -> None:
    assert mcp1["elicitation"] == GREETED | {"status": "completed"}
    assert mcp1["two_elicitations"] == INTRODUCED | {"status": "completed"}
    assert mcp1["declined_elicitation"] == DECLINED | {"status": "completed"}


def test_mcp1_answers_what_a_waiting_call_asks(mcp1: Found) -> None:
    assert mcp1["elicitation_of_a_waiting_call"] == GREETED


def test_mcp1_lists_its_tasks_from_another_session(mcp1: Found) -> None:
    assert mcp1["listing"] == {"is_listed": True}


def test_mcp1_cancels_a_task_once(mcp1: Found) -> None:
    assert mcp1["cancelling"] == {"status": "cancelled", "then": "cancelled", "again": -32602, "result": -32603}


def test_mcp1_hears_the_right_codes(mcp1: Found) -> None:
    assert mcp1["refusals"] == {"no such task": -32602, "never a task": -32601, "always a task": -32601}


def test_mcp1_reads_resources_and_prompts(mcp1: Found) -> None:
    assert mcp1["content"] == CONTENT


def test_mcp1_with_a_wrong_token_is_not_let_in(mcp1: Found) -> None:
    assert "401 Unauthorized" in mcp1["wrong_token"]["raised"]


def test_fastmcp_discovers_the_modern_revision_with_tasks(fastmcp: Found) -> None:
    assert fastmcp["handshake"] == {"version": "2026-07-28", "has_tasks": True, "tools": list(TOOLS)}


def test_fastmcp_resolves_the_task_of_a_plain_call_by_itself(fastmcp: Found) -> None:
    assert fastmcp["plain_call"] == [{"total": 7}, {"total": 3}]
    assert fastmcp["elicitation_of_a_plain_call"] == GREETED


def test_fastmcp_follows_a_task_to_its_result(fastmcp: Found) -> None:
    assert fastmcp["task"] == {
        "created": "working",
        "is_the_same": True,
        "status": "completed",
        "value": {"total": 5},
    }


def test_fastmcp_sees_the_error_of_a_tool_in_its_result(fastmcp: Found) -> None:
    assert fastmcp["failed_task"] == {"status": "completed", "is_error": True, "text": "this tool refuses"}


def test_fastmcp_answers_what_a_task_asks_by_an_update(fastmcp: Found) -> None:
    assert fastmcp["elicitation"] == GREETED | {"waiting": "input_required", "status": "completed"}
    assert fastmcp["two_elicitations"] == INTRODUCED
    assert fastmcp["declined_elicitation"] == DECLINED


def test_fastmcp_cancels_a_task(fastmcp: Found) -> None:
    assert fastmcp["cancelling"] == {"status": "cancelled", "result": "Task ID was cancelled"}


def test_fastmcp_gets_no_task_of_a_tool_that_is_never_one(fastmcp: Found) -> None:
    assert "returned a CallToolResult instead of a task" in fastmcp["never_a_task"]["raised"]


def test_fastmcp_is_served_after_the_older_handshake_too(fastmcp: Found) -> None:
    assert fastmcp["older_handshake"] == {"version": "2025-11-25", "value": {"total": 7}}


@pytest.mark.parametrize(("era", "version"), [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_mcp2_uses_the_core_of_both_eras(mcp2: Found, era: str, version: str) -> None:
    assert mcp2[f"{era}_core"] == {
        "version": version,
        "tools": list(TOOLS),
        "here": {"total": 3},
        "away": {"total": 7},
        "refused": [True, "this tool refuses"],
        "resource": CONTENT[0],
        "prompt": CONTENT[1],
    }


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_mcp2_is_told_progress_and_asked_while_it_waits(mcp2: Found, era: str) -> None:
    assert mcp2[f"{era}_progress"] == COUNTED
    assert mcp2[f"{era}_questions"] == INTRODUCED


def test_mcp2_hears_that_a_tool_needs_tasks(mcp2: Found) -> None:
    assert mcp2["always_a_task"] == -32021


def test_mcp2_with_a_wrong_token_is_not_let_in(mcp2: Found) -> None:
    assert mcp2["wrong_token"]["raised"].startswith("MCPError")
