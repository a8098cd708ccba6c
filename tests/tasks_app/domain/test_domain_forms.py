"""Reading requested schemas into fields."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.domain.fields import Field, FieldKind, Option
from tasks_app.domain.forms import MAX_FIELDS, MAX_OPTIONS, check_requested_schema, fields


def form(*required: str, **properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def only_field(spec: dict[str, Any]) -> Field:
    (field,) = fields(form(value=spec))
    return field


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "format": "email"}, FieldKind.EMAIL),
        ({"type": "string", "format": "uri"}, FieldKind.URI),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "string", "format": "date-time"}, FieldKind.DATETIME),
        ({"type": "number"}, FieldKind.NUMBER),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": "boolean"}, FieldKind.BOOLEAN),
        ({"type": "string", "enum": ["a", "b"]}, FieldKind.CHOICE),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, FieldKind.CHOICE),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, FieldKind.MULTI),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, FieldKind.MULTI),
    ],
)
def test_property_becomes_a_field_of_its_kind_and_is_in_the_subset(spec: dict[str, Any], kind: FieldKind) -> None:
    check_requested_schema(form(value=spec))

    assert only_field(spec).kind is kind


def test_field_carries_title_help_default_limits_and_whether_it_is_required() -> None:
    schema = form(
        "percent",
        percent={
            "type": "integer",
            "title": "Percent",
            "description": "How much traffic",
            "minimum": 1,
            "maximum": 100,
            "default": 10,
        },
        note={"type": "string", "minLength": 2, "maxLength": 80},
        tags={"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1, "maxItems": 2},
    )

    percent, note, tags = fields(schema)

    assert percent == Field(
        name="percent",
        title="Percent",
        kind=FieldKind.INTEGER,
        required=True,
        help="How much traffic",
        default=10,
        minimum=1,
        maximum=100,
    )
    assert (note.title, note.required, note.min_length, note.max_length) == ("note", False, 2, 80)
    assert (tags.min_items, tags.max_items, tags.default) == (1, 2, None)


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "string", "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]},
        {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]}},
    ],
    ids=["oneOf", "enumNames", "anyOf"],
)
def test_titled_choices_have_a_value_and_a_label(spec: dict[str, Any]) -> None:
    assert only_field(spec).options == (Option("a", "First"), Option("b", "Second"))


def test_choices_without_usable_titles_are_labelled_by_their_value() -> None:
    assert only_field({"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}).options == (Option("a", "a"),)
    assert only_field({"type": "string", "oneOf": [{"const": "a"}]}).options == (Option("a", "a"),)


def test_default_that_does_not_fit_is_not_prefilled() -> None:
    assert only_field({"type": "integer", "maximum": 5, "default": 9}).default is None
    assert only_field({"type": "boolean", "default": False}).default is False


def test_fields_keep_the_order_of_the_schema_and_an_empty_form_has_none() -> None:
    assert [field.name for field in fields(form(b={"type": "string"}, a={"type": "string"}))] == ["b", "a"]
    assert fields({"type": "object", "properties": {}}) == []


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({}, '"type": "object"'),
        ([], '"type": "object"'),
        ({"type": "array"}, '"type": "object"'),
        ({"type": "object"}, '"properties"'),
        ({"type": "object", "properties": []}, '"properties"'),
        ({"type": "object", "properties": {}, "required": "a"}, '"required"'),
        ({"type": "object", "properties": {}, "required": [1]}, '"required"'),
        (form(value=True), '"value" must be an object'),
        (form(value={}), '"value" cannot be shown'),
        (form(value={"type": ["string", "null"]}), '"value" cannot be shown'),
        (form(value={"type": "object", "properties": {}}), '"value" cannot be shown'),
        (form(value={"anyOf": [{"type": "string"}, {"type": "null"}]}), '"value" cannot be shown'),
        (form(value={"$ref": "#/$defs/x"}), '"value" cannot be shown'),
        (form(value={"type": "array"}), "must offer its choices"),
        (form(value={"type": "array", "items": {"type": "object"}}), "must offer its choices"),
        (form(value={"type": "array", "items": {"type": "string"}}), "must offer its choices"),
        (form(value={"type": "string", "enum": []}), "must offer its choices"),
        (form(value={"type": "string", "enum": [1, 2]}), "must offer its choices"),
        (form(value={"type": "string", "oneOf": [{"title": "A"}]}), "must offer its choices"),
        (form(value={"type": "string", "oneOf": "a"}), "must offer its choices"),
        (form(value={"type": "string", "minLength": -1}), "minLength"),
        (form(value={"type": "string", "maxLength": "9"}), "maxLength"),
        (form(value={"type": "number", "minimum": True}), "minimum"),
        (form(value={"type": "number", "maximum": float("inf")}), "maximum"),
        (form(**{f"f{n}": {"type": "string"} for n in range(MAX_FIELDS + 1)}), str(MAX_FIELDS)),
        (form(value={"type": "string", "enum": [str(n) for n in range(MAX_OPTIONS + 1)]}), str(MAX_OPTIONS)),
    ],
)
def test_schema_that_no_form_can_show_is_refused_with_what_and_where(schema: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        fields(schema)
    with pytest.raises(ValueError, match=says):
        check_requested_schema(schema)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (form(value={"type": "string", "pattern": "(a+)+$"}), '"value" uses "pattern"'),
        (form(value={"type": "number", "multipleOf": 5}), '"value" uses "multipleOf"'),
        (form(value={"type": "boolean", "enum": [True]}), '"value" uses "enum"'),
        (form(value={"type": "string", "format": "password"}), 'format "password"'),
        (form(value={"type": "integer", "maximum": 5, "default": 9}), "default that does not fit"),
        (form("other", value={"type": "string"}), '"other" is required'),
        (form(value={"type": "string"}) | {"allOf": []}, '"allOf"'),
        (form(value={"type": "string"}) | {"$defs": {}}, '"$defs"'.replace("$", r"\$")),
    ],
)
def test_schema_outside_the_subset_is_refused_by_the_check_but_still_readable(schema: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_requested_schema(schema)

    assert [field.name for field in fields(schema)] == ["value"]


def test_limit_of_any_size_is_readable() -> None:
    assert only_field({"type": "integer", "maximum": 10**400}).maximum == 10**400
