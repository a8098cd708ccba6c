"""How tasks and attempts end, and how an ending looks in each protocol dialect.

The outcome is what is stored; the status that a client sees is derived from it here, in one function.
"""

from __future__ import annotations

from enum import StrEnum

from tasks_app.domain.status import Status


class Dialect(StrEnum):
    """The two protocol generations that have tasks, by their version."""

    LEGACY = "2025-11-25"
    """Tasks in the core protocol; a tool error is a failed task."""

    MODERN = "2026-07-28"
    """Tasks as an extension; a tool error is a completed task whose result says so."""


class Outcome(StrEnum):
    """The one recorded ending of a task."""

    RESULT = "result"
    """The tool returned."""

    TOOL_ERROR = "tool_error"
    """The tool reported a failure of its own; the client gets a result marked as an error."""

    RPC_ERROR = "rpc_error"
    """The call ended in a protocol error: raised by the tool, a time-out, or workers lost too often."""

    CANCELLED = "cancelled"
    """Someone cancelled the task."""

    EXPIRED = "expired"
    """The task's lifetime ran out while it was live."""

    @property
    def status(self) -> Status:
        """The stored status that this outcome implies."""
        return _STATUS[self]


_STATUS = {
    Outcome.RESULT: Status.COMPLETED,
    Outcome.TOOL_ERROR: Status.COMPLETED,
    Outcome.RPC_ERROR: Status.FAILED,
    Outcome.CANCELLED: Status.CANCELLED,
    Outcome.EXPIRED: Status.FAILED,
}


class AttemptEnd(StrEnum):
    """How one attempt ended; an attempt that ended so may be followed by another."""

    COMPLETED = "completed"
    """The tool returned and its result was recorded."""

    SUSPENDED = "suspended"
    """It asked a question and let go of the worker."""

    FAILED = "failed"
    """The tool raised: the error ended the task, or it will be tried again."""

    TIMED_OUT = "timed_out"
    """It ran longer than the tool allows."""

    LOST = "lost"
    """Its lease ran out: the worker died or was cut off."""

    RELEASED = "released"
    """Its worker was shutting down and gave the task back; this does not count as a loss."""

    STOPPED = "stopped"
    """It saw the request to stop and ended by itself."""

    KILLED = "killed"
    """It did not stop in time, so its process was ended."""


def wire_status(status: Status, outcome: Outcome | None, dialect: Dialect) -> str:
    """Give the status that a client of this dialect is shown for a stored status and outcome."""
    if outcome is Outcome.TOOL_ERROR and dialect is Dialect.LEGACY:
        return Status.FAILED.value
    return status.value
