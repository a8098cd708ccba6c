"""What a tool returns or raises, turned into the result of a tool call as the protocol has it.

The names of that format (`content`, `structuredContent`, `isError`) are spelled here and nowhere else in the engine: an
author may return a whole result in it, too. How a task is shown on the wire is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from tasks_app.domain import results
from tasks_app.domain.errors import ResultTooLarge, RpcError, ToolError
from tasks_app.domain.limits import Limits, check_result
from tasks_app.domain.text import clean_text
from tasks_app.engine.schema import Signature

Result = dict[str, Any]

DEFAULT_LIMITS = Limits()
ERROR_CHARACTERS = 10_000

_RESULT_KEYS = {"content", "structuredContent", "isError", "_meta"}
_BLOCKS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource": {"resource": dict},
    "resource_link": {"uri": str, "name": str},
}


def tool_error(text: str) -> Result:
    """Give the result that says that the tool failed, and why."""
    return results.tool_error(clean_text(text, ERROR_CHARACTERS))


def rpc_error(error: RpcError) -> Result:
    """Give the protocol error that a tool raised; what is no JSON in its data is shown as text."""
    shown: Result = {"code": error.code, "message": clean_text(error.message, ERROR_CHARACTERS)}
    if error.data is not None:
        shown["data"] = _any_json(error.data)
    return shown


def tool_result(value: object, *, signature: Signature | None = None, limits: Limits = DEFAULT_LIMITS) -> Result:
    """Give the result for what a tool returned; raises ToolError for what cannot be one."""
    result = _shaped(value, signature)
    try:
        check_result(result, limits=limits)
    except ResultTooLarge as error:
        raise ToolError(str(error)) from error
    return result


def is_error(result: Mapping[str, object]) -> bool:
    """Say whether a result reports a failure of the tool."""
    return result.get("isError") is True


def error_text(result: Mapping[str, Any]) -> str:
    """Give the text blocks of a result as one text."""
    return "\n".join(block["text"] for block in result["content"] if block.get("type") == "text")


def _shaped(value: object, signature: Signature | None) -> Result:
    plain = _plain(value)
    if _is_task(plain):
        raise ToolError("The tool returned a task of its own making. Return the result: tasks are made by the server.")
    if _is_result(plain):
        return _whole(plain, signature)
    if signature is not None and signature.returns is not None:
        return _structured(_declared(value, signature.returns))
    if plain is None:
        return {"content": [], "isError": False}
    if isinstance(plain, dict):
        return _structured(plain)
    if isinstance(plain, list) and plain and all(_is_block(block) for block in plain):
        return {"content": plain, "isError": False}
    return {"content": [_text(plain if isinstance(plain, str) else _json(plain))], "isError": False}


def _plain(value: object) -> Any:
    try:
        return to_jsonable_python(value, by_alias=True)
    except (PydanticSerializationError, ValueError) as error:
        raise ToolError(f"The tool returned something that is no JSON: {error}") from error


def _any_json(value: object) -> Any:
    try:
        return json.loads(to_json(value, fallback=str, inf_nan_mode="strings"))
    except (PydanticSerializationError, ValueError):
        return clean_text(str(value), ERROR_CHARACTERS)


def _declared(value: object, returns: Any) -> Any:
    try:
        return returns.dump_python(returns.validate_python(value), mode="json", by_alias=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ToolError(f"The tool returned something else than it declares: {where} {fault['msg']}") from error


def _structured(plain: Result) -> Result:
    # The text says the same, for clients that do not read structured content.
    return {"content": [_text(_json(plain))], "structuredContent": plain, "isError": False}


def _whole(plain: Result, signature: Signature | None) -> Result:
    """A result that the author wrote out; it has to keep the promise of the tool's output schema, too."""
    result = {key: value for key, value in plain.items() if value is not None}
    result.setdefault("isError", False)
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        raise ToolError("The tool returned structured content that is not an object.")
    _json(result)
    schema = None if signature is None else signature.output_schema
    if schema is not None and not result["isError"]:
        try:
            jsonschema.Draft202012Validator(schema).validate(structured)
        except jsonschema.ValidationError as error:
            raise ToolError(f"The tool returned something else than it declares: {error.message}") from error
    return result


def _is_task(plain: object) -> bool:
    if not isinstance(plain, dict):
        return False
    return {"taskId", "status"} <= plain.keys() or _is_task(plain.get("task"))


def _is_result(plain: object) -> bool:
    if not isinstance(plain, dict) or not plain.keys() <= _RESULT_KEYS:
        return False
    content = plain.get("content")
    return isinstance(content, list) and all(_is_block(block) for block in content)


def _is_block(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    parts = _BLOCKS.get(str(block.get("type")))
    return parts is not None and all(isinstance(block.get(name), kind) for name, kind in parts.items())


def _text(text: str) -> Result:
    return {"type": "text", "text": text}


def _json(plain: object) -> str:
    try:
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ToolError(f"The tool returned something that is no JSON: {error}") from error
