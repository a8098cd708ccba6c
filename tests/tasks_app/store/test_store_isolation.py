"""Owners never meet: whatever their names look like, on every function that takes an owner."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from uuid import UUID

import pytest

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, OwnerKind
from tasks_app.domain.questions import Via
from tasks_app.store import queries
from tests.conftest import Person
from tests.tasks_app.store.life import ACCEPT, asking, completed, created, key, look, sql

pytestmark = pytest.mark.django_db

NAMES = ("a", "a:b", "a|b", "a%3Ab")
HOUR = timedelta(hours=1)

SURFACES: dict[str, Callable[[UUID, Person], object]] = {
    "get": lambda task_id, who: queries.get(task_id, owner_id=who.id),
    "result": lambda task_id, who: queries.result(task_id, owner_id=who.id),
    "cancel": lambda task_id, who: store.cancel(task_id, owner_id=who.id, by=who.acts()),
    "answer": lambda task_id, who: store.answer(
        task_id, {key(task_id): ACCEPT}, owner_id=who.id, by=who.acts(), via=Via.MCP
    ),
    "extend": lambda task_id, who: store.extend(task_id, more=HOUR, owner_id=who.id, by=who.acts()),
    "hold": lambda task_id, who: store.hold(task_id, held=True, owner_id=who.id, by=who.acts()),
    "handed over": lambda task_id, who: store.handed_over(task_id, number=1, owner_id=who.id),
}


@pytest.fixture
def people(db: None) -> dict[str, Person]:
    """Four owners whose names would meet if anything joined, split or decoded them."""
    return {name: Person(store.find_or_make_owner(OwnerKind.USER, subject=name), name) for name in NAMES}


def everything() -> list[list[tuple[object, ...]]]:
    """All rows that a stranger could have changed."""
    return [
        sql(f"SELECT t.*::text FROM tasks_{table} t ORDER BY 1") for table in ("task", "question", "attempt", "event")
    ]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("owner", "stranger"), list(permutations(NAMES, 2)))
def test_strangers_task_is_not_found(people: dict[str, Person], owner: str, stranger: str, surface: str) -> None:
    """check 60, check 99, check 104: the same words as for a task that never was, and nothing changes."""
    task_id = asking(people[owner])
    before = everything()

    with pytest.raises(NotFound) as refused:
        SURFACES[surface](task_id, people[stranger])

    assert everything() == before
    assert refused.value.args == NotFound().args


@pytest.mark.parametrize("surface", [surface for surface in SURFACES if surface != "result"])
@pytest.mark.parametrize("owner", NAMES)
def test_own_task_is_found(people: dict[str, Person], owner: str, surface: str) -> None:
    """check 104: the other side of it."""
    SURFACES[surface](asking(people[owner]), people[owner])


def test_pages_polls_and_counts_hold_only_ones_own(people: dict[str, Person]) -> None:
    """check 62, check 104."""
    tasks = {name: completed(person) for name, person in people.items()}

    for name, person in people.items():
        token, _ = store.create_token(person.id, name="t", by=Actor.system(via="test"))
        polls = {other: queries.poll(token, task_id) for other, task_id in tasks.items()}

        assert [task.id for task in queries.page(owner_id=person.id, limit=10).tasks] == [tasks[name]]
        assert store.counts(person.id) == {"completed": 1}
        assert {other for other, poll in polls.items() if poll and poll.task} == {name}


def test_keys_of_different_owners_never_meet(people: dict[str, Person]) -> None:
    """check 104."""
    tasks = {created(person, key="same", arguments={"who": name}).id for name, person in people.items()}

    assert len(tasks) == len(NAMES)


def test_owner_named_in_the_arguments_is_ignored(people: dict[str, Person]) -> None:
    """check 102."""
    other = people["a:b"]

    task = created(people["a"], arguments={"owner": other.id, "owner_id": other.id, "_meta": {"owner": "a:b"}})

    assert look(task.id).owner_id == people["a"].id
    assert queries.page(owner_id=other.id, limit=10).tasks == ()


def test_anonymous_callers_and_a_user_do_not_see_each_other(people: dict[str, Person]) -> None:
    """check 105, check 106."""
    local = Person(store.local_owner(), "local")
    theirs, users = created(local).id, created(people["a"]).id

    for task_id, stranger in ((theirs, people["a"]), (users, local)):
        with pytest.raises(NotFound):
            queries.get(task_id, owner_id=stranger.id)
