"""Every pair of verbs on one task, truly at once: the outcome is that of one of the two orders, whoever was first.

The first is stopped before its commit. The second is seen in `pg_stat_activity` to wait for its lock or, where it waits
for nobody by design, to return at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import pytest

from tasks_app import store
from tasks_app.domain.identity import OwnerKind
from tests.properties.observing import release_clock, set_clock, violated
from tests.properties.scenes import LEASE_LAPSED, TTL, VERBS, Scene, prepared, projection, running, waiting
from tests.racing import race, said

pytestmark = pytest.mark.timeout(300)

Build: TypeAlias = Callable[[int], Scene]
Moves: TypeAlias = list[tuple[str, int]]

# What each verb locks where it has something to do; the verbs of the loop pass over a task that another holds.
LOCKS = {
    "answer": {"task"}, "cancel": {"task", "attempt"}, "complete": {"task", "attempt"}, "expire": {"task", "attempt"},
    "reap": {"task", "attempt"}, "heartbeat": {"attempt"}, "extend": {"task"}, "step": {"task"}, "output": {"task"},
}  # fmt: skip
PASSES_OVER = {"expire", "reap"}

ON_RUNNING = ["answer", "cancel", "complete", "heartbeat", "extend", "step", "output"]
ON_WAITING = ["answer", "cancel", "extend"]
OF_WORKERS = ["complete", "heartbeat", "step", "output"]


def _squared(verbs: list[str]) -> list[tuple[str, str]]:
    return [(first, second) for first in verbs for second in verbs]


def _both_ways(verb: str, others: list[str]) -> list[tuple[str, str]]:
    return [(verb, verb), *((verb, other) for other in others), *((other, verb) for other in others)]


def _blocks(first: str, second: str) -> bool:
    if second in PASSES_OVER and "task" in LOCKS[first]:
        return False
    return bool(LOCKS[first] & LOCKS[second])


@pytest.fixture
def owner(transactional_db: None) -> Iterator[int]:
    """Alice; the clock is real again at the end."""
    yield store.find_or_make_owner(OwnerKind.USER, subject="alice")
    release_clock()


def _in_order(build: Build, owner: int, moves: Moves) -> tuple[list[object], object]:
    """What these verbs say one after the other on a fresh task, each at its moment, and what they leave."""
    scene = prepared(build, owner, at=0)
    told = []
    for verb, at in moves:
        set_clock(at)
        told.append(said(partial(VERBS[verb], scene)))
    return told, projection()


def _orders(build: Build, owner: int, first: tuple[str, int], second: tuple[str, int]) -> list[tuple[object, ...]]:
    """Every outcome that is right: one order or the other, or the first alone where the second passes over."""
    told, left = _in_order(build, owner, [first, second])
    orders: list[tuple[object, ...]] = [(*told, left)]
    if first[1] == second[1]:
        told, left = _in_order(build, owner, [second, first])
        orders.append((*told[::-1], left))
    if second[0] in PASSES_OVER:
        told, left = _in_order(build, owner, [first])
        orders.append((*told, 0, left))
    return orders


def _assert_some_order(
    build: Build, owner: int, first: tuple[str, int], second: tuple[str, int], *, blocks: bool
) -> None:
    orders = _orders(build, owner, first, second)
    scene = prepared(build, owner, at=second[1])
    verbs = [partial(VERBS[name], scene) for name, _ in (first, second)]

    told = race(*verbs, at=first[1], then=second[1], blocks=blocks)

    assert (*told, projection()) in orders
    assert violated() == []


@pytest.mark.parametrize(("first", "second"), _squared(ON_RUNNING))
def test_pair_on_a_running_task_equals_some_order(owner: int, first: str, second: str) -> None:
    """Each waits for the row that the other holds; a heartbeat and a write share none."""
    _assert_some_order(running, owner, (first, 0), (second, 0), blocks=_blocks(first, second))


@pytest.mark.parametrize(("first", "second"), _both_ways("reap", ON_RUNNING))
def test_pair_with_the_reaper_equals_some_order_when_the_lease_ran_out(owner: int, first: str, second: str) -> None:
    """The reaper passes over a task that another holds, but waits for the heartbeat of the attempt."""
    at = LEASE_LAPSED
    _assert_some_order(running, owner, (first, at), (second, at), blocks=_blocks(first, second))


@pytest.mark.parametrize(("first", "second"), _squared(ON_WAITING))
def test_pair_on_a_waiting_task_equals_some_order(owner: int, first: str, second: str) -> None:
    """Two answers too: the second is told that it was."""
    _assert_some_order(waiting, owner, (first, 0), (second, 0), blocks=True)


@pytest.mark.parametrize("other", ON_WAITING)
@pytest.mark.parametrize("zombie", OF_WORKERS)
def test_old_token_waits_for_nobody_on_a_waiting_task(owner: int, zombie: str, other: str) -> None:
    """It matches no row, so there is nothing to wait for, in either order."""
    _assert_some_order(waiting, owner, (zombie, 0), (other, 0), blocks=False)
    _assert_some_order(waiting, owner, (other, 0), (zombie, 0), blocks=False)


@pytest.mark.parametrize(
    ("build", "verb"), [*((running, verb) for verb in ON_RUNNING), *((waiting, verb) for verb in ON_WAITING)]
)
def test_expiry_passes_over_what_was_begun_just_in_time(owner: int, build: Build, verb: str) -> None:
    """A verb begins a millisecond before the end and commits after it: its word stands, and the next sweep comes."""
    just_in_time = (verb, TTL - 1)

    _assert_some_order(build, owner, just_in_time, ("expire", TTL), blocks=verb == "heartbeat")

    store.expire()
    left = projection()
    told, in_order = _in_order(build, owner, [just_in_time, ("expire", TTL)])
    assert left == in_order
    assert told[1] in {0, 1}


@pytest.mark.parametrize(("first", "second"), _both_ways("expire", [*ON_RUNNING, "reap"]))
def test_pair_with_expiry_equals_some_order_when_the_time_is_over(owner: int, first: str, second: str) -> None:
    """Past its time nothing but expiry touches the task, so nobody waits; only the heartbeat knows no task."""
    blocks = "heartbeat" in {first, second}
    _assert_some_order(running, owner, (first, TTL), (second, TTL), blocks=blocks)


@pytest.mark.parametrize(("first", "second"), _both_ways("expire", ON_WAITING))
def test_pair_with_expiry_of_a_waiting_task_equals_some_order(owner: int, first: str, second: str) -> None:
    """Its question is withdrawn once, and no answer comes in any more."""
    _assert_some_order(waiting, owner, (first, TTL), (second, TTL), blocks=False)
