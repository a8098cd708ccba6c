"""What the movements of a time add up to: finished, failed, how long it took, and how long people took. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from console import present
from tasks_app.domain.histogram import BUCKETS, quantile
from tasks_app.store.trends import Movement

COMPLETED, TOOL_ERROR, FAILED, CANCELLED = "completed", "tool_error", "failed", "cancelled"
FINISHED = (COMPLETED, TOOL_ERROR, FAILED, CANCELLED)
WAITING = "input_required"


@dataclass(frozen=True, slots=True)
class Sums:
    """How many tasks moved where within some time, and in how long."""

    created: int
    completed: int
    tool_errors: int
    failed: int
    cancelled: int
    expired: int
    answered: int
    missed: int
    ran: tuple[int, ...]
    waited: tuple[int, ...]

    @property
    def finished(self) -> int:
        """All that ended, in whatever way."""
        return self.completed + self.tool_errors + self.failed + self.cancelled

    @property
    def success(self) -> float | None:
        """The share that completed without a tool error, in percent, of those that were not cancelled."""
        judged = self.completed + self.tool_errors + self.failed
        return 100 * self.completed / judged if judged else None


def add_up(moved: Iterable[Movement]) -> Sums:
    """The sums of some movements."""
    found = list(moved)

    def entered(standing: str) -> int:
        return sum(each.tasks for each in found if each.entered == standing)

    return Sums(
        created=sum(each.tasks for each in found if not each.left),
        completed=entered(COMPLETED),
        tool_errors=entered(TOOL_ERROR),
        failed=entered(FAILED),
        cancelled=entered(CANCELLED),
        expired=entered("expired"),
        answered=sum(each.tasks for each in found if each.left == WAITING and each.entered == "working"),
        missed=sum(each.tasks for each in found if each.left == WAITING and each.entered == FAILED),
        ran=_merged(each for each in found if each.left == "working" and each.entered in FINISHED[:3]),
        waited=_merged(each for each in found if each.left == WAITING and each.entered == "working"),
    )


def _merged(moved: Iterable[Movement]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(each.buckets for each in moved), strict=True))) or (0,) * BUCKETS


def within(counts: Sequence[int], share: float) -> timedelta | None:
    """Within what time this share of the tasks was done; None when there were none."""
    seconds = quantile(counts, share)
    return None if seconds is None else timedelta(seconds=seconds)


def words(counts: Sequence[int], share: float) -> str:
    """The same as it is shown: a bound, since durations are counted in buckets."""
    time = within(counts, share)
    if time is None:
        return "-"
    return f"≤{time.total_seconds():g}s" if time < timedelta(seconds=10) else f"≤{present.span(time)}"


def percent(share: float | None) -> str:
    """A share as it is shown: never rounded up to all."""
    if share is None:
        return "-"
    shown = f"{share:.1f}"
    return "100%" if share == 100 else f"{min(float(shown), 99.9):.1f}%"
