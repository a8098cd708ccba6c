"""Judging answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.answers import kind_of, validate_answer
from tasks_app.domain.errors import InvalidAnswer
from tasks_app.domain.questions import AnswerAction, QuestionKind

ACCEPT = AnswerAction.ACCEPT
URL = {"mode": "url", "message": "Sign in", "url": "https://example.org/"}
SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "Sum up"}}], "maxTokens": 100}
ROOTS: dict[str, Any] = {}
MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Done"}, "model": "m-1", "stopReason": "endTurn"}
EVERYTHING = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 5},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "site": {"type": "string", "title": "Site", "format": "uri"},
        "day": {"type": "string", "title": "Day", "format": "date"},
        "at": {"type": "string", "title": "At", "format": "date-time"},
        "score": {"type": "number", "title": "Score", "minimum": 0.5, "maximum": 99.5},
        "percent": {"type": "integer", "title": "Percent", "minimum": 1, "maximum": 100},
        "sure": {"type": "boolean", "title": "Sure"},
        "size": {"type": "string", "title": "Size", "oneOf": [{"const": "s", "title": "Small"}]},
        "tags": {
            "type": "array",
            "title": "Tags",
            "items": {"anyOf": [{"const": "x", "title": "X-ray"}, {"const": "y", "title": "Yankee"}]},
            "minItems": 1,
            "maxItems": 2,
        },
    },
    "required": ["name"],
}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def question(schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"mode": "form", "message": "Well?", "requestedSchema": EVERYTHING if schema is None else schema}


def problems(content: object, request: dict[str, Any] | None = None) -> dict[str, list[str]]:
    with pytest.raises(InvalidAnswer) as refused:
        validate_answer(question() if request is None else request, ACCEPT, content)
    return refused.value.fields


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        (question(), QuestionKind.FORM),
        ({"message": "Well?", "requestedSchema": EVERYTHING}, QuestionKind.FORM),
        (URL, QuestionKind.URL),
        (SAMPLING, QuestionKind.SAMPLING),
        (ROOTS, QuestionKind.ROOTS),
    ],
)
def test_request_tells_what_it_asks_for(request_: dict[str, Any], kind: QuestionKind) -> None:
    assert kind_of(request_) is kind


def test_fitting_content_is_accepted_as_it_is() -> None:
    content = {
        "name": "Ana",
        "email": "ana@example.org",
        "site": "https://example.org",
        "day": "2026-01-31",
        "at": "2026-01-31T10:00:00+01:00",
        "score": 95.5,
        "percent": 100,
        "sure": False,
        "size": "s",
        "tags": ["x", "y"],
    }

    assert validate_answer(question(), ACCEPT, content) == content


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "A", "Name must have at least 2 characters"),
        ("name", "Anabel", "Name must have at most 5 characters"),
        ("name", 5, "Name must be text"),
        ("name", None, "Name must be text"),
        ("name", {"deep": []}, "Name must be text"),
        ("email", "ana", "E-mail must be an e-mail address, such as ana@example.org"),
        ("site", "example.org", "Site must be a full address, such as https://example.org/"),
        ("day", "2026-02-30", "Day must be a date that exists, written as 2026-01-31"),
        ("at", "2026-01-31T10:00:00", "At must be a date and time with its offset, such as 2026-01-31T10:00:00Z"),
        ("score", 0.4, "Score must be at least 0.5"),
        ("score", 99.6, "Score must be at most 99.5"),
        ("score", "5", "Score must be a number"),
        ("score", float("nan"), "Score must be a number"),
        ("score", float("inf"), "Score must be a number"),
        ("percent", 0, "Percent must be at least 1"),
        ("percent", 101, "Percent must be at most 100"),
        ("percent", 1.5, "Percent must be a whole number"),
        ("percent", True, "Percent must be a whole number"),
        ("sure", "true", "Sure must be true or false"),
        ("sure", 1, "Sure must be true or false"),
        ("size", "xl", "Size must be one of: Small"),
        ("tags", "x", "Tags must be a list of choices"),
        ("tags", [], "Tags needs at least 1 choice"),
        ("tags", ["x", "y", "x"], "Tags takes at most 2 choices"),
        ("tags", ["z", "q"], "Tags must be one of: X-ray, Yankee"),
        ("tags", [["x"]], "Tags must be a list of choices"),
    ],
)
def test_value_that_does_not_fit_is_refused_in_plain_words(field: str, value: object, message: str) -> None:
    assert problems({"name": "Ana"} | {field: value}) == {field: [message]}


def test_missing_required_field_is_named_by_its_title() -> None:
    assert problems({}) == {"name": ["Name is required"]}
    assert problems(None) == {"name": ["Name is required"]}


def test_all_problems_are_told_at_once() -> None:
    assert problems({"percent": 0, "score": 0}).keys() == {"name", "percent", "score"}


def test_field_that_was_not_asked_for_is_refused_or_dropped_on_request() -> None:
    content = {"name": "Ana", "admin": {"deep": [[]]}}

    assert problems(content) == {"admin": ["admin is not asked for"]}
    assert validate_answer(question(), ACCEPT, content, unknown="drop") == {"name": "Ana"}


def test_long_list_of_choices_is_not_read_out_in_full() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string", "enum": [str(n) for n in range(500)]}}}

    (message,) = problems({"n": "x"}, question(schema))["n"]

    assert message == "n must be one of: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"


def test_whole_number_written_as_a_decimal_becomes_a_whole_number() -> None:
    accepted = validate_answer(question(), ACCEPT, {"name": "Ana", "percent": 5.0})

    assert accepted is not None
    assert type(accepted["percent"]) is int


def test_integer_beyond_double_precision_is_kept_exactly() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    assert validate_answer(question(schema), ACCEPT, {"n": 2**53 + 1}) == {"n": 2**53 + 1}


def test_empty_form_is_accepted_with_or_without_content() -> None:
    empty = question({"type": "object", "properties": {}})

    assert validate_answer(empty, ACCEPT) == {}
    assert validate_answer(empty, ACCEPT, {}) == {}


@pytest.mark.parametrize("content", [[], "yes", 5, True])
def test_content_that_is_no_object_is_refused(content: object) -> None:
    assert problems(content) == {"": ["The answer must be an object"]}


@pytest.mark.parametrize("action", ["decline", "cancel", AnswerAction.DECLINE])
@pytest.mark.parametrize("request_", [question(), URL, SAMPLING, ROOTS], ids=["form", "url", "sampling", "roots"])
def test_declining_or_dismissing_records_no_content(action: str, request_: dict[str, Any]) -> None:
    assert validate_answer(request_, action) is None
    assert validate_answer(request_, action, {"name": 5}) is None


@pytest.mark.parametrize("action", ["ACCEPT", "", "approve"])
def test_unknown_action_is_refused(action: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        validate_answer(question(), action)

    assert refused.value.fields == {"action": ["The action must be accept, decline or cancel"]}


def test_agreeing_to_a_visit_records_no_content() -> None:
    assert validate_answer(URL, ACCEPT) is None
    assert validate_answer(URL, ACCEPT, {"password": "hunter2"}) is None


def test_message_of_a_model_is_accepted_with_one_block_or_several() -> None:
    several = MESSAGE | {"content": [MESSAGE["content"], {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}

    assert validate_answer(SAMPLING, ACCEPT, MESSAGE) == MESSAGE
    assert validate_answer(SAMPLING, ACCEPT, several) == several


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"role": "system"}, "role"),
        ({"role": ["user"]}, "role"),
        ({"model": None}, "model"),
        ({"stopReason": 5}, "stopReason"),
        ({"content": None}, "content"),
        ({"content": []}, "content"),
        ({"content": "text"}, "content"),
        ({"content": {"type": "text"}}, "content"),
        ({"content": {"type": ["text"], "text": "x"}}, "content"),
        ({"content": {"type": "video", "data": "x"}}, "content"),
        ({"content": [{"type": "text", "text": "x"}, 5]}, "content"),
    ],
)
def test_message_without_the_right_shape_is_refused(change: dict[str, Any], field: str) -> None:
    assert problems(MESSAGE | change, SAMPLING).keys() == {field}


def test_roots_are_accepted_with_and_without_names() -> None:
    roots = {"roots": [{"uri": "file:///srv/my data", "name": "work"}, {"uri": "file:///tmp"}]}

    assert validate_answer(ROOTS, ACCEPT, roots) == roots
    assert validate_answer(ROOTS, ACCEPT, {"roots": []}) == {"roots": []}


@pytest.mark.parametrize(
    "content",
    [{}, {"roots": {}}, {"roots": ["file:///x"]}, {"roots": [{}]}, {"roots": [{"uri": "file:///x", "name": 1}]}],
)
def test_roots_without_the_right_shape_are_refused(content: dict[str, Any]) -> None:
    assert problems(content, ROOTS).keys() == {"roots"}


@pytest.mark.timeout(10)
def test_pattern_in_a_schema_is_never_run() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", "pattern": "^(a+)+$"}}}

    content = {"v": "a" * 5_000 + "!"}

    assert validate_answer(question(schema), ACCEPT, content) == content


def test_schema_that_no_form_can_show_can_only_be_declined() -> None:
    deep: Any = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"v": deep}}
    request = question({"type": "object", "properties": {"v": deep}})

    assert "only declined or dismissed" in problems({"v": "x"}, request)[""][0]
    assert validate_answer(request, "decline") is None


@pytest.mark.timeout(10)
def test_deeply_nested_content_is_refused_without_walking_it() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert problems({"name": deep}) == {"name": ["Name must be text"]}


@given(content=st.dictionaries(st.sampled_from([*EVERYTHING["properties"], "other"]), JSON_VALUES) | JSON_VALUES)
def test_any_answer_is_either_recordable_or_refused_by_field(content: Any) -> None:
    refused: dict[str, list[str]] = {}
    accepted: dict[str, Any] | None = None
    try:
        accepted = validate_answer(question(), ACCEPT, content)
    except InvalidAnswer as error:
        refused = error.fields

    if accepted is None:
        assert refused
        assert all(refused.values())
    else:
        assert json.loads(json.dumps(accepted, allow_nan=False)) == content
        assert "name" in accepted
        assert validate_answer(question(), ACCEPT, accepted) == accepted


@given(JSON_VALUES)
def test_random_reply_of_a_client_is_refused_and_never_a_crash(content: Any) -> None:
    for request in (SAMPLING, ROOTS):
        with pytest.raises(InvalidAnswer):
            validate_answer(request, ACCEPT, content)
