"""Holds every answer of the endpoint against the contracts, whatever the test that asked for it looks at itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter

from tasks_app.mcp import legacy as legacy_methods
from tasks_app.mcp import modern as modern_methods
from tests.asgi_client import Answer
from tests.contracts import legacy, modern
from tests.contracts.base import ErrorResponse, Metadata, Refusal

MODERN = "2026-07-28"
EVENT_STREAM = "text/event-stream"
OURS = (legacy_methods.METHODS, modern_methods.METHODS)


def check_answer(method: str, headers: Mapping[str, str], body: bytes, answer: Answer) -> None:
    """Raise when an answer is not what the protocol promises; of methods that a test made up nothing is known."""
    is_modern = headers.get("mcp-protocol-version") == MODERN
    if not answer.body or (modern_methods if is_modern else legacy_methods).METHODS not in OURS:
        return
    contract = modern if is_modern else legacy
    asked = _asked(method, body)
    if answer.headers.get("content-type") == EVENT_STREAM:
        for message in answer.events:
            check_message(message, contract, asked)
    else:
        check_json(answer.json, contract, asked)


def check_json(value: Any, contract: ModuleType, asked: str) -> None:
    """Raise when one JSON object is no answer that this revision's server may give to who asked so."""
    assert isinstance(value, dict), "the endpoint answers with objects only"
    if "jsonrpc" in value:
        check_message(value, contract, asked)
    elif "error" in value:
        Refusal.model_validate(value)
    else:
        assert asked == "GET", f"neither a message nor a refusal: {value.keys()}"
        Metadata.model_validate(value)


def check_message(message: dict[str, Any], contract: ModuleType, asked: str) -> None:
    """Raise when a message is none that this revision's server may send to who asked so."""
    if "error" in message:
        ErrorResponse.model_validate(message)
        return
    if "method" not in message:
        assert message.keys() == {"jsonrpc", "id", "result"}, message.keys()
        assert asked in contract.RESULTS, f"{asked!r} is not a method of this revision"
        _adapter(contract, "RESULTS", asked).validate_python(message["result"])
        return
    name = message["method"]
    kind, members = ("REQUESTS", {"id"}) if "id" in message else ("NOTIFICATIONS", set[str]())
    assert name in getattr(contract, kind), f"{name!r} is not among the {kind.lower()} of this revision"
    assert message.keys() == {"jsonrpc", "method", "params"} | members, message.keys()
    _adapter(contract, kind, name).validate_python(message["params"])


@cache
def _adapter(contract: ModuleType, kind: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(contract, kind)[name])


def _asked(method: str, body: bytes) -> str:
    """The method of the request; that of HTTP when the body names none."""
    if method != "POST":
        return method
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return str(found.get("method", "")) if isinstance(found, dict) else ""
