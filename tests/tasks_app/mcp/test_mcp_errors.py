"""Errors on the wire: one function gives the code, one the HTTP status."""

from __future__ import annotations

import logging

import pytest

from tasks_app.domain import errors as domain
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import errors
from tasks_app.mcp.errors import Fault, Refused, fault_of, http_status


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (domain.NotFound(), "not_found"),
        (domain.InvalidTransition("completed", "working"), "invalid_transition"),
        (domain.AlreadyFinished(), "already_finished"),
        (domain.NotReady(), "not_ready"),
        (domain.KeyConflict(), "key_conflict"),
        (domain.InvalidTtl(), "invalid_ttl"),
        (domain.ArgumentsTooLarge(10), "arguments_too_large"),
        (domain.TooManyEntries(64), "too_many_entries"),
        (domain.TooDeep(32), "too_deep"),
        (domain.NotAllowed("An operator must answer this."), "not_allowed"),
    ],
)
def test_mistake_of_the_caller_is_invalid_params(error: domain.TaskdeckError, reason: str) -> None:
    fault = fault_of(error)

    assert (fault.code, fault.message) == (errors.INVALID_PARAMS, str(error))
    assert fault.data["reason"] == reason


def test_missing_task_always_reads_the_same() -> None:
    """Trap 16: unknown, expired and foreign tasks cannot be told apart."""
    assert fault_of(domain.NotFound()).as_json() == {
        "code": -32602,
        "message": domain.NotFound.text,
        "data": {"reason": "not_found"},
    }


def test_invalid_answer_names_its_fields() -> None:
    fault = fault_of(domain.InvalidAnswer({"age": ["must be a number"]}))

    assert fault.code == errors.INVALID_PARAMS
    assert fault.data == {"reason": "invalid_answer", "fields": {"age": ["must be a number"]}}


@pytest.mark.parametrize(
    ("error", "data"),
    [
        (domain.QuotaExceeded(100), {"reason": "quota", "limit": 100}),
        (domain.BytesExceeded(5), {"reason": "bytes", "limit": 5}),
        (domain.StorageUnavailable(), {"reason": "storage"}),
        (domain.ConcurrentModification(), {"reason": "concurrent_modification"}),
    ],
)
def test_what_the_caller_can_only_wait_for_is_internal_with_a_reason(
    error: domain.TaskdeckError, data: dict[str, object]
) -> None:
    fault = fault_of(error)

    assert (fault.code, fault.data) == (errors.INTERNAL_ERROR, data)


def test_protocol_error_of_a_tool_passes_unchanged() -> None:
    fault = fault_of(domain.RpcError(-1, "nope", {"a": [1]}))

    assert fault.as_json() == {"code": -1, "message": "nope", "data": {"a": [1]}}


@pytest.mark.parametrize("error", [ValueError("secret"), domain.MissingActor(), domain.LeaseLost(), KeyError("secret")])
def test_unforeseen_error_says_nothing_and_is_logged_with_its_traceback(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        fault = fault_of(error)

    assert fault.as_json() == {"code": -32603, "message": "Internal error"}
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [error]


def test_fault_passes_unchanged() -> None:
    fault = Fault(-32602, "no")

    assert fault_of(fault) is fault


def test_refusal_keeps_its_status() -> None:
    fault = fault_of(Refused(429, "Slow down", error="too_many_requests"))

    assert (fault.http_status, fault.message) == (429, "Slow down")


CODES = [-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -1]


@pytest.mark.parametrize("code", CODES)
def test_legacy_errors_of_a_well_formed_request_are_200(code: int) -> None:
    """Trap 9."""
    assert http_status(Fault(code, "x"), Dialect.LEGACY) == 200


@pytest.mark.parametrize(
    ("code", "status"), list(zip(CODES, [400, 400, 404, 400, 200, 400, 400, 400, 200], strict=True))
)
def test_modern_errors_have_the_status_of_their_code(code: int, status: int) -> None:
    """Trap 9."""
    assert http_status(Fault(code, "x"), Dialect.MODERN) == status


@pytest.mark.parametrize("dialect", list(Dialect))
def test_status_of_a_fault_wins_over_the_dialect(dialect: Dialect) -> None:
    assert http_status(Fault(-32600, "x", http_status=404), dialect) == 404


def test_missing_capability_is_shaped_like_the_capabilities_of_a_client() -> None:
    assert errors.missing_tasks_capability().as_json() == {
        "code": -32021,
        "message": "Missing required client capability",
        "data": {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}},
    }
