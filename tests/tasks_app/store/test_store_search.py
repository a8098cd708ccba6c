"""Finding tasks by what is known of them, page by page."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasks_app import store
from tasks_app.store.search import Filter, Flag, Place, Sort, Span, Term, find, id_range, owner_names, owners_named
from tests.conftest import DatabaseClock, Person

pytestmark = pytest.mark.django_db


def create(owner: Person, tool: str = "report", **arguments: object) -> store.Snapshot:
    return store.create(store.NewTask(owner_id=owner.id, tool=tool, arguments=arguments, client="acme/1.0")).task


def ids(filter_: Filter, owner: Person | None = None) -> set[str]:
    found = find(filter_, owner_id=None if owner is None else owner.id, limit=50)
    return {str(task.id) for task in found.tasks}


def test_find_sees_only_the_owners_tasks(alice: Person, eve: Person) -> None:
    mine = create(alice)
    create(eve)

    assert ids(Filter(), alice) == {str(mine.id)}
    assert len(ids(Filter())) == 2


def test_find_by_argument_tool_client_and_id(alice: Person) -> None:
    rome = create(alice, "crawl_site", city="Rome")
    create(alice, "crawlXsite", city="Oslo")

    for filter_ in (
        Filter(labels=(("city", Term(("Rome", "Bern"))),)),
        Filter(tools=(Term(("crawl_*",)),)),
        Filter(ids=(Term((str(rome.id)[:13],)),)),
        Filter(words=(str(rome.id)[:8],)),
        Filter(labels=(("city", Term(("Oslo",), negated=True)),), clients=(Term(("ACME",)),)),
    ):
        assert ids(filter_) == {str(rome.id)}, filter_


def test_find_by_status_and_flag(alice: Person) -> None:
    broken, running = create(alice), create(alice)
    claims = [store.claim_next(store.Claimant("w")) for _ in range(2)]
    held = {claim.task_id: claim for claim in claims if claim}
    store.complete(held[broken.id], result={"content": []}, is_error=True)
    store.cancel(running.id, owner_id=alice.id, by=alice.acts())

    assert ids(Filter(flags=(Term((Flag.TOOL_ERROR,)),))) == {str(broken.id)}
    assert ids(Filter(flags=(Term((Flag.STOPPING,)),))) == {str(running.id)}
    assert ids(Filter(statuses=(Term(("cancelled",)),))) == {str(running.id)}
    assert ids(Filter(statuses=(Term(("cancelled",), negated=True),))) == {str(broken.id)}
    assert len(ids(Filter(flags=(Term((Flag.UNFETCHED,)),)))) == 2


def test_find_leaves_expired_tasks_out_unless_asked(alice: Person, clock: DatabaseClock) -> None:
    task = create(alice)
    clock.advance(timedelta(hours=2))

    assert ids(Filter()) == set()
    assert ids(Filter(flags=(Term((Flag.EXPIRED,)),))) == {str(task.id)}
    clock.release()


def test_find_by_age(alice: Person, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    old = create(alice)
    clock.advance(timedelta(minutes=30))
    new = create(alice)

    assert ids(Filter(created=(Span(after=timedelta(minutes=-10)),))) == {str(new.id)}
    assert ids(Filter(expires=(Span(before=timedelta(minutes=40)),))) == {str(old.id)}
    clock.release()


@pytest.mark.parametrize("sort", list(Sort))
def test_pages_visit_each_task_once_in_order(alice: Person, sort: Sort) -> None:
    made = {create(alice).id for _ in range(7)}
    seen: list[store.Snapshot] = []
    place: Place | None = None

    while True:
        page = find(Filter(), owner_id=alice.id, sort=sort, after=place, limit=3)
        seen.extend(page.tasks)
        place = page.following
        if place is None:
            break
        create(alice) if sort is Sort.CREATED else None

    keys = [task.created_at if sort is Sort.CREATED else task.expires_at for task in seen]
    assert made <= {task.id for task in seen}
    assert len({task.id for task in seen}) == len(seen)
    assert keys == sorted(keys, reverse=sort is Sort.CREATED)


@pytest.mark.parametrize("prefix", ["", "xyz", "g", "0" * 33])
def test_no_id_begins_with_this(prefix: str) -> None:
    assert id_range(prefix) is None


def test_like_characters_in_a_word_are_taken_literally(alice: Person) -> None:
    create(alice, "deploy")

    assert ids(Filter(words=("d%y",))) == set()
    assert ids(Filter(tools=(Term(("d_ploy",)),))) == set()


def test_owners_have_names(alice: Person, django_user_model: type) -> None:
    account = django_user_model.objects.create_user("ana")  # type: ignore[attr-defined]
    ana = store.owner_of(account)

    assert owner_names([ana, alice.id]) == {ana: "ana", alice.id: "alice"}
    assert owners_named(["ana", "nobody"]) == {"ana": [ana], "nobody": []}
