"""Every error that Taskdeck raises on purpose, and the two signals that end an attempt early.

Each error has a stable `reason`, which logs, events and the wire's `data.reason` carry, and a text that says what to do
next. Error codes and HTTP statuses are not known here: the edges translate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar


class TaskdeckError(Exception):
    """Something that Taskdeck refuses or reports."""

    reason: ClassVar[str] = "error"
    text: ClassVar[str] = "Something went wrong. Try again, and tell the operator of this server if it stays."

    def __init__(self, text: str | None = None) -> None:
        super().__init__(self.text if text is None else text)


class NotFound(TaskdeckError):
    """No such task for this caller: unknown, another's and expired look the same, and no id is taken or echoed."""

    reason = "not_found"
    text = "Task not found. It never existed, it has expired, or it is not yours: check the id or create a new task."

    def __init__(self) -> None:
        super().__init__()


class InvalidTransition(TaskdeckError):
    """The task cannot move from the status that it has to the one that was asked for."""

    reason = "invalid_transition"

    def __init__(self, before: str, after: str) -> None:
        super().__init__(f"A task that is {before} cannot become {after}. Read the task again to see where it stands.")
        self.before = before
        self.after = after

    @classmethod
    def refused(cls, why: str) -> InvalidTransition:
        """The database's own word for a change that its rules refuse."""
        error = cls("", "")
        error.args = (f"{why[:1].upper()}{why[1:]}. Read the task again to see where it stands.",)
        return error


class AlreadyFinished(TaskdeckError):
    """The task has ended, so nothing can be done to it."""

    reason = "already_finished"
    text = "The task has already finished and cannot change. Read its result instead."


class QuotaExceeded(TaskdeckError):
    """The owner has as many live tasks as allowed."""

    reason = "quota"

    def __init__(self, limit: int) -> None:
        super().__init__(f"Too many live tasks: at most {limit}. Wait until one ends, or cancel one, then try again.")
        self.limit = limit


class BytesExceeded(TaskdeckError):
    """The owner's tasks take as many bytes as allowed."""

    reason = "bytes"

    def __init__(self, limit: int) -> None:
        super().__init__(f"Your tasks take up more than {limit} bytes. Wait until old ones expire, then try again.")
        self.limit = limit


class KeyConflict(TaskdeckError):
    """The idempotency key was used for another request."""

    reason = "key_conflict"
    text = (
        "This idempotency key was already used with another tool or other arguments. Use a new key for a new request."
    )


class LeaseLost(TaskdeckError):
    """The attempt no longer holds the task, so it can record nothing."""

    reason = "lease_lost"
    text = "This attempt no longer holds the task: it ended, or another attempt took over. Stop, and record nothing."


class NotReady(TaskdeckError):
    """The result was asked for before the task ended."""

    reason = "not_ready"
    text = "The task has not finished, so it has no result yet. Wait for the poll interval and ask again."


class LimitExceeded(TaskdeckError):
    """Something is bigger or deeper than allowed."""

    reason = "limit"
    text = "This is over the limit of {limit}. Send less."

    def __init__(self, limit: int) -> None:
        super().__init__(self.text.format(limit=limit))
        self.limit = limit


class ArgumentsTooLarge(LimitExceeded):
    """The arguments of a call take too many bytes."""

    reason = "arguments_too_large"
    text = "The arguments take more than {limit} bytes. Pass a reference to the data instead of the data."


class ResultTooLarge(LimitExceeded):
    """The result of a tool takes too many bytes."""

    reason = "result_too_large"
    text = "The result takes more than {limit} bytes. Let the tool return a link or a summary instead."


class AnswerTooLarge(LimitExceeded):
    """An answer takes too many bytes."""

    reason = "answer_too_large"
    text = "The answer takes more than {limit} bytes. Shorten it and send it again."


class VariablesTooLarge(LimitExceeded):
    """The variables of a task, once merged, take too many bytes."""

    reason = "variables_too_large"
    text = "The task's variables would take more than {limit} bytes. Delete some by setting them to null."


class VariablesTooDeep(LimitExceeded):
    """The variables of a task are nested too deeply."""

    reason = "variables_too_deep"
    text = "The task's variables would be nested more than {limit} levels deep. Store a flatter value."


