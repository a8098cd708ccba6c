"""Errors: stable reasons, useful texts, and signals that a tool cannot swallow."""

from __future__ import annotations

import inspect
import re

import pytest

from tasks_app.domain import errors
from tasks_app.domain.errors import (
    ControlFlow,
    InvalidAnswer,
    LimitExceeded,
    NotFound,
    QuestionExpired,
    QuotaExceeded,
    Retryable,
    RpcError,
    Stop,
    Suspend,
    TaskdeckError,
    ToolChanged,
    ToolError,
)

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, TaskdeckError | ControlFlow) and found.__module__ == errors.__name__
]
MADE: list[TaskdeckError] = [
    NotFound(),
    errors.InvalidTransition("failed", "working"),
    errors.AlreadyFinished(),
    QuotaExceeded(100),
    errors.BytesExceeded(1024),
    errors.KeyConflict(),
    errors.LeaseLost(),
    errors.NotReady(),
    errors.ArgumentsTooLarge(1),
    errors.ResultTooLarge(1),
    errors.AnswerTooLarge(1),
    errors.VariablesTooLarge(1),
    errors.VariablesTooDeep(1),
    errors.StringTooLong(1),
    errors.TooManyEntries(1),
    errors.TooDeep(1),
    InvalidAnswer({"percent": ["Percent must be at most 100"]}),
    errors.InvalidTtl(),
    errors.MissingActor(),
    errors.ConcurrentModification(),
    errors.StorageUnavailable(),
    QuestionExpired("approve"),
    ToolChanged(),
]


@pytest.mark.parametrize("error_class", CLASSES)
def test_error_class_has_a_one_line_docstring_and_a_reason_of_its_own(error_class: type[TaskdeckError]) -> None:
    """The classes of check 98 and check 100."""
    assert error_class.__doc__ is not None
    assert "\n" not in error_class.__doc__
    assert re.fullmatch("[a-z_]+", error_class.reason)
    assert [other for other in CLASSES if other.reason == error_class.reason] == [error_class]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_error_text_ends_with_what_to_do_next(error: TaskdeckError) -> None:
    sentences = re.findall(r"[^.]+\.(?:\s|$)", str(error))

    assert len(sentences) >= 2
    assert "{" not in str(error)


def test_not_found_is_always_the_same_and_takes_no_id() -> None:
    """The error text of check 98 and check 99."""
    assert str(NotFound()) == str(NotFound())
    with pytest.raises(TypeError):
        NotFound("3f2a")  # type: ignore[call-arg]


def test_quota_error_tells_the_limit() -> None:
    error = QuotaExceeded(100)

    assert (error.reason, error.limit) == ("quota", 100)
    assert "100" in str(error)


@pytest.mark.parametrize("error_class", LimitExceeded.__subclasses__())
def test_limit_errors_tell_the_limit(error_class: type[LimitExceeded]) -> None:
    error = error_class(4_321)

    assert error.limit == 4_321
    assert "4321" in str(error)


def test_invalid_answer_keeps_its_own_copy_of_the_field_messages() -> None:
    messages = ["Percent must be at most 100"]

    error = InvalidAnswer({"percent": messages})
    messages.append("changed later")

    assert error.fields == {"percent": ["Percent must be at most 100"]}
    assert "Percent must be at most 100. " in str(error)


def test_refusal_of_an_actor_says_why() -> None:
    error = errors.NotAllowed("Only an operator who is not the owner may approve. Ask one.")

    assert error.reason == "not_allowed"
    assert error.why == str(error) == "Only an operator who is not the owner may approve. Ask one."


def test_rpc_error_carries_code_message_and_data() -> None:
    error = RpcError(-32000, "No such region", {"region": "mars"})

    assert (error.code, error.message, error.data, str(error)) == (
        -32000,
        "No such region",
        {"region": "mars"},
        "No such region",
    )


def test_tool_error_shows_exactly_the_text_of_the_tool() -> None:
    assert str(ToolError("disk full")) == "disk full"
    assert str(Retryable("busy", delay=2.5)) == "busy"
    assert Retryable("busy", delay=2.5).delay == 2.5
    assert Retryable("busy").delay is None


def test_expired_question_and_changed_tool_are_tool_errors() -> None:
    assert isinstance(QuestionExpired("approve"), ToolError)
    assert QuestionExpired("approve").name == "approve"
    assert "The tool changed while it waited" in str(ToolChanged('asked "b" instead of "a"'))
    assert 'asked "b" instead of "a"' in str(ToolChanged('asked "b" instead of "a"'))


@pytest.mark.parametrize("signal", [Suspend(["q"]), Stop()], ids=["suspend", "stop"])
def test_control_flow_passes_through_a_tool_that_catches_every_exception(signal: ControlFlow) -> None:
    def tool() -> str:
        try:
            raise signal
        except Exception:
            return "swallowed"

    with pytest.raises(ControlFlow):
        tool()


def test_suspend_carries_the_questions_that_were_opened() -> None:
    assert Suspend(["who", "sure"]).questions == ("who", "sure")
