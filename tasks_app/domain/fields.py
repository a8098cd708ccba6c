"""One field of a form: what it is called, what it takes, and what is wrong with a value.

A field is made from a requested schema by `forms`. A value is judged against a schema that is rebuilt from the field,
so no keyword that we do not know (a pattern, a reference) ever reaches the validator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tasks_app.domain.formats import FORMATS

OPTIONS_NAMED = 10
"""How many options a message lists before it stops."""


class FieldKind(StrEnum):
    """What sort of value a field takes; each has a widget of its own."""

    TEXT = "text"
    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATETIME = "datetime"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    MULTI = "multi"


@dataclass(frozen=True, slots=True)
class Option:
    """One of the values to choose from, and how it is shown."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form, ready to be rendered."""

    name: str
    title: str
    kind: FieldKind
    required: bool = False
    help: str = ""
    default: object = None
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_items: int | None = None
    max_items: int | None = None
    options: tuple[Option, ...] = ()

    def schema(self) -> dict[str, object]:
        """Give the JSON Schema of this field's value, made of nothing but keywords that we know."""
        values = [option.value for option in self.options]
        limits = {
            "minLength": self.min_length,
            "maxLength": self.max_length,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "minItems": self.min_items,
            "maxItems": self.max_items,
            "format": _FORMAT.get(self.kind),
            "enum": values if self.kind is FieldKind.CHOICE else None,
            "items": {"type": "string", "enum": values} if self.kind is FieldKind.MULTI else None,
        }
        return {"type": _TYPE.get(self.kind, "string")} | {key: v for key, v in limits.items() if v is not None}

    def problems(self, value: object) -> list[str]:
        """Say what is wrong with a value, in words for the person who gave it; empty when nothing is."""
        if not _is_flat(value):
            return [f"{self.title} {self._type_message()}"]
        validator = Draft202012Validator(self.schema(), format_checker=FORMATS)
        # Each complaint once: several wrong items of a list lead to the same words.
        return list(dict.fromkeys(f"{self.title} {self._message(error)}" for error in validator.iter_errors(value)))

    def _message(self, error: ValidationError) -> str:
        keyword = str(error.validator)
        if keyword in _LIMIT_MESSAGE:
            return _LIMIT_MESSAGE[keyword](error.validator_value)
        if keyword == "format":
            return _FORMAT_MESSAGE[self.kind]
        return self._options_message() if keyword == "enum" else self._type_message()

    def _options_message(self) -> str:
        named = ", ".join(option.label for option in self.options[:OPTIONS_NAMED])
        more = ", …" if len(self.options) > OPTIONS_NAMED else ""
        return f"must be one of: {named}{more}"

    def _type_message(self) -> str:
        return _TYPE_MESSAGE.get(self.kind, "must be text")


def check_content(fields: Iterable[Field], content: Mapping[str, object]) -> dict[str, list[str]]:
    """Say what is wrong with the content of a form, by field: missing, not asked for, or not fitting."""
    known = {field.name: field for field in fields}
    problems = {name: [f"{name} is not asked for"] for name in content if name not in known}
    for name, field in known.items():
        if name in content:
            found = field.problems(content[name])
        else:
            found = [f"{field.title} is required"] if field.required else []
        if found:
            problems[name] = found
    return problems


def _is_flat(value: object) -> bool:
    """Say whether the value could be in a form at all, so that the validator never walks a deep or infinite one."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int)


def _count(number: object, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_TYPE = {
    FieldKind.NUMBER: "number",
    FieldKind.INTEGER: "integer",
    FieldKind.BOOLEAN: "boolean",
    FieldKind.MULTI: "array",
}

_FORMAT = {
    FieldKind.EMAIL: "email",
    FieldKind.URI: "uri",
    FieldKind.DATE: "date",
    FieldKind.DATETIME: "date-time",
}

_LIMIT_MESSAGE: dict[str, Callable[[object], str]] = {
    "minLength": lambda limit: f"must have at least {_count(limit, 'character')}",
    "maxLength": lambda limit: f"must have at most {_count(limit, 'character')}",
    "minimum": lambda limit: f"must be at least {json.dumps(limit)}",
    "maximum": lambda limit: f"must be at most {json.dumps(limit)}",
    "minItems": lambda limit: f"needs at least {_count(limit, 'choice')}",
    "maxItems": lambda limit: f"takes at most {_count(limit, 'choice')}",
}

_FORMAT_MESSAGE = {
    FieldKind.EMAIL: "must be an e-mail address, such as ana@example.org",
    FieldKind.URI: "must be a full address, such as https://example.org/",
    FieldKind.DATE: "must be a date that exists, written as 2026-01-31",
    FieldKind.DATETIME: "must be a date and time with its offset, such as 2026-01-31T10:00:00Z",
}

_TYPE_MESSAGE = {
    FieldKind.NUMBER: "must be a number",
    FieldKind.INTEGER: "must be a whole number",
    FieldKind.BOOLEAN: "must be true or false",
    FieldKind.MULTI: "must be a list of choices",
}
