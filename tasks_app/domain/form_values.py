"""Turning what a browser sends for a form, which is all strings, into typed values.

The rules are strict on purpose: a number is never guessed at, and an unchecked box is false, not absent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from tasks_app.domain.errors import InvalidAnswer
from tasks_app.domain.fields import Field, FieldKind, check_content
from tasks_app.domain.forms import fields

NUMBER_CHARACTERS = 400
"""The longest number that is read; more digits than that are no person's answer."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LOCAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_TRUE = ("true", "on")
_FALSE = ("false", "off", "")


def coerce_form(
    schema: Mapping[str, Any], data: Mapping[str, Sequence[str]], *, zone: tzinfo = UTC
) -> dict[str, object]:
    """Give the content of an answer from a submitted form, checked against the requested schema.

    An empty optional field is left out; a time without an offset is one of `zone`; names that the schema does not know
    (a token, a button) are ignored. Raises InvalidAnswer with what is wrong, by field.
    """
    known = fields(schema)
    content: dict[str, object] = {}
    unreadable: dict[str, list[str]] = {}
    for field in known:
        try:
            value = _read(field, list(data.get(field.name, ())), zone=zone)
        except ValueError as error:
            unreadable[field.name] = [f"{field.title} {error}"]
            continue
        if value is not None:
            content[field.name] = value
    readable = [field for field in known if field.name not in unreadable]
    problems = unreadable | check_content(readable, content)
    if problems:
        raise InvalidAnswer(problems)
    return content


def _read(field: Field, sent: list[str], *, zone: tzinfo) -> object:
    """Give the typed value, or None for "left empty"; the text of a ValueError follows the field's title."""
    if field.kind is FieldKind.MULTI:
        chosen = [value for value in sent if value != ""]
        return chosen if chosen or field.required else None
    # A hidden "false" before a checkbox is a common pair, so the last value counts.
    last = sent[-1] if sent else ""
    if field.kind is FieldKind.BOOLEAN:
        return _boolean(last)
    if field.kind not in (FieldKind.TEXT, FieldKind.CHOICE):
        last = last.strip()
    return None if last == "" else _convert(field.kind, last, zone=zone)


def _convert(kind: FieldKind, text: str, *, zone: tzinfo) -> object:
    match kind:
        case FieldKind.INTEGER:
            return _integer(text)
        case FieldKind.NUMBER:
            return _number(text)
        case FieldKind.DATETIME:
            return _with_offset(text, zone=zone)
        case _:
            return text


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError("must be true or false")


def _integer(text: str) -> int:
    if len(text) > NUMBER_CHARACTERS:
        raise ValueError(f"must have at most {NUMBER_CHARACTERS} digits")
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("must be a whole number, written with the digits 0 to 9 only")
    return int(text)


def _number(text: str) -> int | float:
    if len(text) > NUMBER_CHARACTERS:
        raise ValueError(f"must have at most {NUMBER_CHARACTERS} digits")
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("must be a number, such as 12 or 0.5")
    if _INTEGER.fullmatch(text):
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("is too large a number")
    return value


def _with_offset(text: str, *, zone: tzinfo) -> str:
    """Give a moment: what has no offset, as the browser's date and time input sends it, is taken as one of the zone."""
    if _LOCAL_TIME.fullmatch(text) is None:
        return text
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone).isoformat()
    except ValueError:
        # A moment that does not exist is refused by the format check, with its own words.
        return text
