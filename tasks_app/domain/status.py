"""The five statuses of a task and the only moves between them.

The same table stands in the database as a trigger. What a client is shown is decided in `outcome`, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Status(StrEnum):
    """Where a task stands in its life."""

    WORKING = "working"
    """Running, or due to run: the state in which every task is born."""

    INPUT_REQUIRED = "input_required"
    """Waiting for a person or a client to answer; no process is held."""

    COMPLETED = "completed"
    """Ended with a result, which may itself report a tool error."""

    FAILED = "failed"
    """Ended without a result: a protocol error, a lost worker, or expiry while live."""

    CANCELLED = "cancelled"
    """Ended because someone asked for it."""

    @property
    def is_terminal(self) -> bool:
        """Say whether the task can never change its status again."""
        return self in TERMINAL

    def can_transition_to(self, other: Status) -> bool:
        """Say whether a task may move from here to `other`; staying put is not a move."""
        return other in TRANSITIONS[self]


INITIAL = Status.WORKING
"""The status of a task that was just created."""

TERMINAL: frozenset[Status] = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})
"""The statuses that nothing leaves."""

TRANSITIONS: Mapping[Status, frozenset[Status]] = MappingProxyType(
    {
        Status.WORKING: frozenset({Status.INPUT_REQUIRED}) | TERMINAL,
        Status.INPUT_REQUIRED: frozenset({Status.WORKING}) | TERMINAL,
        Status.COMPLETED: frozenset(),
        Status.FAILED: frozenset(),
        Status.CANCELLED: frozenset(),
    }
)
"""Every allowed move, by the status it starts from."""
