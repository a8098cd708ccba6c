"""A task's events as a timeline and its time as a bar, without a database."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console.story import Show, attempt_end, split, stopping, timeline
from tasks_app.domain.outcome import AttemptEnd
from tasks_app.domain.status import Status
from tasks_app.store.queries import AttemptView, EventView
from tasks_app.store.rows import Snapshot

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
ANA = {"kind": "owner", "id": 7}
WORKER = {"kind": "worker", "id": "vm:1:x"}
NAMES = {7: "ana"}


def event(
    seconds: int,
    kind: str,
    *,
    to: str | None = None,
    actor: Mapping[str, Any] = WORKER,
    **detail: object,
) -> EventView:
    return EventView(seconds, kind, None, to, 1, actor, detail, NOON + timedelta(seconds=seconds))


EVENTS = [
    event(0, "created", to="working", actor=ANA),
    event(2, "attempt_started", worker="vm:1:x"),
    event(12, "status", to="input_required"),
    event(12, "attempt_ended", outcome="suspended"),
    event(12, "asked", key="approve-a1b2c3d4"),
    event(32, "answered", actor=ANA, key="approve-a1b2c3d4", action="accept", via="console"),
    event(32, "status", to="working", actor=ANA),
    event(33, "attempt_started", worker="vm:1:x"),
    event(40, "attempt_ended", outcome="lost"),
    event(42, "status", to="failed", outcome="rpc_error"),
]


def titles(show: Show = Show.ALL) -> list[str]:
    return [each.title for each in timeline(EVENTS, names=NAMES, said={}, show=show)]


def task(*, finished: int | None, status: Status = Status.WORKING) -> Snapshot:
    values: dict[str, Any] = dict.fromkeys(Snapshot.__dataclass_fields__)
    at = None if finished is None else NOON + timedelta(seconds=finished)
    return Snapshot(**values | {"id": uuid.uuid4(), "status": status, "created_at": NOON, "finished_at": at})


def attempt(**values: Any) -> AttemptView:
    defaults: dict[str, Any] = dict.fromkeys(AttemptView.__dataclass_fields__)
    defaults |= {"number": 1, "worker": "w1", "started_at": NOON}
    return AttemptView(**defaults | values)


def test_timeline_is_newest_first_and_says_nothing_twice() -> None:
    assert titles() == [
        "Failed",
        "Lost: its lease ran out",
        "Working",
        "ana answered",
        "Input required",
        "Working",
        "Created",
    ]


@pytest.mark.parametrize(
    ("show", "expected"),
    [
        (Show.INPUTS, ["ana answered", "Input required"]),
        (Show.ERRORS, ["Failed", "Lost: its lease ran out"]),
        (Show.CHANGES, ["Failed", "Lost: its lease ran out", "Working", "Input required", "Working", "Created"]),
    ],
)
def test_timeline_can_be_narrowed(show: Show, expected: list[str]) -> None:
    assert titles(show) == expected


def test_question_is_told_by_its_name_and_words() -> None:
    moments = timeline(EVENTS, names=NAMES, said={"approve-a1b2c3d4": "Roll out?"})

    asked = next(each for each in moments if each.title == "Input required")
    assert (asked.code, asked.detail, asked.lasted) == ("approve", "“Roll out?”", "21s")


def test_who_acted_for_another_and_why_is_told() -> None:
    operator = {"kind": "operator", "id": 7, "role": "operator", "reason": "runaway"}
    [moment] = timeline([event(5, "status", to="cancelled", actor=operator)], names=NAMES, said={})

    assert (moment.title, moment.detail) == ("Cancelled", "by ana (operator) · “runaway”")


def test_time_is_split_between_queue_work_and_people() -> None:
    found = split(task(finished=42, status=Status.FAILED), EVENTS, now=NOON + timedelta(days=1))

    assert found is not None
    spent = [found.queued.total_seconds(), found.working.total_seconds(), found.waiting.total_seconds()]
    assert spent == [2, 20, 20]
    assert found.percent_waiting == 48
    assert [part.what for part in found.parts] == ["q", "w", "h", "w"]
    assert found.parts[-1].is_now


def test_task_that_waits_for_a_worker_has_not_worked() -> None:
    found = split(task(finished=None), EVENTS[:1], now=NOON + timedelta(seconds=9))

    assert found is not None
    assert (found.queued, found.working) == (timedelta(seconds=9), timedelta(0))


def test_task_of_no_length_has_no_bar() -> None:
    assert split(task(finished=None), EVENTS[:1], now=NOON) is None


@pytest.mark.parametrize("end", list(AttemptEnd))
def test_every_end_of_an_attempt_has_words(end: AttemptEnd) -> None:
    words = attempt_end(attempt(outcome=end.value))

    assert words != end.value
    assert "_" not in words


def test_worker_that_was_told_to_stop_is_followed_to_its_end() -> None:
    told, later = NOON, NOON + timedelta(seconds=2)

    def said(**values: Any) -> str:
        return stopping([attempt(stop_requested_at=told, **values)], now=later)

    assert said() == "Worker stopping for 2.0 s."
    assert said(stop_acknowledged_at=told) == "Worker stopping for 2.0 s, the worker has seen it."
    assert said(ended_at=later, outcome="stopped") == "Worker stopped after 2.0 s."
    assert said(ended_at=later, outcome="killed") == "Worker killed after 2.0 s."
    assert stopping([attempt()], now=later) == ""
