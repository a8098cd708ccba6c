"""Errors on the wire: every code, the one function that makes a domain error a protocol error, and the one that gives
the HTTP status of it.

`Fault` is a JSON-RPC error, `Refused` an answer of HTTP alone (who are you, not so fast). Handlers raise domain errors,
or a `Fault` for what only the protocol knows; the endpoint translates.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tasks_app.domain import errors as domain
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp.wire import TASKS_EXTENSION

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042  # 2025-11-25 only

OK = 200
BAD_REQUEST = 400
NOT_FOUND = 404

logger = logging.getLogger(__name__)


class Fault(Exception):
    """A JSON-RPC error. Without `http_status` the dialect decides on the status (`http_status()`)."""

    def __init__(self, code: int, message: str, *, data: Any = None, http_status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.http_status = http_status

    def as_json(self) -> dict[str, Any]:
        """The `error` member of a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


class Refused(Exception):
    """An answer that HTTP gives, before or beside JSON-RPC: 401, 403, 405, 413, 429 and their like."""

    def __init__(self, status: int, text: str, *, error: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.error = error
        """A stable word for programs, such as `invalid_token`."""
        self.headers: Mapping[str, str] = headers or {}


def invalid_params(message: str, *, data: Any = None) -> Fault:
    """What the caller sent cannot be understood or is not allowed."""
    return Fault(INVALID_PARAMS, message, data=data)


def method_not_found(message: str = "Method not found") -> Fault:
    """There is no such method here, or this tool cannot be called in this way."""
    return Fault(METHOD_NOT_FOUND, message)


def missing_capability(required: Mapping[str, Any]) -> Fault:
    """The client must declare these capabilities for what it asks, shaped like the capabilities of a client."""
    return Fault(MISSING_CAPABILITY, "Missing required client capability", data={"requiredCapabilities": required})


def missing_tasks_capability() -> Fault:
    """The client must declare the tasks extension for what it asks."""
    return missing_capability({"extensions": {TASKS_EXTENSION: {}}})


def header_mismatch(detail: str) -> Fault:
    """A routing header is missing, malformed, sent twice, or says something else than the body."""
    return Fault(HEADER_MISMATCH, f"Header mismatch: {detail}", http_status=BAD_REQUEST)


def internal_error() -> Fault:
    """A fault of ours, of which the caller learns nothing."""
    return Fault(INTERNAL_ERROR, "Internal error")


# What the caller did wrong, or what just is so: told with the domain's own text.
_OF_THE_CALLER = (
    domain.NotFound,
    domain.InvalidTransition,
    domain.AlreadyFinished,
    domain.NotReady,
    domain.InvalidAnswer,
    domain.InvalidTtl,
    domain.KeyConflict,
    domain.LimitExceeded,
    domain.NotAllowed,
)
# What the caller can only wait for.
_OF_THE_SERVER = (
    domain.QuotaExceeded,
    domain.BytesExceeded,
    domain.StorageUnavailable,
    domain.ConcurrentModification,
)


def fault_of(error: Exception) -> Fault:
    """The protocol error for anything that a handler raised; what nobody foresaw is logged and says nothing."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, Refused):
        return Fault(INVALID_REQUEST, error.text, data={"reason": error.error}, http_status=error.status)
    if isinstance(error, domain.RpcError):
        return Fault(error.code, error.message, data=error.data)
    if isinstance(error, _OF_THE_CALLER):
        return Fault(INVALID_PARAMS, str(error), data=_data_of(error))
    if isinstance(error, _OF_THE_SERVER):
        return Fault(INTERNAL_ERROR, str(error), data=_data_of(error))
    logger.error("a request failed in a way that nobody foresaw", exc_info=error)
    return internal_error()


def _data_of(error: domain.TaskdeckError) -> dict[str, Any]:
    data: dict[str, Any] = {"reason": error.reason}
    if isinstance(error, domain.QuotaExceeded | domain.BytesExceeded | domain.LimitExceeded):
        data["limit"] = error.limit
    if isinstance(error, domain.InvalidAnswer):
        data["fields"] = error.fields
    return data


_MODERN_STATUS = {
    PARSE_ERROR: BAD_REQUEST,
    INVALID_REQUEST: BAD_REQUEST,
    METHOD_NOT_FOUND: NOT_FOUND,
    INVALID_PARAMS: BAD_REQUEST,
    HEADER_MISMATCH: BAD_REQUEST,
    MISSING_CAPABILITY: BAD_REQUEST,
    UNSUPPORTED_VERSION: BAD_REQUEST,
}


def http_status(fault: Fault, dialect: Dialect) -> int:
    """The HTTP status of a protocol error: 200 for a well-formed legacy request, by the code for a modern one."""
    if fault.http_status is not None:
        return fault.http_status
    if dialect is Dialect.LEGACY:
        return OK
    return _MODERN_STATUS.get(fault.code, OK)
