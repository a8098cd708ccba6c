"""Judging an answer against the question that it answers, wherever it came from.

Who may answer, and which of two answers was first, is the store's part. The fields of a form are read in `forms`, and
what a browser sends is typed in `form_values`; both are offered here as well, since they belong to answering.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tasks_app.domain.errors import InvalidAnswer
from tasks_app.domain.fields import Field, FieldKind, Option, check_content
from tasks_app.domain.form_values import coerce_form
from tasks_app.domain.forms import check_requested_schema, fields
from tasks_app.domain.questions import AnswerAction, QuestionKind

__all__ = [
    "Field",
    "FieldKind",
    "Option",
    "check_requested_schema",
    "coerce_form",
    "fields",
    "kind_of",
    "validate_answer",
]

_ROLES = ("assistant", "user")
_BLOCK_TEXTS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "tool_use": ("id", "name"),
    "tool_result": ("toolUseId",),
}


def kind_of(request: Mapping[str, Any]) -> QuestionKind:
    """Tell from a stored request what it asks for."""
    if request.get("mode") == "url":
        return QuestionKind.URL
    if "requestedSchema" in request or request.get("mode") == "form":
        return QuestionKind.FORM
    return QuestionKind.SAMPLING if "messages" in request else QuestionKind.ROOTS


def validate_answer(
    request: Mapping[str, Any],
    action: AnswerAction | str,
    content: object = None,
    *,
    unknown: Literal["refuse", "drop"] = "refuse",
) -> dict[str, Any] | None:
    """Give the content to record for an answer, or None where there is none; raises InvalidAnswer, by field.

    Declining, dismissing and agreeing to a visit carry no content, so what came with them is dropped. Form fields that
    nobody asked for are refused, or dropped for callers that must tolerate them.
    """
    try:
        action = AnswerAction(action)
    except ValueError:
        raise InvalidAnswer({"action": ["The action must be accept, decline or cancel"]}) from None
    if action is not AnswerAction.ACCEPT:
        return None
    match kind_of(request):
        case QuestionKind.URL:
            return None
        case QuestionKind.SAMPLING:
            return _message(content)
        case QuestionKind.ROOTS:
            return _roots(content)
        case _:
            return _form_content(request, content, unknown=unknown)


def _form_content(request: Mapping[str, Any], content: object, *, unknown: Literal["refuse", "drop"]) -> dict[str, Any]:
    try:
        known = fields(request.get("requestedSchema", {}))
    except ValueError as error:
        raise InvalidAnswer({"": [f"This form cannot be filled in, only declined or dismissed: {error}"]}) from None
    given = _object({} if content is None else content)
    if unknown == "drop":
        names = {field.name for field in known}
        given = {name: value for name, value in given.items() if name in names}
    problems = check_content(known, given)
    if problems:
        raise InvalidAnswer(problems)
    integers = {field.name for field in known if field.kind is FieldKind.INTEGER}
    # JSON Schema counts 5.0 as a whole number; a tool that asked for one wants 5.
    return {name: int(value) if name in integers else value for name, value in given.items()}


def _message(content: object) -> dict[str, Any]:
    """A message of the client's model: role, model and one content block or several."""
    message = _object(content)
    problems: dict[str, list[str]] = {}
    if message.get("role") not in _ROLES:
        problems["role"] = ["The role must be assistant or user"]
    if not isinstance(message.get("model"), str):
        problems["model"] = ["The model must be named"]
    if not isinstance(message.get("stopReason", ""), str):
        problems["stopReason"] = ["The stop reason must be text"]
    blocks = message.get("content")
    blocks = blocks if isinstance(blocks, list) else [blocks]
    if not blocks or not all(_is_block(block) for block in blocks):
        problems["content"] = ["The content must be a block with a known type, such as text, or a list of blocks"]
    if problems:
        raise InvalidAnswer(problems)
    return message


def _is_block(block: object) -> bool:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return False
    texts = _BLOCK_TEXTS.get(block["type"])
    return texts is not None and all(isinstance(block.get(name), str) for name in texts)


def _roots(content: object) -> dict[str, Any]:
    """The client's roots: a list of addresses, each perhaps with a name."""
    given = _object(content)
    roots = given.get("roots")
    if not isinstance(roots, list) or not all(_is_root(root) for root in roots):
        raise InvalidAnswer({"roots": ["The roots must be a list of objects, each with a uri and perhaps a name"]})
    return given


def _is_root(root: object) -> bool:
    if not isinstance(root, Mapping) or not isinstance(root.get("name", ""), str):
        return False
    uri = root.get("uri")
    # Clients name folders here, and not all of them escape spaces: a scheme is all that can be relied on.
    return isinstance(uri, str) and ":" in uri


def _object(content: object) -> dict[str, Any]:
    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        raise InvalidAnswer({"": ["The answer must be an object"]})
    return dict(content)
