"""What a tool returned, as the result of a call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tasks_app.domain.errors import RpcError, ToolError
from tasks_app.domain.limits import Limits
from tasks_app.engine.results import ERROR_CHARACTERS, error_text, is_error, rpc_error, tool_error, tool_result
from tasks_app.engine.schema import read_signature


class Deployed(BaseModel):
    done: bool
    host_count: int = Field(default=0, serialization_alias="hostCount")


@dataclass
class Box:
    made: date


def text(of: str) -> dict[str, Any]:
    return {"type": "text", "text": of}


def give_deployed() -> Deployed: ...  # type: ignore[empty-body]


DEPLOYED = read_signature(give_deployed)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("hello", [text("hello")]),
        ("", [text("")]),
        (None, []),
        (True, [text("true")]),
        (3, [text("3")]),
        (1.5, [text("1.5")]),
        ([1, "two"], [text('[1, "two"]')]),
        ([], [text("[]")]),
        (date(2026, 1, 31), [text("2026-01-31")]),
    ],
)
def test_result_of_a_plain_value_is_text(value: Any, content: list[Any]) -> None:
    assert tool_result(value) == {"content": content, "isError": False}


@pytest.mark.parametrize(
    ("value", "structured"),
    [
        ({"a": [1, None]}, {"a": [1, None]}),
        (Deployed(done=True, host_count=2), {"done": True, "hostCount": 2}),
        (Box(date(2026, 1, 31)), {"made": "2026-01-31"}),
        ({}, {}),
    ],
)
def test_result_of_an_object_is_structured_and_says_the_same_as_text(value: Any, structured: Any) -> None:
    result = tool_result(value)

    assert result["structuredContent"] == structured
    assert [json.loads(block["text"]) for block in result["content"]] == [structured]
    assert not is_error(result)


@pytest.mark.parametrize(
    "blocks",
    [
        [text("one"), {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}],
        [{"type": "resource", "resource": {"uri": "test://a", "text": "x"}}],
        [{"type": "resource_link", "uri": "https://example.org/", "name": "example"}],
    ],
)
def test_result_of_content_blocks_is_those_blocks(blocks: list[Any]) -> None:
    assert tool_result(blocks) == {"content": blocks, "isError": False}


@pytest.mark.parametrize("lookalike", [[{"type": "text"}], [{"type": "video", "data": ""}], [text("a"), "b"]])
def test_result_of_a_list_that_only_looks_like_blocks_is_text(lookalike: list[Any]) -> None:
    assert tool_result(lookalike)["content"] == [text(json.dumps(lookalike))]


def test_result_that_is_written_out_passes_as_it_is() -> None:
    whole = {"content": [text("no")], "isError": True, "_meta": {"a": 1}}

    assert tool_result(whole) == whole


def test_result_that_is_written_out_as_a_model_passes_without_its_empty_fields() -> None:
    class Whole(BaseModel):
        content: list[dict[str, Any]]
        structured_content: dict[str, Any] | None = Field(default=None, serialization_alias="structuredContent")
        is_error: bool = Field(default=False, serialization_alias="isError")

    assert tool_result(Whole(content=[text("yes")])) == {"content": [text("yes")], "isError": False}


def test_result_of_a_mapping_with_content_of_its_own_is_structured() -> None:
    assert tool_result({"content": "a page"})["structuredContent"] == {"content": "a page"}


@pytest.mark.parametrize(
    "value",
    [
        {"taskId": "t1", "status": "working"},
        {"task": {"taskId": "t1", "status": "working", "ttl": None}},
        {"taskId": "t1", "status": "working", "content": []},
    ],
)
def test_result_that_looks_like_a_task_is_refused(value: Any) -> None:
    """Covers check 120: ids are minted by the server; nothing is wrapped twice."""
    with pytest.raises(ToolError, match="tasks are made by the server"):
        tool_result(value)


def test_result_of_a_declared_type_keeps_its_promise() -> None:
    assert tool_result({"done": True}, signature=DEPLOYED)["structuredContent"] == {"done": True, "hostCount": 0}


@pytest.mark.parametrize("value", ["done", None, {"done": "perhaps"}, [text("x")], {"content": [text("x")]}])
def test_result_of_another_type_than_declared_is_refused(value: Any) -> None:
    with pytest.raises(ToolError, match="something else than it declares"):
        tool_result(value, signature=DEPLOYED)


def test_result_that_is_written_out_may_report_an_error_without_the_declared_content() -> None:
    failed = {"content": [text("no")], "isError": True}

    assert tool_result(failed, signature=DEPLOYED) == failed


def test_result_that_is_written_out_is_held_against_the_declared_schema() -> None:
    whole = {"content": [], "structuredContent": {"done": True, "hostCount": 1}}

    assert tool_result(whole, signature=DEPLOYED)["structuredContent"] == {"done": True, "hostCount": 1}


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}, object(), {"a": object()}, b"\xff"])
def test_result_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(ToolError, match="no JSON"):
        tool_result(value)


def test_result_with_structured_content_that_is_no_object_is_refused() -> None:
    with pytest.raises(ToolError, match="not an object"):
        tool_result({"content": [], "structuredContent": [1]})


def test_result_is_accepted_up_to_the_limit_and_refused_above_it() -> None:
    limits = Limits(result_bytes=100)
    overhead = len(json.dumps(tool_result(""), separators=(",", ":")))

    tool_result("x" * (100 - overhead), limits=limits)
    with pytest.raises(ToolError, match="more than 100 bytes"):
        tool_result("x" * (101 - overhead), limits=limits)


def test_result_above_four_mebibytes_is_refused_by_default() -> None:
    with pytest.raises(ToolError, match=str(4 * 1024 * 1024)):
        tool_result("x" * (4 * 1024 * 1024))


def test_tool_error_carries_text_that_any_database_can_hold() -> None:
    result = tool_error("bad\x00 \ud800" + "x" * 20_000)

    assert is_error(result)
    assert error_text(result).startswith("bad\ufffd \ufffdxxx")
    assert len(error_text(result)) == ERROR_CHARACTERS


@pytest.mark.parametrize(
    ("data", "shown"),
    [(None, {}), ({"reason": "x"}, {"data": {"reason": "x"}}), ({1, 2} & {1}, {"data": [1]}), (0, {"data": 0})],
)
def test_rpc_error_carries_code_message_and_data(data: Any, shown: dict[str, Any]) -> None:
    assert rpc_error(RpcError(-32001, "No", data)) == {"code": -32001, "message": "No"} | shown


def test_rpc_error_shows_data_that_is_no_json_as_text() -> None:
    shown = rpc_error(RpcError(-32001, "No", {"error": ValueError("deep"), "rate": float("nan")}))

    assert shown["data"] == {"error": "deep", "rate": "NaN"}


def test_rpc_error_with_data_that_cannot_be_shown_at_all_still_carries_its_text() -> None:
    assert rpc_error(RpcError(-32001, "No", "half \ud800"))["data"] == "half \ufffd"