class StringTooLong(LimitExceeded):
    """One string takes too many bytes."""

    reason = "string_too_long"
    text = "A string or a name takes more than {limit} bytes. Split or shorten it."


class TooManyEntries(LimitExceeded):
    """Too many answers came in one message."""

    reason = "too_many_entries"
    text = "There are more than {limit} entries in one message. Send them in several messages."


class TooDeep(LimitExceeded):
    """A message is nested too deeply."""

    reason = "too_deep"
    text = "The message is nested more than {limit} levels deep. Send a flatter value."


class InvalidAnswer(TaskdeckError):
    """The answer does not fit the question; `fields` names what is wrong, by field ("" for the whole answer)."""

    reason = "invalid_answer"

    def __init__(self, fields: Mapping[str, Iterable[str]]) -> None:
        self.fields: dict[str, list[str]] = {name: list(messages) for name, messages in fields.items()}
        said = " ".join(f"{message}." for messages in self.fields.values() for message in messages)
        super().__init__(f"The answer does not fit the question. {said} Correct it and send it again.")


class InvalidTtl(TaskdeckError):
    """The lifetime asked for is no positive whole number, or is over the maximum of a strict server."""

    reason = "invalid_ttl"
    text = "The lifetime must be a positive whole number of milliseconds. Correct it, or leave it out for the default."


class DuplicateQuestion(TaskdeckError):
    """The task has asked under this name or key before: names and keys are never used twice."""

    reason = "duplicate_question"
    text = "The task has already asked a question of this name. Give each question of a tool a name of its own."


class NotAllowed(TaskdeckError):
    """This actor may not do this."""

    reason = "not_allowed"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class MissingActor(TaskdeckError):
    """A change was about to be written without saying who made it."""

    reason = "missing_actor"
    text = "Every change of a task needs an actor. Pass the actor to the store function that makes the change."


class ConcurrentModification(TaskdeckError):
    """The task changed between reading and writing it."""

    reason = "concurrent_modification"
    text = "The task changed in the meantime. Read it again and repeat what you wanted to do."


class StorageUnavailable(TaskdeckError):
    """The database cannot be reached or has no room."""

    reason = "storage"
    text = "The database cannot be used right now. Try again in a moment."


class ToolError(TaskdeckError):
    """Raised by a tool to end its task with a failure of its own; the client reads the text."""

    reason = "tool_error"

    def __init__(self, text: str) -> None:
        super().__init__(text)


class RpcError(TaskdeckError):
    """Raised by a tool to end its task with a protocol error."""

    reason = "rpc_error"

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Retryable(TaskdeckError):
    """Raised by a tool to be tried again, after `delay` seconds or, without it, after the usual back-off."""

    reason = "retryable"

    def __init__(self, text: str, delay: float | None = None) -> None:
        super().__init__(text)
        self.delay = delay


class QuestionExpired(ToolError):
    """Raised in a tool whose question was not answered before its deadline; a tool error unless it is caught."""

    reason = "question_expired"

    def __init__(self, name: str) -> None:
        super().__init__(f'Nobody answered the question "{name}" in time. Run the tool again to be asked again.')
        self.name = name


class ToolChanged(ToolError):
    """Raised when a replay asks or does something else than what was recorded."""

    reason = "tool_changed"

    def __init__(self, detail: str = "") -> None:
        what = f" ({detail})" if detail else ""
        super().__init__(f"The tool changed while it waited{what}. Run the tool again.")
        self.detail = detail


class ControlFlow(BaseException):
    """Ends an attempt from the inside; not an Exception, so that a tool's `except Exception` cannot swallow it."""

    reason: ClassVar[str] = "control_flow"


class Suspend(ControlFlow):
    """The attempt ends here because the tool asked; it starts again from the top once `questions` are answered."""

    reason = "suspend"

    def __init__(self, questions: Iterable[object] = ()) -> None:
        self.questions: tuple[object, ...] = tuple(questions)
        super().__init__(f"waiting for {len(self.questions)} answers")


class Stop(ControlFlow):
    """The attempt ends here because its task was cancelled or taken over; it may record nothing more."""

    reason = "stop"

    def __init__(self, why: str = "the task was cancelled or the lease was lost") -> None:
        super().__init__(why)
        self.why = why
