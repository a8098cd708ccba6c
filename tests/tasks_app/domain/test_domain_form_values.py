"""Typing what a browser sends."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.answers import coerce_form, validate_answer
from tasks_app.domain.errors import InvalidAnswer

CHOICES = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 1}


def form(*required: str, **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def read(spec: dict[str, Any], *sent: str, required: bool = False) -> dict[str, object]:
    return coerce_form(form(*(["v"] if required else []), v=spec), {"v": list(sent)})


def refusal(spec: dict[str, Any], *sent: str, required: bool = False) -> str:
    with pytest.raises(InvalidAnswer) as refused:
        read(spec, *sent, required=required)
    (message,) = refused.value.fields["v"]
    return message


@pytest.mark.parametrize(
    ("spec", "sent", "value"),
    [
        ({"type": "string"}, "  hi ", "  hi "),
        ({"type": "string", "format": "email"}, " ana@x.org ", "ana@x.org"),
        ({"type": "string", "format": "uri"}, "https://x.org/", "https://x.org/"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-28"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00", "2026-02-28T10:00:00+00:00"),
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "integer"}, "-7", -7),
        ({"type": "integer"}, "+7", 7),
        ({"type": "integer"}, "9007199254740993", 9_007_199_254_740_993),
        ({"type": "number"}, "95.5", 95.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "number"}, "9007199254740993", 9_007_199_254_740_993),
        ({"type": "boolean"}, "on", True),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
    ],
)
def test_text_becomes_a_typed_value(spec: dict[str, Any], sent: str, value: object) -> None:
    content = read(spec, sent, required=True)

    assert content == {"v": value}
    assert type(content["v"]) is type(value)


@pytest.mark.parametrize("text", ["1e3", "1.0", "1.5", "١٢", "1_000", "0x10", "one", "--1", "1 2", "½"])
def test_integer_is_never_guessed_at(text: str) -> None:
    assert refusal({"type": "integer", "title": "Age"}, text) == (
        "Age must be a whole number, written with the digits 0 to 9 only"
    )


@pytest.mark.parametrize("text", ["1,5", "nan", "inf", "١٢", "1e", ".", "abc"])
def test_number_that_is_not_one_is_refused(text: str) -> None:
    assert refusal({"type": "number", "title": "Score"}, text) == "Score must be a number, such as 12 or 0.5"


def test_number_that_is_too_large_or_too_long_is_refused() -> None:
    assert "too large" in refusal({"type": "number"}, "1e999")
    assert "at most 400 digits" in refusal({"type": "integer"}, "9" * 10_000)
    assert "at most 400 digits" in refusal({"type": "number"}, "9" * 10_000)


@pytest.mark.parametrize("kind", ["string", "integer", "number"])
def test_empty_field_is_left_out_when_optional_and_refused_when_required(kind: str) -> None:
    assert read({"type": kind}, "") == {}
    assert read({"type": kind}) == {}
    assert refusal({"type": kind, "title": "Name"}, "", required=True) == "Name is required"


@pytest.mark.parametrize("required", [True, False])
def test_unchecked_box_is_false_not_absent(required: bool) -> None:
    assert read({"type": "boolean"}, required=required) == {"v": False}
    assert read({"type": "boolean"}, "false", "true", required=required) == {"v": True}
    assert refusal({"type": "boolean"}, "maybe", required=required) == "v must be true or false"


def test_list_of_choices_keeps_what_was_chosen() -> None:
    assert read(CHOICES, "a", "c") == {"v": ["a", "c"]}
    assert read(CHOICES, "") == {}
    assert refusal(CHOICES | {"title": "Tags"}, required=True) == "Tags needs at least 1 choice"
    assert refusal(CHOICES | {"title": "Tags"}, "a", "z") == "Tags must be one of: a, b, c"


def test_day_that_does_not_exist_is_refused() -> None:
    date = {"type": "string", "format": "date", "title": "Due"}

    assert refusal(date, "2026-02-30") == "Due must be a date that exists, written as 2026-01-31"
    assert "must be a date and time" in refusal({"type": "string", "format": "date-time"}, "2026-02-30T10:00")


def test_local_time_is_one_of_the_zone_of_the_person() -> None:
    schema = form(at={"type": "string", "format": "date-time"})

    content = coerce_form(schema, {"at": ["2026-07-01T09:30"]}, zone=ZoneInfo("Europe/Berlin"))

    assert content == {"at": "2026-07-01T09:30:00+02:00"}


def test_names_that_were_not_asked_for_are_ignored() -> None:
    content = coerce_form(form(a={"type": "string"}), {"a": ["x"], "csrfmiddlewaretoken": ["t"], "action": ["accept"]})

    assert content == {"a": "x"}


def test_all_problems_are_told_at_once_by_field() -> None:
    schema = form(
        "name",
        name={"type": "string", "title": "Name"},
        percent={"type": "integer", "title": "Percent", "maximum": 100},
        age={"type": "integer", "title": "Age"},
        fine={"type": "string"},
    )

    with pytest.raises(InvalidAnswer) as refused:
        coerce_form(schema, {"percent": ["101"], "age": ["old"], "fine": ["yes"]})

    assert refused.value.fields == {
        "name": ["Name is required"],
        "percent": ["Percent must be at most 100"],
        "age": ["Age must be a whole number, written with the digits 0 to 9 only"],
    }


@given(st.integers(-(10**300), 10**300))
def test_every_integer_comes_back_exactly(number: int) -> None:
    assert read({"type": "integer"}, str(number)) == {"v": number}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_comes_back_exactly(number: float) -> None:
    assert read({"type": "number"}, repr(number)) == {"v": number}


@given(st.dictionaries(st.sampled_from("tibnmc"), st.lists(st.text(max_size=8), max_size=3)))
def test_form_gives_a_valid_answer_or_says_what_is_wrong(data: dict[str, list[str]]) -> None:
    schema = form(
        "t",
        "n",
        t={"type": "string", "maxLength": 5},
        i={"type": "integer", "minimum": 0},
        b={"type": "boolean"},
        n={"type": "number"},
        m=CHOICES,
        c={"type": "string", "enum": ["a", "b"]},
    )

    refused: dict[str, list[str]] = {}
    content: dict[str, object] | None = None
    try:
        content = coerce_form(schema, data)
    except InvalidAnswer as error:
        refused = error.fields

    if content is None:
        assert refused
        assert refused.keys() <= schema["properties"].keys()
    else:
        assert validate_answer({"requestedSchema": schema}, "accept", content) == content
