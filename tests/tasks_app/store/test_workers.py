"""The table of workers: who is alive, what they can take, and how long work has been waiting."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from tasks_app.models.worker import Worker
from tasks_app.store.workers import (
    beat,
    forget_gone,
    free_slots,
    leave,
    live_workers,
    oldest_claimable_seconds,
    oldest_due_seconds,
)
from tests.rows import NOON, end_attempt, make_due_task, make_running_task, set_clock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock(db: None, settings: Settings) -> None:
    """It is noon, and a worker is gone after fifteen seconds."""
    settings.TASKDECK_WORKER_GONE = 15
    set_clock(NOON)


def test_first_beat_puts_a_worker_on_the_list() -> None:
    beat("host:1:a", slots=4, draining=False)

    (worker,) = live_workers()
    assert (worker.id, worker.slots, worker.busy, worker.draining) == ("host:1:a", 4, 0, False)
    assert worker.started_at == worker.seen_at == NOON


def test_later_beat_changes_all_but_the_start() -> None:
    beat("host:1:a", slots=4, draining=False)
    set_clock(NOON + timedelta(seconds=5))

    beat("host:1:a", slots=2, draining=True)

    (worker,) = live_workers()
    assert (worker.slots, worker.draining) == (2, True)
    assert (worker.started_at, worker.seen_at) == (NOON, NOON + timedelta(seconds=5))


def test_beat_is_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        beat("host:1:a", slots=4, draining=False)


def test_beat_counts_the_open_attempts_of_its_worker_only() -> None:
    make_running_task(worker="host:1:a", since=NOON)
    make_running_task(worker="host:1:a", since=NOON)
    make_running_task(worker="host:2:b", since=NOON)
    ended = make_running_task(worker="host:1:a", since=NOON)
    end_attempt(ended, at=NOON)

    beat("host:1:a", slots=4, draining=False)

    assert [worker.busy for worker in live_workers()] == [2]


def test_worker_is_live_until_it_was_not_seen_for_the_whole_time() -> None:
    beat("host:1:a", slots=1, draining=False)

    set_clock(NOON + timedelta(seconds=14.9))
    before = live_workers()
    set_clock(NOON + timedelta(seconds=15))
    after = live_workers()

    assert [worker.id for worker in before] == ["host:1:a"]
    assert after == []


def test_live_workers_come_the_longest_running_first() -> None:
    beat("host:2:b", slots=1, draining=False)
    set_clock(NOON + timedelta(seconds=1))
    beat("host:1:a", slots=1, draining=False)

    assert [worker.id for worker in live_workers()] == ["host:2:b", "host:1:a"]


def test_leaving_takes_one_worker_off_the_list() -> None:
    beat("host:1:a", slots=1, draining=False)
    beat("host:2:b", slots=1, draining=False)

    leave("host:1:a")
    leave("host:3:never-seen")

    assert [worker.id for worker in live_workers()] == ["host:2:b"]


def test_gone_worker_is_forgotten_only_after_ten_times_as_long() -> None:
    beat("host:1:a", slots=1, draining=False)

    set_clock(NOON + timedelta(seconds=149))
    too_early = forget_gone()
    kept = Worker.objects.count()
    set_clock(NOON + timedelta(seconds=150))
    beat("host:2:b", slots=1, draining=False)
    forgotten = forget_gone()

    assert (too_early, kept, forgotten) == (0, 1, 1)
    assert [worker.id for worker in live_workers()] == ["host:2:b"]


def test_free_slots_are_those_of_live_workers_without_an_open_attempt() -> None:
    beat("host:9:gone", slots=50, draining=False)
    set_clock(NOON + timedelta(seconds=20))
    beat("host:1:a", slots=4, draining=False)
    beat("host:2:b", slots=2, draining=False)
    make_running_task(worker="host:1:a", since=NOON)

    assert free_slots() == 5


def test_draining_worker_has_no_free_slot() -> None:
    beat("host:1:a", slots=4, draining=True)

    assert free_slots() == 0


def test_worker_with_more_attempts_than_slots_takes_none_from_the_others() -> None:
    beat("host:1:a", slots=1, draining=False)
    beat("host:2:b", slots=2, draining=False)
    make_running_task(worker="host:1:a", since=NOON)
    make_running_task(worker="host:1:a", since=NOON)

    assert free_slots() == 2


def test_no_slot_is_free_without_a_worker() -> None:
    assert free_slots() == 0


def test_oldest_due_is_the_longest_wait_of_a_claimable_task() -> None:
    make_due_task(wake_at=NOON - timedelta(seconds=20))
    make_due_task(wake_at=NOON - timedelta(seconds=5))
    make_due_task(wake_at=NOON + timedelta(seconds=60))

    assert oldest_due_seconds() == 20.0


def test_nothing_is_due_when_all_tasks_run_or_sleep() -> None:
    make_running_task(worker="host:1:a", since=NOON)
    make_due_task(wake_at=NOON + timedelta(seconds=1))

    assert oldest_due_seconds() is None


def test_expired_task_is_not_due_unless_it_is_held() -> None:
    make_due_task(wake_at=NOON - timedelta(seconds=90), expires_at=NOON)
    make_due_task(wake_at=NOON - timedelta(seconds=30), expires_at=NOON, held=True)

    assert oldest_due_seconds() == 30.0


@pytest.mark.parametrize(
    ("caps", "owner_concurrency", "expected"),
    [({}, None, 90.0), ({"echo": 2}, None, 90.0), ({"echo": 1}, None, 5.0), ({}, 1, None)],
)
def test_what_waits_for_a_cap_is_due_but_could_not_be_claimed(
    settings: Settings, caps: dict[str, int], owner_concurrency: int | None, expected: float | None
) -> None:
    """section 2 item 18: a queue behind a tool that runs alone is no sign that something is stuck."""
    settings.TASKDECK_OWNER_CONCURRENCY = owner_concurrency
    make_running_task(worker="host:1:a", since=NOON)
    make_due_task(wake_at=NOON - timedelta(seconds=90))
    make_due_task(wake_at=NOON - timedelta(seconds=5), tool="other")

    assert oldest_claimable_seconds(caps) == expected
    assert oldest_due_seconds() == 90.0
