"""What the options of `@tool` may be. Each rule gives the id of its system check, what is wrong and what to write.

Only values are looked at; the function's own signature is read in `schema`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

BAD_APPROVAL = "tasks.E003"
BAD_NAME = "tasks.E004"
BAD_OPTION = "tasks.E005"

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

Wrong = tuple[str, str, str]
"""The id of the check, what is wrong (to be read after the tool's name), and the hint."""


def option_problems(options: Mapping[str, Any], *, argument_names: Sequence[str]) -> list[Wrong]:
    """List everything that is wrong with the options of one tool."""
    return [
        *_bad_name(options["name"]),
        *_bad_values(options),
        *_bad_labels(options, argument_names),
        *_bad_approval(options),
    ]


def _bad_name(name: object) -> Iterator[Wrong]:
    if not (isinstance(name, str) and TOOL_NAME.fullmatch(name)):
        yield BAD_NAME, "has a name that clients refuse.", "Use 1 to 128 of A-Z, a-z, 0-9, '_', '.' and '-'."


def _bad_values(options: Mapping[str, Any]) -> Iterator[Wrong]:
    for option, value in options.items():
        if option == "name":
            continue
        if option not in _RULES:
            yield BAD_OPTION, f"has an unknown option {option!r}.", f"Known are: {', '.join(_RULES)}."
            continue
        is_right, wanted = _RULES[option]
        if not is_right(value):
            yield BAD_OPTION, f"has {option}={value!r}.", f"{option} must be {wanted}."


def _bad_labels(options: Mapping[str, Any], argument_names: Sequence[str]) -> Iterator[Wrong]:
    labels = options.get("labels")
    if labels is None or not _are_names(labels):
        return
    unknown = [label for label in labels if label not in argument_names]
    if unknown:
        yield BAD_OPTION, f"has labels that are no arguments: {', '.join(unknown)}.", "Name arguments of the function."


def _bad_approval(options: Mapping[str, Any]) -> Iterator[Wrong]:
    if options.get("approval") is not None and options.get("task") == "forbidden":
        hint = 'A forbidden tool leaves no task that could wait: use task="optional" or "required".'
        yield BAD_APPROVAL, "asks for approval but is never a task.", hint


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    return _is_number(value) and 0 < value < float("inf")


def _is_count(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_sequence(value: object) -> bool:
    return isinstance(value, tuple | list)


def _are_names(value: Any) -> bool:
    return (
        _is_sequence(value) and all(isinstance(name, str) and name for name in value) and len(set(value)) == len(value)
    )


def _are_errors(value: Any) -> bool:
    errors = value if _is_sequence(value) else (value,)
    return all(isinstance(error, type) and issubclass(error, Exception) for error in errors)


def _or_none(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or rule(value)


_OPTIONAL_TEXT = _or_none(lambda value: isinstance(value, str)), "a string"
_OPTIONAL_DURATION = _or_none(_is_duration), "a number of seconds above 0"

_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "description": _OPTIONAL_TEXT,
    "title": _OPTIONAL_TEXT,
    "task": (lambda value: value in ("optional", "required", "forbidden"), '"optional", "required" or "forbidden"'),
    "timeout": (_is_duration, "a number of seconds above 0"),
    "retries": (lambda value: _is_count(value, least=0), "a whole number, 0 or more"),
    "retry_on": (_are_errors, "an exception type or a tuple of them"),
    "ttl": _OPTIONAL_DURATION,
    "poll": _OPTIONAL_DURATION,
    "expected": _OPTIONAL_DURATION,
    "concurrency": (_or_none(lambda value: _is_count(value, least=1)), "a whole number, 1 or more"),
    "labels": (_or_none(_are_names), "a tuple of argument names, each once"),
    "version": (lambda value: _is_count(value, least=1), "a whole number, 1 or more"),
    "accepts_versions": (
        lambda value: _is_sequence(value) and all(_is_count(version, least=1) for version in value),
        "a tuple of whole numbers, 1 or more",
    ),
    "approval": (lambda value: value in (None, "operator"), '"operator" or left out'),
    "ask_first": (lambda value: isinstance(value, bool), "True or False"),
    "steps": (_are_names, "a tuple of step names, each once"),
    "annotations": (_or_none(lambda value: isinstance(value, Mapping)), "a mapping"),
}
