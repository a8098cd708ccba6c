"""The fence: an attempt that no longer holds its task records nothing, whatever it tries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tasks_app import store
from tasks_app.domain.errors import LeaseLost
from tasks_app.store import Claim, queries
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.store.life import BROKEN, DONE, OTHER_WORKER, WORKER, again, ask, claimed, look, scalar, sql

pytestmark = pytest.mark.django_db

LEASE_OVER = timedelta(minutes=1)

WRITES: dict[str, Callable[[Claim], object]] = {
    "complete": lambda held: store.complete(held, result=DONE),
    "tool error": lambda held: store.complete(held, result=DONE, is_error=True),
    "fail": lambda held: store.fail(held, error=BROKEN),
    "retry": lambda held: store.retry(held, delay=0),
    "release": store.release,
    "suspend": lambda held: store.suspend(held, [ask()]),
    "step": lambda held: store.save_step(held, name="s", position=0, value=1),
    "output": lambda held: store.write_output(held, "line"),
    "progress": lambda held: store.set_progress(held, done=1, total=2),
    "message": lambda held: store.set_message(held, "late"),
    "variables": lambda held: store.set_variables(held, {"a": 1}),
}


def everything() -> list[list[tuple[object, ...]]]:
    """All rows that an attempt could have changed."""
    tables = ("task", "attempt", "question", "step", "output", "event", "tally")
    return [sql(f"SELECT t.*::text FROM tasks_{table} t ORDER BY 1") for table in tables]


def lose_by_reap(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The lease ran out, and another worker has the task."""
    clock.advance(LEASE_OVER)
    assert store.reap() == 1
    assert again(OTHER_WORKER).task_id == claim.task_id


def lose_by_reap_alone(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The lease ran out, and nobody has the task yet."""
    clock.advance(LEASE_OVER)
    assert store.reap() == 1


def lose_by_cancel(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The task was cancelled."""
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())


def lose_by_expiry(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The task's time is over, and the loop has seen it."""
    clock.advance(timedelta(hours=1))
    assert store.expire() == 1


def lose_by_time(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The task's time is over, and nobody has seen it."""
    clock.advance(timedelta(hours=1))


def lose_by_completing(claim: Claim, alice: Person, clock: DatabaseClock) -> None:
    """The attempt has recorded its result already."""
    store.complete(claim, result=DONE)


LOSSES = [lose_by_reap, lose_by_reap_alone, lose_by_cancel, lose_by_expiry, lose_by_time, lose_by_completing]


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("name", WRITES)
def test_attempt_that_lost_its_task_records_nothing(
    alice: Person, clock: DatabaseClock, lose: Callable[[Claim, Person, DatabaseClock], None], name: str
) -> None:
    claim = claimed(alice)
    lose(claim, alice, clock)
    before = everything()

    with pytest.raises(LeaseLost):
        WRITES[name](claim)

    assert everything() == before
    assert store.holds(claim) is False


@pytest.mark.parametrize(
    "ending",
    [
        lambda held: store.completion(held, result=DONE),
        lambda held: store.suspension(held, [ask()]),
        lambda held: store.retrying(held, delay=0),
        store.releasing,
    ],
)
def test_turn_of_a_zombie_settles_nothing(
    alice: Person, clock: DatabaseClock, ending: Callable[[Claim], store.Ending]
) -> None:
    claim = claimed(alice)
    lose_by_reap(claim, alice, clock)
    before = everything()

    turn = store.turn(ending(claim), WORKER)

    assert (turn.settled, turn.following) == (None, None)
    assert everything() == before


def test_attempt_that_holds_its_task_may_write_everything(alice: Person) -> None:
    """The other side: none of these writes is refused for another reason."""
    for write in WRITES.values():
        claim = claimed(alice)
        assert store.holds(claim) is True
        write(claim)
        store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
        store.stopped(claim)


def test_token_of_an_earlier_attempt_is_as_worthless_as_none(alice: Person) -> None:
    first = claimed(alice)
    store.release(first)
    second = again(WORKER)

    with pytest.raises(LeaseLost):
        store.complete(first, result={"from": "first"})
    store.complete(second, result={"from": "second"})

    assert queries.result(first.task_id, owner_id=alice.id) == {"from": "second"}
    assert look(first.task_id).attempt == 2
    assert scalar("SELECT count(*) FROM tasks_attempt WHERE outcome = 'completed'") == 1
