"""The lanes of the hot paths: together when there is company, alone when there is none, and nobody for another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tasks_app.domain.errors import StorageUnavailable
from tasks_app.mcp import lanes
from tasks_app.mcp.lanes import MOST, Lane
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Task
from tasks_app.store import NewTask
from tasks_app.store.batches import ALONE, Alone
from tasks_app.store.db import Plan, Query
from tests.conftest import Person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("served")]

ZERO = 0


class Divider:
    """Divides a hundred by what is asked, in the database, and remembers with whom each was asked."""

    def __init__(self, *, broken: Exception | None = None, left_out: frozenset[int] = frozenset()) -> None:
        self.has_begun = asyncio.Event()
        self.alone: list[int] = []
        self.together: list[list[int]] = []
        self._broken = broken
        self._left_out = left_out
        self.lane: Lane[int, int] = Lane(self._one, self._many)

    def _one(self, number: int) -> Plan[int]:
        self.alone.append(number)
        self.has_begun.set()
        found = yield Query("SELECT 100 / %(number)s::int", {"number": number})
        return int(found[0][0])

    def _many(self, numbers: Sequence[int]) -> Plan[Sequence[int | Alone]]:
        self.together.append(list(numbers))
        if self._broken is not None:
            raise self._broken
        text = "SELECT 100 / n FROM unnest(%(numbers)s::int[]) WITH ORDINALITY AS u (n, place) ORDER BY place"
        found = yield Query(text, {"numbers": list(numbers)})
        values = [int(value) for (value,) in found]
        return [ALONE if n in self._left_out else value for n, value in zip(numbers, values, strict=True)]

    async def ask(self, *numbers: int) -> list[int | BaseException]:
        """Ask for all of them at the same time."""
        return await asyncio.gather(*(self.lane.ask(number) for number in numbers), return_exceptions=True)


async def test_one_that_comes_alone_goes_alone() -> None:
    divider = Divider()

    assert await divider.ask(5) == [20]
    assert await divider.ask(4) == [25]
    assert (divider.alone, divider.together) == ([5, 4], [])


async def test_those_that_come_together_go_together_and_each_gets_its_own() -> None:
    divider = Divider()

    assert await divider.ask(1, 2, 4, 5, 2) == [100, 50, 25, 20, 50]
    assert (divider.alone, divider.together) == ([], [[1, 2, 4, 5, 2]])


async def test_what_comes_while_a_statement_is_under_way_forms_the_next() -> None:
    divider = Divider()
    first = asyncio.create_task(divider.lane.ask(10))
    await divider.has_begun.wait()

    later = await divider.ask(20, 25)

    assert (await first, later) == (10, [5, 4])
    assert (divider.alone, divider.together) == ([10], [[20, 25]])


async def test_batch_is_bounded() -> None:
    divider = Divider()

    await divider.ask(*[1] * (MOST + 1))

    assert [len(batch) for batch in divider.together] == [MOST]
    assert divider.alone == [1]


async def test_fault_of_one_is_not_that_of_the_others() -> None:
    divider = Divider()

    first, wrong, last = await divider.ask(1, ZERO, 4)

    assert (first, last) == (100, 25)
    assert "division by zero" in str(wrong)
    assert (divider.together, sorted(divider.alone)) == ([[1, ZERO, 4]], [ZERO, 1, 4])


async def test_one_that_the_batch_leaves_out_is_asked_alone() -> None:
    divider = Divider(left_out=frozenset({2}))

    assert await divider.ask(1, 2, 4) == [100, 50, 25]
    assert divider.alone == [2]


async def test_outage_is_told_to_all_without_another_try() -> None:
    divider = Divider(broken=StorageUnavailable())

    answers = await divider.ask(1, 2)

    assert [type(answer) for answer in answers] == [StorageUnavailable, StorageUnavailable]
    assert divider.alone == []


async def test_lane_goes_on_after_an_outage() -> None:
    divider = Divider(broken=StorageUnavailable())
    await divider.ask(1, 2)

    assert await divider.ask(2) == [50]


async def test_one_who_goes_away_takes_nobody_along() -> None:
    divider = Divider()
    asked = [asyncio.create_task(divider.lane.ask(number)) for number in (1, 2, 4)]
    await asyncio.sleep(0)

    asked[1].cancel()
    answers = await asyncio.gather(*asked, return_exceptions=True)

    assert (answers[0], answers[2]) == (100, 25)
    assert isinstance(answers[1], asyncio.CancelledError)


async def test_creates_of_many_callers_at_once_are_all_stored(alice: Person, eve: Person) -> None:
    calls = [NewTask(owner_id=owner.id, tool="sum") for owner in (alice, eve) for _ in range(20)]

    made = await asyncio.gather(*(lanes.create(new) for new in calls))

    assert all(each.is_new for each in made)
    assert [each.task.owner_id for each in made] == [new.owner_id for new in calls]
    stored = await in_thread(lambda: set(Task.objects.values_list("id", flat=True)))
    assert stored == {each.task.id for each in made}
    assert len(stored) == len(calls)
