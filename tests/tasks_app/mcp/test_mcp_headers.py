"""The routing headers: how values are written, and that they say what the body says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tasks_app import counters
from tasks_app.mcp import headers as rules
from tasks_app.mcp.errors import HEADER_MISMATCH, Fault
from tasks_app.mcp.exchange import Headers


def _headers(*pairs: tuple[str, str]) -> Headers:
    return Headers((name.encode(), value.encode("latin-1")) for name, value in pairs)


def test_names_are_found_in_any_case() -> None:
    headers = _headers(("mCp-NaMe", "Deploy"))

    assert headers.get("Mcp-Name") == "Deploy"
    assert "MCP-NAME" in headers


def test_blanks_around_a_value_are_dropped() -> None:
    """Trap 20: one conformance test sends surrounding spaces."""
    rules.check_name(_headers(("mcp-name", "  deploy \t")), "tools/call", {"name": "deploy"})


@pytest.mark.parametrize("text", ["déploi", "日本", "\x00", " edge ", "=?base64?aGk=?=", "a\r\nb", ""])
def test_any_text_can_be_sent(text: str) -> None:
    written = rules.encode_value(text)

    assert written.isascii()
    assert rules.single(_headers(("mcp-name", written)), "mcp-name") == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_encoding_and_decoding_are_inverse(text: str) -> None:
    assert rules.decode_value(rules.encode_value(text), name="x") == text


@pytest.mark.parametrize("raw", ["=?base64?aGk=", "aGk=?=", "=?Base64?aGk=?=", "=?base64?", "x=?base64?aGk=?="])
def test_value_without_both_markers_is_literal(raw: str) -> None:
    assert rules.decode_value(raw, name="x") == raw


@pytest.mark.parametrize(
    "raw", ["=?base64?aGk?=", "=?base64?a*k=?=", "=?base64?/w==?=", "=?base64?aG k=?=", "caf\xe9", "a\x01b", "a\x7fb"]
)
def test_malformed_value_is_a_mismatch(raw: str) -> None:
    with pytest.raises(Fault) as refused:
        rules.single(_headers(("mcp-name", raw)), "mcp-name")

    assert (refused.value.code, refused.value.http_status) == (HEADER_MISMATCH, 400)


def test_header_sent_twice_is_a_mismatch_even_if_both_agree() -> None:
    with pytest.raises(Fault) as refused:
        rules.check_method(_headers(("mcp-method", "tools/call"), ("Mcp-Method", "tools/call")), "tools/call")

    assert refused.value.code == HEADER_MISMATCH


@pytest.mark.parametrize("sent", ["tools/list", "Tools/call", "tools/call2", ""])
def test_other_method_is_a_mismatch(sent: str) -> None:
    with pytest.raises(Fault, match="Mcp-Method"):
        rules.check_method(_headers(("mcp-method", sent)), "tools/call")


def test_missing_method_is_a_mismatch() -> None:
    with pytest.raises(Fault, match="Mcp-Method is missing"):
        rules.check_method(_headers(), "tools/call")


NAMED = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
]


@pytest.mark.parametrize(("method", "param"), NAMED)
def test_name_must_equal_the_parameter(method: str, param: str) -> None:
    """check 46: a mismatch is refused on every method that has a name."""
    rules.check_name(_headers(("mcp-name", "abc")), method, {param: "abc"})

    with pytest.raises(Fault) as refused:
        rules.check_name(_headers(("mcp-name", "other")), method, {param: "abc"})

    assert refused.value.code == HEADER_MISMATCH
    assert refused.value.message == f"Header mismatch: Mcp-Name 'other' does not match params.{param}"


@pytest.mark.parametrize(("method", "param"), NAMED[:3])
def test_missing_name_is_refused(method: str, param: str) -> None:
    with pytest.raises(Fault, match="Mcp-Name is missing"):
        rules.check_name(_headers(), method, {param: "abc"})


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_missing_name_is_counted_and_tolerated_on_tasks(method: str) -> None:
    before = counters.nameless().get(method, 0)

    rules.check_name(_headers(), method, {"taskId": "abc"})

    assert counters.nameless()[method] == before + 1


def test_missing_name_is_refused_on_tasks_by_a_strict_server(settings: Settings) -> None:
    """check 46: missing is a mismatch where the server is strict."""
    settings.TASKDECK_STRICT_TASK_NAMES = True

    with pytest.raises(Fault, match="Mcp-Name is missing"):
        rules.check_name(_headers(), "tasks/get", {"taskId": "abc"})


@pytest.mark.parametrize("method", ["subscriptions/listen", "tasks/result", "tools/list"])
def test_name_is_ignored_where_none_is_needed(method: str) -> None:
    rules.check_name(_headers(("mcp-name", "anything")), method, {"name": "other", "taskId": "x"})


def test_name_is_compared_after_decoding() -> None:
    rules.check_name(_headers(("mcp-name", rules.encode_value("füge-hinzu"))), "tools/call", {"name": "füge-hinzu"})


SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
        "plain": {"type": "string"},
    },
}


def test_annotations_are_found_through_properties() -> None:
    assert rules.annotated_headers(SCHEMA) == {
        "region": ("region",),
        "count": ("count",),
        "dry-run": ("dry",),
        "zone": ("where", "zone"),
    }


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string", "x-mcp-header": "A B"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": 7}},
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": "array", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}},
    ],
)
def test_impossible_annotation_is_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        rules.annotated_headers({"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("pairs", "arguments"),
    [
        ((), {}),
        ((), {"region": None}),
        ([("Mcp-Param-Region", "eu")], {"region": "eu"}),
        ([("mcp-param-count", "42")], {"count": 42}),
        ([("mcp-param-count", "42.0")], {"count": 42}),
        ([("mcp-param-dry-run", "true")], {"dry": True}),
        ([("mcp-param-dry-run", "false")], {"dry": False}),
        ([("mcp-param-zone", "a")], {"where": {"zone": "a"}}),
        ([("mcp-param-other", "x")], {"plain": "y"}),
    ],
)
def test_header_that_repeats_its_argument_is_accepted(pairs: Any, arguments: dict[str, Any]) -> None:
    rules.check_params(_headers(*pairs), rules.annotated_headers(SCHEMA), arguments)


@pytest.mark.parametrize(
    ("pairs", "arguments"),
    [
        ((), {"region": "eu"}),
        ([("mcp-param-region", "us")], {"region": "eu"}),
        ([("mcp-param-region", "eu")], {}),
        ([("mcp-param-region", "eu"), ("mcp-param-region", "eu")], {"region": "eu"}),
        ([("mcp-param-count", "43")], {"count": 42}),
        ([("mcp-param-count", "many")], {"count": 42}),
        ([("mcp-param-dry-run", "1")], {"dry": True}),
        ([("mcp-param-dry-run", "True")], {"dry": True}),
        ([("mcp-param-zone", "a")], {"where": "a"}),
    ],
)
def test_header_that_differs_from_its_argument_is_a_mismatch(pairs: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(Fault) as refused:
        rules.check_params(_headers(*pairs), rules.annotated_headers(SCHEMA), arguments)

    assert refused.value.code == HEADER_MISMATCH


@pytest.mark.parametrize(
    "sent", ["4_2", "\u0664\u0662", " 42", "42 ", "+42", "0x2a", "NaN", "1e999999999999999999999", ""]
)
def test_number_is_only_written_as_json_writes_it(sent: str) -> None:
    assert not rules._is_same(sent, 42)


@pytest.mark.parametrize("sent", ["42", "42.0", "4.2e1", "420E-1"])
def test_number_is_the_same_however_json_may_write_it(sent: str) -> None:
    assert rules._is_same(sent, 42)
