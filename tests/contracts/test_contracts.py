"""The contracts hold for the golden messages of both dialects, and break with the least thing that is wrong."""

from __future__ import annotations

import copy
import json
from types import ModuleType
from typing import Any

import pytest

from tests.contracts import legacy, modern
from tests.contracts.checking import check_json, check_message
from tests.contracts.golden import FOLDER

ASKED = {
    "initialize": "initialize",
    "discover": "server/discover",
    "tools/list": "tools/list",
    "created": "tools/call",
    "round trip": "tools/call",
    "asking": "tasks/get",
    "completed": "tasks/get",
    "result": "tasks/result",
    "list": "tasks/list",
    "answered": "tasks/update",
}
RELATED = "io.modelcontextprotocol/related-task"


def kept(dialect: str) -> dict[str, Any]:
    """The golden messages of a dialect."""
    found: dict[str, Any] = json.loads((FOLDER / f"{dialect}.json").read_text())
    return found


def changed(message: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The same message with another value at this place; None takes it away."""
    other = copy.deepcopy(message)
    *parents, last = path.split(" ")
    inner = other["result"]
    for name in parents:
        inner = inner[int(name) if isinstance(inner, list) else name]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return other


@pytest.mark.parametrize(("dialect", "contract"), [("legacy", legacy), ("modern", modern)])
def test_golden_messages_keep_the_contract(dialect: str, contract: ModuleType) -> None:
    messages = kept(dialect)

    for name in messages.keys() & ASKED.keys():
        check_message(messages[name], contract, ASKED[name])

    assert len(messages.keys() & ASKED.keys()) >= 7


@pytest.mark.parametrize(
    ("dialect", "name", "path", "value"),
    [
        ("legacy", "created", "task ttl", None),
        ("legacy", "created", "task ttlMs", 1),
        ("legacy", "created", "task ttl", "1"),
        ("legacy", "created", "task createdAt", "yesterday"),
        ("legacy", "completed", "_meta", {RELATED: {"taskId": "x"}}),
        ("legacy", "result", "_meta", None),
        ("legacy", "initialize", "capabilities extensions", {}),
        ("legacy", "tools/list", "tools 0 surprise", 1),
        ("modern", "created", "task", {}),
        ("modern", "created", "requestState", "x"),
        ("modern", "created", "pollInterval", 5),
        ("modern", "created", "ttlMs", None),
        ("modern", "asking", "inputRequests", None),
        ("modern", "completed", "resultType", "task"),
        ("modern", "completed", "error", {"code": 1, "message": "x"}),
        ("modern", "completed", "result _meta", {RELATED: {"taskId": "x"}}),
        ("modern", "discover", "capabilities tasks", {}),
        ("modern", "tools/list", "tools 0 execution", {"taskSupport": "optional"}),
        ("modern", "tools/list", "ttlMs", None),
        ("modern", "answered", "taskId", "x"),
    ],
)
def test_contract_breaks_with_the_least_thing(dialect: str, name: str, path: str, value: Any) -> None:
    """Traps 3 to 8: what belongs to the other dialect, what is missing, and what nobody knows."""
    contract = legacy if dialect == "legacy" else modern
    message = changed(kept(dialect)[name], path, value)

    with pytest.raises((AssertionError, ValueError, KeyError)):
        check_message(message, contract, ASKED[name])


@pytest.mark.parametrize(("dialect", "contract"), [("legacy", legacy), ("modern", modern)])
def test_golden_notifications_keep_the_contract_of_their_own_revision(dialect: str, contract: ModuleType) -> None:
    told = kept(dialect)["notifications"]
    other = legacy if contract is modern else modern

    for message in told:
        check_message(message, contract, "GET" if dialect == "legacy" else "subscriptions/listen")
        with pytest.raises((AssertionError, ValueError)):
            check_message(message, other, "GET")

    assert [each["params"]["status"] for each in told] == ["input_required", "completed"]


@pytest.mark.parametrize("value", [{}, {"result": {}}, {"id": 1, "result": {}}, [], None, "x"])
def test_answer_that_is_neither_a_message_nor_a_refusal_breaks_the_contract(value: Any) -> None:
    with pytest.raises(AssertionError):
        check_json(value, modern, "tools/list")


def test_server_of_2026_07_28_never_asks_on_a_stream() -> None:
    question = kept("legacy")["question"]

    check_message(question, legacy, "tasks/result")
    with pytest.raises(AssertionError):
        check_message(question, modern, "tools/call")
