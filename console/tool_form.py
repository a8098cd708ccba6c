"""The form that runs a tool: fields where its arguments are flat, and otherwise one field for JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from django.http import QueryDict

from console.forms import PREFIX, Widget, typed_values
from tasks_app.domain.answers import coerce_form, fields
from tasks_app.domain.errors import InvalidAnswer
from tasks_app.engine.registry import Tool
from tasks_app.engine.schema import InvalidArguments

JSON = "arguments"


@dataclass(frozen=True, slots=True)
class ToolForm:
    """The arguments of a tool as a page asks for them, with what was typed and what is wrong with it."""

    widgets: tuple[Widget, ...]
    is_json: bool
    text: str
    errors: tuple[str, ...]

    @property
    def wrong(self) -> tuple[Widget, ...]:
        """The fields that need a change."""
        return tuple(widget for widget in self.widgets if widget.errors)


def form_for(tool: Tool, typed: QueryDict | None = None, errors: Mapping[str, Sequence[str]] | None = None) -> ToolForm:
    """The form of a tool; errors that belong to no field stand above it."""
    said = errors or {}
    flat = flat_schema(tool)
    if flat is None:
        text = "{}" if typed is None else typed.get(JSON, "")
        return ToolForm((), is_json=True, text=text, errors=tuple(_worded(said)))
    known = fields(flat)
    widgets = tuple(
        Widget(each, typed_values(each, typed), tuple(said.get(each.name, ())), f"a{index}")
        for index, each in enumerate(known)
    )
    names = {each.name for each in known}
    others = {name: messages for name, messages in said.items() if name not in names}
    return ToolForm(widgets, is_json=False, text="", errors=tuple(_worded(others)))


def arguments_of(tool: Tool, typed: QueryDict, *, zone: tzinfo) -> dict[str, Any]:
    """What was typed, as arguments that the tool takes. Raises InvalidArguments."""
    flat = flat_schema(tool)
    given = _read_json(typed.get(JSON, "")) if flat is None else _read_fields(flat, typed, zone)
    tool.validate(given)
    return given


def flat_schema(tool: Tool) -> dict[str, Any] | None:
    """The schema of the arguments, when every one of them can be a field; None otherwise."""
    schema = {"properties": {}, **tool.input_schema}
    try:
        fields(schema)
    except ValueError:
        return None
    return schema


def _read_fields(schema: Mapping[str, Any], typed: QueryDict, zone: tzinfo) -> dict[str, Any]:
    values = {name.removeprefix(PREFIX): typed.getlist(name) for name in typed if name.startswith(PREFIX)}
    try:
        return coerce_form(schema, values, zone=zone)
    except InvalidAnswer as wrong:
        raise InvalidArguments({name: list(said) for name, said in wrong.fields.items()}) from wrong


def _read_json(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidArguments({"": [f"This is no JSON: {error}"]}) from error
    if not isinstance(given, dict):
        raise InvalidArguments({"": ["The arguments must be an object, such as {}"]})
    return given


def _worded(errors: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{name}: {said}" if name else said for name, messages in errors.items() for said in messages]
