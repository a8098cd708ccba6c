"""How somebody likes the list: columns, density, order, saved views, and the facets that change a search."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console import preference_store
from console import store as own
from console.models import Preference, SavedView
from tasks_app import store
from tasks_app.domain.identity import Actor
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, create, finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


def save(someone: Someone, **values: str) -> str:
    given = {"name": "Mine", "q": "status:failed", **values}
    return someone.browser.post("/tasks/views/", given, follow=True).content.decode()


def test_density_is_remembered_for_the_person(ana: Someone, opal: Someone) -> None:
    create(ana)
    create(opal)

    response = ana.browser.post("/tasks/density/", {"density": "compact", "back": "/tasks/?q=x"})

    assert response["Location"] == "/tasks/?q=x"
    assert 'data-density="compact"' in ana.page("/tasks/")
    assert 'data-density="comfortable"' in opal.page("/tasks/")


def test_density_that_there_is_not_is_refused(ana: Someone) -> None:
    assert ana.browser.post("/tasks/density/", {"density": "huge"}).status_code == 400
    assert not Preference.objects.exists()


def test_columns_are_chosen_in_any_order_and_shown_in_ours(ana: Someone) -> None:
    task = create(ana)

    ana.browser.post("/tasks/columns/", {"column": ["attempts", "owner", "nonsense"]})

    for page in (ana.page("/tasks/"), ana.page(f"/tasks/rows/?ids={task.id}")):
        assert page.index("c-owner") < page.index("c-try")
        assert "c-age" not in page
        assert "c-exp" not in page
    assert own.preference_of(ana.user).columns == ["owner", "attempts"]


def test_all_columns_can_be_left_out(ana: Someone) -> None:
    create(ana)

    ana.browser.post("/tasks/columns/", {})

    page = ana.page("/tasks/")
    assert "c-owner" not in page
    assert "c-status" in page


def test_single_keys_are_switched_off_for_the_person(ana: Someone) -> None:
    assert 'data-single-keys="on"' in ana.page("/tasks/")

    assert ana.browser.post("/account/keys/", {}).status_code == 204

    assert 'data-single-keys="off"' in ana.page("/inbox/")
    ana.browser.post("/account/keys/", {"single_keys": "on"})
    assert 'data-single-keys="on"' in ana.page("/tasks/")


def test_list_is_sorted_by_what_expires_next_when_asked(ana: Someone) -> None:
    late, soon = create(ana), create(ana)
    ana.browser.post(f"/tasks/{soon.id}/extend/", {"by": "1d"})
    ana.browser.post(f"/tasks/{late.id}/extend/", {"by": "7d"})

    newest, next_to_expire = ana.page("/tasks/"), ana.page("/tasks/?sort=expires")

    assert 'aria-sort="descending"' in newest
    assert 'aria-sort="ascending"' in next_to_expire
    assert next_to_expire.index(f"task-{soon.id}") < next_to_expire.index(f"task-{late.id}")


def test_saved_view_stands_in_the_rail_with_its_order(ana: Someone) -> None:
    create(ana)

    page = save(ana, name="Soon dead", q="status:working", sort="expires")

    assert "Saved as “Soon dead”" in page
    assert 'href="?q=status%3Aworking&amp;sort=expires"' in page


def test_saved_view_names_the_list_that_it_shows(ana: Someone) -> None:
    create(ana)
    save(ana, name="Only deploys", q="tool:deploy")

    assert ana.browser.get("/tasks/", {"q": "tool:deploy"}).context["title"] == "Only deploys"


def test_view_of_the_same_name_is_replaced(ana: Someone) -> None:
    save(ana, q="status:failed")
    save(ana, q="status:working")

    assert [view.query for view in SavedView.objects.all()] == ["status:working"]


def test_personal_view_is_nobody_elses(ana: Someone, opal: Someone) -> None:
    create(opal)
    save(ana, name="Secret")
    view = SavedView.objects.get()

    assert "Secret" not in opal.page("/tasks/")
    assert opal.browser.post(f"/tasks/views/{view.pk}/delete/").status_code == 404
    assert SavedView.objects.exists()


def test_operator_shares_a_view_and_an_owner_cannot(ana: Someone, opal: Someone) -> None:
    create(ana)

    save(opal, name="Nightly", shared="on")
    save(ana, name="For all", shared="on")

    assert "Nightly" in ana.page("/tasks/")
    assert SavedView.objects.get(name="For all").shared is False


def test_shared_name_is_taken_once(opal: Someone) -> None:
    save(Someone("oz", "operator"), name="Nightly", shared="on")

    page = save(opal, name="Nightly", shared="on")

    assert "There is a shared view “Nightly” already" in page
    assert SavedView.objects.count() == 1


def test_owner_deletes_their_own_view_but_not_a_shared_one(ana: Someone, opal: Someone) -> None:
    save(opal, name="Nightly", shared="on")
    save(ana, name="Mine")
    shared, mine = SavedView.objects.get(shared=True), SavedView.objects.get(shared=False)

    assert ana.browser.post(f"/tasks/views/{shared.pk}/delete/").status_code == 404
    assert ana.browser.post(f"/tasks/views/{mine.pk}/delete/").status_code == 302
    assert list(SavedView.objects.all()) == [shared]


@pytest.mark.parametrize("name", ["", "   "])
def test_view_needs_a_name(ana: Someone, name: str) -> None:
    assert "Give the view a name" in save(ana, name=name)


def test_there_is_an_end_to_how_many_views_somebody_has(ana: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preference_store, "MOST_VIEWS", 1)
    save(ana, name="One")

    assert "Delete one first" in save(ana, name="Two")
    assert "Saved as “One”" in save(ana, name="One")


def test_nothing_in_a_view_becomes_markup(ana: Someone) -> None:
    create(ana)

    page = save(ana, name="<img src=x>", q="<script>x</script>")

    assert "<img src=x" not in page
    assert "<script>x" not in page


def test_two_statuses_mean_either(ana: Someone) -> None:
    done = finish(ana, "quick")
    working = create(ana, "slow")

    first = ana.browser.get("/tasks/", {"q": "status:working tool:slow,quick"})
    url = next(each["url"] for each in first.context["statuses"] if each["chip"].word == "Completed")
    page = ana.page(f"/tasks/{url}")

    assert f"task-{working.id}" in page
    assert f"task-{done.id}" in page


def test_rail_counts_what_the_tally_knows(ana: Someone) -> None:
    finish(ana, "quick", how="failed")
    create(ana)

    views = {each["name"]: each["count"] for each in ana.browser.get("/tasks/").context["views"]}

    assert (views["Failed"], views["Active"], views["All"], views["Last 24 hours"]) == (1, 1, 2, None)


def test_more_saved_views_cost_no_more_statements(ana: Someone) -> None:
    create(ana)

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            ana.page("/tasks/")
        return len(captured)

    before = asked()
    for number in range(5):
        own.save_view(ana.user, name=str(number), query="tool:x", sort="created")

    assert asked() == before


def test_owners_stand_in_the_rail_of_those_who_look_at_everyone(ana: Someone, opal: Someone) -> None:
    create(ana)
    create(ana)
    create(opal)

    everyone = opal.browser.get("/tasks/", {"scope": "all"}).context["owners"]

    assert [(each["name"], each["count"]) for each in everyone] == [("ana", 2), ("opal", 1)]
    assert opal.browser.get("/tasks/", {"scope": "mine"}).context["owners"] == []
    assert ana.browser.get("/tasks/", {"scope": "all"}).context["owners"] == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("status:working,input_required", "All quiet"),
        ("status:input_required", "Nothing needs you"),
        ("status:failed tool:x", 'href="?q=status%3Afailed">Remove the last condition'),
    ],
)
def test_list_of_nothing_says_what_that_means(ana: Someone, query: str, words: str) -> None:
    finish(ana, "quick")

    assert words in ana.browser.get("/tasks/", {"q": query}).content.decode()


def test_mine_among_everyones_is_a_search(ana: Someone, opal: Someone) -> None:
    create(ana)
    own = create(opal)

    found = opal.browser.get("/tasks/", {"scope": "all", "q": "is:mine"}).context["rows"]

    assert [row.task.id for row in found] == [own.id]
    assert "is:mine" in opal.page("/tasks/suggestions/?q=is:mi")


def test_empty_list_says_when_something_last_happened_and_offers_a_week(ana: Someone, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    task = create(ana)
    store.cancel(task.id, owner_id=ana.owner_id, by=Actor.system(via="test"))
    clock.advance(timedelta(minutes=3))

    quiet = ana.page("/tasks/?q=status:working,input_required")
    none = ana.page("/tasks/?q=status:failed created:<1h")

    assert re.search(r"The last one finished ?<time [^>]*>3m</time> ?ago\.", quiet)
    assert '<a class="btn" href="?q=status%3Afailed+created%3A%3C7d">Widen to 7 days</a>' in none
