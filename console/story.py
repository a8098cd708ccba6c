"""How a task came to where it is: its events as a timeline, and its time as a bar. Pure: rows in, words out.

Events carry no payload; what a question said is joined to them by its key, for those who may read the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from console import present
from tasks_app import store
from tasks_app.domain.outcome import AttemptEnd
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.domain.status import Status
from tasks_app.store.queries import AttemptView, EventView

AT_ONCE = timedelta(seconds=1)


class Show(StrEnum):
    """Which part of a timeline is wanted."""

    ALL = "all"
    CHANGES = "changes"
    INPUTS = "inputs"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry of the timeline: what happened, to what, who did it and why, and how long that then lasted."""

    at: datetime
    title: str
    code: str
    detail: str
    icon: str
    shape: str
    kinds: frozenset[Show]
    lasted: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the bar: where it begins, its length (both in percent), and whether it was queued (q), working (w)
    or waiting for a human (h).
    """

    x: str
    width: str
    what: str
    is_now: bool


@dataclass(frozen=True, slots=True)
class Split:
    """Where the time of a task went."""

    parts: tuple[Part, ...]
    queued: timedelta
    working: timedelta
    waiting: timedelta

    @property
    def total(self) -> timedelta:
        """All of it."""
        return self.queued + self.working + self.waiting

    @property
    def percent_waiting(self) -> int:
        """How much of it was spent waiting for a person."""
        return round(100 * self.waiting / self.total) if self.total else 0


TITLES = {
    "created": "Created",
    "attempt_started": "Working",
    "attempt_ended": "Attempt ended",
    "asked": "Input required",
    "question_expired": "Nobody answered",
    "withdrawn": "Question withdrawn",
    "ttl": "Expiry changed",
    "held": "Legal hold",
    "hold_lifted": "Hold lifted",
    "first_fetch": "Result fetched",
    "expired": "Expired",
    "purged": "Purged",
}
LOOKS = {
    "attempt_started": ("working", "working"),
    "attempt_ended": ("warn", ""),
    "asked": ("input", "input"),
    "answered": ("completed", "completed"),
    "question_expired": ("hourglass", ""),
    "withdrawn": ("cancelled", ""),
    "ttl": ("hourglass", ""),
    "held": ("lock", ""),
    "hold_lifted": ("lock", ""),
    "first_fetch": ("download", ""),
    "expired": ("hourglass", ""),
}
ENDS: Mapping[str, str] = {
    AttemptEnd.COMPLETED: "Completed",
    AttemptEnd.SUSPENDED: "Suspended: asked a question",
    AttemptEnd.FAILED: "Failed",
    AttemptEnd.TIMED_OUT: "Timed out",
    AttemptEnd.LOST: "Lost: its lease ran out",
    AttemptEnd.RELEASED: "Given back: its worker was shutting down",
    AttemptEnd.STOPPED: "Stopped when told to",
    AttemptEnd.KILLED: "Killed: it did not stop in time",
}
DID: Mapping[str, str] = {
    AnswerAction.ACCEPT: "answered",
    AnswerAction.DECLINE: "declined",
    AnswerAction.CANCEL: "dismissed",
}
_INPUTS = {"asked", "answered", "question_expired", "withdrawn"}
_BAD_ENDS = {AttemptEnd.FAILED, AttemptEnd.TIMED_OUT, AttemptEnd.LOST, AttemptEnd.KILLED}
# These ends say what the next entry says too.
_PLAIN_ENDS = {AttemptEnd.COMPLETED, AttemptEnd.SUSPENDED, AttemptEnd.STOPPED}
_PHASES = {"created", "attempt_started", "asked", "status"}

Names = Mapping[int, str]


def timeline(
    events: Sequence[EventView], *, names: Names, said: Mapping[str, str], show: Show = Show.ALL
) -> list[Moment]:
    """The entries that are wanted, newest first; `said` is what each question asks, by its key."""
    told = [event for event in events if not _is_repeated(event, events)]
    moments = [_moment(event, names, said) for event in told]
    phases = [event.at for event in told if event.kind in _PHASES or event.kind == "attempt_ended"]
    lasting = [
        replace(moment, lasted=_lasted(event, phases)) if event.kind in _PHASES else moment
        for event, moment in zip(told, moments, strict=True)
    ]
    return [each for each in reversed(lasting) if show is Show.ALL or show in each.kinds]


def _is_repeated(event: EventView, events: Sequence[EventView]) -> bool:
    """Whether another entry of the same instant says the same, better."""
    if event.kind == "attempt_ended":
        has_ended = any(each.kind == "status" and abs(each.at - event.at) < AT_ONCE for each in events)
        return event.detail.get("outcome") in _PLAIN_ENDS or (event.detail.get("outcome") == "failed" and has_ended)
    if event.kind != "status" or event.to_status not in {Status.INPUT_REQUIRED, Status.WORKING}:
        return False
    better = "asked" if event.to_status == Status.INPUT_REQUIRED else "answered"
    return any(each.kind == better and abs(each.at - event.at) < AT_ONCE for each in events)


def _lasted(event: EventView, phases: Sequence[datetime]) -> str:
    until = next((at for at in phases if at > event.at), None)
    return "" if until is None else present.span(until - event.at)


def _moment(event: EventView, names: Names, said: Mapping[str, str]) -> Moment:
    chip = present.chip(event.to_status) if event.kind == "status" and event.to_status else None
    icon, shape = LOOKS.get(event.kind, ("plus", ""))
    key = str(event.detail.get("key", ""))
    return Moment(
        event.at,
        title=chip.word if chip else _title(event, names),
        code=_code(event),
        detail=_detail(event, names, said.get(key, "") if event.kind == "asked" else ""),
        icon=chip.icon if chip else icon,
        shape=chip.shape if chip else shape,
        kinds=_kinds(event),
    )


def _title(event: EventView, names: Names) -> str:
    if event.kind == "answered":
        did = DID.get(str(event.detail.get("action")), "answered")
        return f"{_name(event, names) or who(event, names).capitalize()} {did}"
    if event.kind == "attempt_ended":
        return ENDS.get(str(event.detail.get("outcome")), "Attempt ended")
    return TITLES.get(event.kind, event.kind.replace("_", " ").capitalize())


def _code(event: EventView) -> str:
    if event.kind == "attempt_started":
        return f"attempt {event.attempt} on {present.worker_name(str(event.detail.get('worker', '')))}"
    if event.kind == "attempt_ended":
        return f"attempt {event.attempt}"
    # A key ends with random characters that mean nothing to a person.
    return str(event.detail.get("key", "")).rpartition("-")[0] or str(event.detail.get("key", ""))


def _detail(event: EventView, names: Names, said: str) -> str:
    """Who did it, by what way and why."""
    actor, detail = event.actor, event.detail
    parts = [f"“{said}”"] if said else []
    if (
        event.kind in {"created", "ttl", "held", "hold_lifted", "status", "first_fetch"}
        and actor.get("kind") != "worker"
    ):
        parts.append(f"by {who(event, names)}")
    if event.kind == "status" and detail.get("outcome") == "tool_error":
        parts.append("the tool reported an error")
    if event.kind == "ttl":
        parts.append(f"to {_moment_of(detail.get('to'))}")
    if event.kind == "answered":
        parts.append("through a client" if detail.get("via") == Via.MCP else "from the console")
    if actor.get("reason"):
        parts.append(f"“{actor['reason']}”")
    return " · ".join(parts)


def _name(event: EventView, names: Names) -> str:
    actor_id = event.actor.get("id")
    return names.get(actor_id, "") if isinstance(actor_id, int) else ""


def who(event: EventView, names: Names) -> str:
    """Who did it, and in what capacity if that is not their own."""
    actor = event.actor
    who = _name(event, names) or {"engine": "the server", "worker": "the worker"}.get(
        str(actor.get("kind")), "a client"
    )
    role = actor.get("role")
    return f"{who} ({role})" if role else who


def _moment_of(text: object) -> str:
    try:
        return present.iso(datetime.fromisoformat(str(text)))
    except ValueError:
        return str(text)


def _kinds(event: EventView) -> frozenset[Show]:
    kinds = {Show.INPUTS if event.kind in _INPUTS else Show.CHANGES}
    is_bad = event.to_status == Status.FAILED or event.detail.get("outcome") in {*_BAD_ENDS, "tool_error"}
    if is_bad or event.kind == "question_expired":
        kinds.add(Show.ERRORS)
    if event.kind == "asked":
        kinds.add(Show.CHANGES)
    return frozenset(kinds)


def split(task: store.Snapshot, events: Sequence[EventView], *, now: datetime) -> Split | None:
    """The time of a task in its stretches: is the tool slow, or does it wait for a person? None if it has no length."""
    end = task.finished_at or now
    total = (end - task.created_at).total_seconds()
    changes = [(event.at, str(event.to_status)) for event in events if event.to_status and event.at <= end]
    if not changes or total <= 0:
        return None
    begun = next((event.at for event in events if event.kind == "attempt_started"), end)
    edges = [at for at, _ in changes[1:]] + [end]
    stretches = [
        stretch
        for (at, status), until in zip(changes, edges, strict=True)
        for stretch in _stretches(at, until, status=status, begun=min(begun, end))
        if stretch[1] > stretch[0]
    ]
    parts = tuple(_part(task.created_at, total, stretch, end) for stretch in stretches)
    spent = {what: sum((b - a for a, b, kind in stretches if kind == what), timedelta(0)) for what in "qwh"}
    return Split(parts, spent["q"], spent["w"], spent["h"])


def _stretches(at: datetime, until: datetime, *, status: str, begun: datetime) -> list[tuple[datetime, datetime, str]]:
    """A stretch of one status; before its first attempt a task is not working but queued."""
    if status == Status.INPUT_REQUIRED:
        return [(at, until, "h")]
    edge = min(max(begun, at), until)
    return [(at, edge, "q"), (edge, until, "w")]


def _part(start: datetime, total: float, stretch: tuple[datetime, datetime, str], end: datetime) -> Part:
    at, until, what = stretch
    x, width = (at - start).total_seconds() / total, (until - at).total_seconds() / total
    return Part(f"{100 * x:.2f}%", f"{100 * width:.2f}%", what, until == end)


def attempt_end(attempt: AttemptView) -> str:
    """How an attempt ended, or what it does."""
    if attempt.outcome:
        return ENDS.get(attempt.outcome, attempt.outcome)
    if attempt.stop_acknowledged_at:
        return "Stopping: the worker has seen it"
    return "Told to stop" if attempt.stop_requested_at else "Running"


def stopping(attempts: Sequence[AttemptView], *, now: datetime) -> str:
    """What the worker of a task that was ended from outside did about it, and how long that took."""
    told = next((each for each in reversed(attempts) if each.stop_requested_at is not None), None)
    if told is None or told.stop_requested_at is None:
        return ""
    if told.ended_at is None:
        seen = ", the worker has seen it" if told.stop_acknowledged_at else ""
        return f"Worker stopping for {present.length(now - told.stop_requested_at)}{seen}."
    did = "killed" if told.outcome == AttemptEnd.KILLED else "stopped"
    return f"Worker {did} after {present.length(told.ended_at - told.stop_requested_at)}."
