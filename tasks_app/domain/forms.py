"""Reading a requested schema: the flat subset of JSON Schema that a form can show, turned into fields.

A property is a string, a number, a whole number, a boolean, a choice or a list of choices; nothing is nested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tasks_app.domain.fields import Field, FieldKind, Option

MAX_FIELDS = 100
MAX_OPTIONS = 1_000

_ANY = {"type", "title", "description", "default", "examples", "deprecated"}
_STRING = _ANY | {"minLength", "maxLength", "format"}
_CHOICE = _ANY | {"enum", "enumNames", "oneOf"}
_NUMBER = _ANY | {"minimum", "maximum"}
_MULTI = _ANY | {"items", "minItems", "maxItems", "uniqueItems"}
_FORM = {"type", "properties", "required", "title", "description", "additionalProperties", "$schema"}

_FORMATS = {
    "email": FieldKind.EMAIL,
    "uri": FieldKind.URI,
    "date": FieldKind.DATE,
    "date-time": FieldKind.DATETIME,
}


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """Give the fields of a requested schema in their order, ignoring keywords that a form does not know.

    Raises ValueError, with a text that names the property, for what no form can show.
    """
    properties = _properties(schema)
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ValueError('"required" must be a list of property names.')
    return [_field(name, spec, required=name in required) for name, spec in properties.items()]


def check_requested_schema(schema: Mapping[str, Any]) -> None:
    """Raise ValueError, saying what and where, unless the schema keeps strictly to the flat subset."""
    found = fields(schema)
    _refuse_unknown(schema, allowed=_FORM, where="The form")
    missing = [name for name in schema.get("required", []) if name not in schema["properties"]]
    if missing:
        raise ValueError(f'"{missing[0]}" is required, but it is not among the properties.')
    for field in found:
        _check_property(field, schema["properties"][field.name])


def _check_property(field: Field, spec: Mapping[str, Any]) -> None:
    where = f'Property "{field.name}"'
    _refuse_unknown(spec, allowed=_allowed_keywords(field.kind), where=where)
    if spec.get("format") not in (None, *_FORMATS):
        raise ValueError(f'{where} has the format "{spec["format"]}"; a form knows only {", ".join(_FORMATS)}.')
    problems = field.problems(spec["default"]) if "default" in spec else []
    if problems:
        raise ValueError(f"{where} has a default that does not fit: {problems[0]}.")


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ValueError('A requested schema must be an object with "type": "object".')
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        raise ValueError('A requested schema needs "properties", which may be empty.')
    if len(properties) > MAX_FIELDS:
        raise ValueError(f"A form may have at most {MAX_FIELDS} properties; ask in several questions.")
    return properties


def _field(name: str, spec: object, *, required: bool) -> Field:
    if not isinstance(spec, Mapping):
        raise ValueError(f'Property "{name}" must be an object.')
    kind = _kind(name, spec)
    field = Field(
        name=name,
        title=_text(spec, "title") or name,
        kind=kind,
        required=required,
        help=_text(spec, "description"),
        min_length=_count(name, spec, "minLength"),
        max_length=_count(name, spec, "maxLength"),
        minimum=_number(name, spec, "minimum"),
        maximum=_number(name, spec, "maximum"),
        min_items=_count(name, spec, "minItems"),
        max_items=_count(name, spec, "maxItems"),
        options=_options(name, spec, kind=kind),
    )
    return _with_default(field, spec.get("default"))


def _kind(name: str, spec: Mapping[str, Any]) -> FieldKind:
    match spec.get("type"):
        case "array":
            return FieldKind.MULTI
        case "string" if "oneOf" in spec or "enum" in spec:
            return FieldKind.CHOICE
        case "string":
            return _FORMATS.get(_text(spec, "format"), FieldKind.TEXT)
        case "number":
            return FieldKind.NUMBER
        case "integer":
            return FieldKind.INTEGER
        case "boolean":
            return FieldKind.BOOLEAN
    raise ValueError(
        f'Property "{name}" cannot be shown in a form: '
        "it must be a string, number, integer, boolean, or a list of choices."
    )


def _options(name: str, spec: Mapping[str, Any], *, kind: FieldKind) -> tuple[Option, ...]:
    if kind is FieldKind.CHOICE:
        found = _titled(spec, "oneOf") if "oneOf" in spec else _untitled(spec)
    elif kind is FieldKind.MULTI:
        items = spec.get("items")
        items = items if isinstance(items, Mapping) else {}
        found = _titled(items, "anyOf") if "anyOf" in items else _untitled(items)
    else:
        return ()
    if found is None:
        raise ValueError(f'Property "{name}" must offer its choices as a list of strings, or of objects with a const.')
    if len(found) > MAX_OPTIONS:
        raise ValueError(f'Property "{name}" may offer at most {MAX_OPTIONS} choices.')
    return found


def _titled(spec: Mapping[str, Any], keyword: str) -> tuple[Option, ...] | None:
    choices = spec[keyword]
    if not isinstance(choices, list) or not choices:
        return None
    if not all(isinstance(choice, Mapping) and isinstance(choice.get("const"), str) for choice in choices):
        return None
    return tuple(Option(choice["const"], _text(choice, "title") or choice["const"]) for choice in choices)


def _untitled(spec: Mapping[str, Any]) -> tuple[Option, ...] | None:
    values = spec.get("enum")
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        return None
    # enumNames is an older way to give titles; it is no longer emitted, but still understood.
    names = spec.get("enumNames")
    titled = isinstance(names, list) and len(names) == len(values) and all(isinstance(name, str) for name in names)
    labels: list[str] = names if titled and names is not None else values
    return tuple(Option(value, label) for value, label in zip(values, labels, strict=True))


def _with_default(field: Field, default: object) -> Field:
    return field if default is None or field.problems(default) else replace(field, default=default)


def _text(spec: Mapping[str, Any], keyword: str) -> str:
    value = spec.get(keyword)
    return value if isinstance(value, str) else ""


def _count(name: str, spec: Mapping[str, Any], keyword: str) -> int | None:
    value = spec.get(keyword)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f'Property "{name}": {keyword} must be a whole number from 0.')
    return value


def _number(name: str, spec: Mapping[str, Any], keyword: str) -> int | float | None:
    value = spec.get(keyword)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        raise ValueError(f'Property "{name}": {keyword} must be a number.')
    return value


def _allowed_keywords(kind: FieldKind) -> set[str]:
    match kind:
        case FieldKind.CHOICE:
            return _CHOICE
        case FieldKind.MULTI:
            return _MULTI
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _NUMBER
        case FieldKind.BOOLEAN:
            return _ANY
        case _:
            return _STRING


def _refuse_unknown(spec: Mapping[str, Any], *, allowed: set[str], where: str) -> None:
    unknown = [keyword for keyword in spec if keyword not in allowed]
    if unknown:
        raise ValueError(f'{where} uses "{unknown[0]}", which a form cannot show. Check that in the tool instead.')
