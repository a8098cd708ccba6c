"""The tally: counters that equal the tasks, folded or not, and the minutes with their histogram."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tasks_app import store
from tasks_app.domain.histogram import BUCKETS, bucket
from tasks_app.store import tally
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import BROKEN, DONE, answer, asking, claimed, completed, created, gated, scalar, sql

pytestmark = pytest.mark.django_db

START = datetime(2030, 1, 1, 12, 0, 30, tzinfo=UTC)

COUNT = """
SELECT tool, CASE WHEN expired_at IS NOT NULL THEN 'expired' WHEN outcome = 'tool_error' THEN 'tool_error'
                  ELSE status END, count(*)
  FROM tasks_task WHERE %(owner)s::bigint IS NULL OR owner_id = %(owner)s GROUP BY 1, 2
"""


def counted_by_tool(owner_id: int | None) -> dict[str, dict[str, int]]:
    """What a plain count over the tasks says."""
    found: dict[str, dict[str, int]] = {}
    for tool, standing, tasks in sql(COUNT, owner=owner_id):
        found.setdefault(tool, {})[standing] = tasks
    return found


def counted(owner_id: int | None) -> dict[str, int]:
    """The same without the tools."""
    total: Counter[str] = Counter()
    for standings in counted_by_tool(owner_id).values():
        total.update(standings)
    return dict(total)


def all_sorts(owner: Person, *, tool: str) -> None:
    """One task of every standing that can be reached without waiting."""
    created(owner, tool=tool)
    store.cancel(created(owner, tool=tool).id, owner_id=owner.id, by=owner.acts())
    gated(owner, tool=tool)
    others = [row[0] for row in sql("SELECT id FROM tasks_task WHERE wake_at IS NOT NULL")]
    sql("UPDATE tasks_task SET wake_at = wake_at + interval '1 hour' WHERE id = ANY(%(ids)s)", ids=others)
    completed(owner, tool=tool)
    store.complete(claimed(owner, tool=tool), result=DONE, is_error=True)
    store.fail(claimed(owner, tool=tool), error=BROKEN)
    answer(task := asking(owner, tool=tool), owner)
    store.cancel(task, owner_id=owner.id, by=owner.acts())


def test_counts_equal_the_tasks_before_and_after_folding(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    all_sorts(alice, tool="echo")
    all_sorts(bo, tool="deploy")
    all_sorts(alice, tool="deploy")
    expected = counted(alice.id)
    assert set(expected) == {"working", "input_required", "completed", "tool_error", "failed", "cancelled"}

    def same() -> None:
        for owner_id in (alice.id, bo.id, None):
            assert store.counts(owner_id) == counted(owner_id)
            assert store.counts_by_tool(owner_id) == counted_by_tool(owner_id)

    same()
    folded = store.fold()
    same()
    all_sorts(bo, tool="echo")
    same()
    clock.advance(timedelta(days=1))
    store.expire()
    same()
    store.fold()
    for _ in range(2):
        clock.advance(timedelta(days=30))
        store.expire()
        store.purge()
        same()
    while store.fold():
        same()

    assert folded > 0
    assert scalar("SELECT count(*) FROM tasks_tally") == 0
    assert scalar("SELECT count(*) FROM tasks_task") == 0
    assert store.counts(None) == {}
    assert sql("SELECT sum(tasks), sum(bytes) FROM tasks_count") == [(0, 0)]


def test_folding_nothing_is_nothing(db: None) -> None:
    assert store.fold() == 0


def test_minutes_say_what_moved_and_how_long_it_took(alice: Person, clock: DatabaseClock) -> None:
    clock.set(START)
    first, second = claimed(alice, tool="echo"), claimed(alice, tool="echo")
    clock.advance(timedelta(seconds=2))
    store.complete(first, result=DONE)
    clock.advance(timedelta(seconds=18))
    store.complete(second, result=DONE)
    store.fold()

    moved = [each for each in tally.minutes(alice.id, since=START.replace(second=0)) if each.entered == "completed"]

    [minute] = moved
    assert (minute.minute, minute.tool, minute.left) == (START.replace(second=0), "echo", "working")
    assert (minute.tasks, round(minute.seconds, 3)) == (2, 22)
    expected = [0] * BUCKETS
    expected[bucket(2)] += 1
    expected[bucket(20)] += 1
    assert minute.buckets == tuple(expected)


def test_minutes_of_several_folds_and_owners_add_up(alice: Person, bo: Person, clock: DatabaseClock) -> None:
    clock.set(START)
    for owner in (alice, bo, alice):
        store.cancel(created(owner).id, owner_id=owner.id, by=owner.acts())
        store.fold()

    [everyone] = [
        each for each in tally.minutes(None, since=START - timedelta(minutes=1)) if each.entered == "cancelled"
    ]
    [hers] = [
        each for each in tally.minutes(alice.id, since=START - timedelta(minutes=1)) if each.entered == "cancelled"
    ]

    assert (everyone.tasks, sum(everyone.buckets)) == (3, 3)
    assert (hers.tasks, sum(hers.buckets)) == (2, 2)
    assert tally.minutes(None, since=START + timedelta(minutes=1)) == []


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2, 5.0, 59.9, 60.0, 5000.0, 700_000.0])
def test_duration_falls_into_the_bucket_that_the_domain_names(
    alice: Person, clock: DatabaseClock, seconds: float
) -> None:
    clock.set(START)
    task = created(alice)
    store.extend(task.id, more=timedelta(days=20), owner_id=alice.id, by=alice.acts())
    clock.set(START + timedelta(seconds=seconds))
    store.cancel(task.id, owner_id=alice.id, by=alice.acts())
    store.fold()

    [moved] = [each for each in tally.minutes(alice.id, since=START.replace(second=0)) if each.entered == "cancelled"]

    assert moved.buckets.index(1) == bucket(seconds)
