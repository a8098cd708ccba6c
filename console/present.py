"""How things read on a page: short ids, ages, countdowns, sizes, the words and shapes of a status.

Pure: values in, words out. Nothing here makes HTML or asks the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tasks_app.domain.outcome import Outcome
from tasks_app.domain.status import Status
from tasks_app.store.rows import Snapshot

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MANY = 10_000


@dataclass(frozen=True, slots=True)
class Chip:
    """A status as it is shown: word, icon and shape, so that colour is never alone."""

    word: str
    icon: str
    shape: str


CHIPS = {
    Status.WORKING: Chip("Working", icon="working", shape="working"),
    Status.INPUT_REQUIRED: Chip("Input required", icon="input", shape="input"),
    Status.COMPLETED: Chip("Completed", icon="completed", shape="completed"),
    Status.FAILED: Chip("Failed", icon="failed", shape="failed"),
    Status.CANCELLED: Chip("Cancelled", icon="cancelled", shape="cancelled"),
}
OUTCOMES: dict[str, str] = {
    Outcome.RESULT: "Result",
    Outcome.TOOL_ERROR: "Tool error",
    Outcome.RPC_ERROR: "Protocol error",
    Outcome.CANCELLED: "Cancelled",
    Outcome.EXPIRED: "Expired",
}
TOOL_ERROR = Chip("Tool error", icon="warn", shape="toolerror")
EXPIRED = Chip("Expired", icon="hourglass", shape="expired")
STOPPING = Chip("Stopping", icon="stop", shape="")


def chip(status: Status | str) -> Chip:
    """The chip of a status."""
    return CHIPS[Status(status)]


def badges(task: Snapshot, *, now: datetime, is_stopping: bool = False) -> tuple[Chip, ...]:
    """What stands beside the status: never a sixth status."""
    is_expired = task.expires_at <= now and not task.held
    said = ((task.outcome is Outcome.TOOL_ERROR, TOOL_ERROR), (is_expired, EXPIRED), (is_stopping, STOPPING))
    return tuple(badge for applies, badge in said if applies)


def percent(task: Snapshot) -> int | None:
    """How far a task is, when it says so and has not ended."""
    done, total = task.progress_done, task.progress_total
    if done is None or not total or task.finished_at is not None:
        return None
    return min(int(100 * done / total), 100)


def short_id(task_id: UUID | str) -> str:
    """An id that fits in a row."""
    text = str(task_id)
    return f"{text[:4]}…{text[-4:]}"


def span(time: timedelta) -> str:
    """A length of time in one unit, as lists show it."""
    seconds = max(int(time.total_seconds()), 0)
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds >= size and (unit != "d" or seconds >= 2 * DAY):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def length(time: timedelta) -> str:
    """A length of time in two units, as a detail page shows it."""
    seconds = max(int(time.total_seconds()), 0)
    for (big, size), (small, part) in (
        (("d", DAY), ("h", HOUR)),
        (("h", HOUR), ("m", MINUTE)),
        (("m", MINUTE), ("s", 1)),
    ):
        if seconds >= size:
            return f"{seconds // size} {big} {seconds % size // part} {small}"
    return f"{time.total_seconds():.1f} s" if time < timedelta(seconds=10) else f"{seconds} s"


@dataclass(frozen=True, slots=True)
class Countdown:
    """How long something still has: what to say, how urgent it is, and when it is over, for the clock of the page."""

    text: str
    urgency: str
    at: str


def countdown(at: datetime, *, now: datetime) -> Countdown:
    """A countdown as it stands now: minutes and seconds only when they matter."""
    left = at - now
    seconds = int(left.total_seconds())
    if seconds <= 0:
        return Countdown(f"{span(-left)} ago", "", iso(at))
    if seconds < 10 * MINUTE:
        urgency = "now" if seconds < MINUTE else "near"
        return Countdown(f"{seconds // MINUTE}:{seconds % MINUTE:02}", urgency, iso(at))
    return Countdown(span(left), "soon" if seconds < HOUR else "", iso(at))


def iso(at: datetime) -> str:
    """A time for machines, and for people who compare with logs."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def capped(count: int) -> str:
    """A count as facets show it: exact while that means something."""
    return f"{count:,}" if count < MANY else f"{count // 1000}k+"


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1000:
        return f"{count} B"
    for unit, factor in (("kB", 1000), ("MB", 1000**2), ("GB", 1000**3)):
        if count < factor * 1000:
            return f"{count / factor:.1f} {unit}"
    return f"{count / 1000**4:.1f} TB"


def worker_name(worker_id: str) -> str:
    """Host and process of a worker, without what tells two lives of one process number apart."""
    return ":".join(worker_id.split(":")[:2])
