"""The overview: numbers that agree with the lists that they lead to, for owners and for those who see everything."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.store import workers
from tests.conftest import DatabaseClock
from tests.console.pages.people import WORKER, Someone, ask, create, finish, fold

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


def tiles(page: str) -> dict[str, tuple[int, str]]:
    """What each tile says, and where it leads."""
    found = re.findall(
        r'<a id="tile-[\w]+" href="([^"]+)">.*?</svg>([\w ]+)</span><span class="big">([\d,]+)</span>', page
    )
    return {label: (int(count), unescape(url)) for url, label, count in found}


def one_of_everything(owner: Someone) -> None:
    finish(owner, "good")
    finish(owner, "good")
    finish(owner, "bad", how="failed")
    finish(owner, "moody", how="tool_error")
    ask(owner, "curious")
    create(owner, "busy")
    assert store.claim_next(WORKER) is not None
    fold()


def test_home_leads_operators_to_the_overview_and_owners_to_their_tasks(ana: Someone, opal: Someone) -> None:
    assert opal.browser.get("/")["Location"] == "/overview/"
    assert ana.browser.get("/")["Location"] == "/tasks/"


def test_every_number_equals_the_length_of_the_list_that_it_leads_to(ana: Someone) -> None:
    one_of_everything(ana)

    found = tiles(ana.page("/overview/"))

    assert {label: count for label, (count, _) in found.items()} == {
        "Working": 1,
        "Need input": 1,
        "Completed": 2,
        "Tool errors": 1,
        "Failed": 1,
        "Expired": 0,
    }
    for label, (count, url) in found.items():
        listed = set(re.findall(r'id="task-([0-9a-f-]+)"', ana.page(url)))
        assert len(listed) == count, label


def test_expired_tasks_are_counted_and_listed(ana: Someone, clock: DatabaseClock) -> None:
    finish(ana, "good")
    clock.advance(timedelta(days=2))
    store.expire()
    fold()

    count, url = tiles(ana.page("/overview/"))["Expired"]

    assert count == 1
    assert "is%3Aexpired" in url
    assert tiles(ana.page("/overview/"))["Completed"][0] == 0


def test_owner_sees_their_own_numbers_and_no_machinery(ana: Someone, opal: Someone) -> None:
    one_of_everything(opal)

    page = ana.page("/overview/?scope=all")

    assert {count for count, _ in tiles(page).values()} == {0}
    assert "Workers" not in page
    assert "curious" not in page


def test_operator_sees_everyone_unless_asked_for_mine(ana: Someone, opal: Someone) -> None:
    one_of_everything(ana)

    assert tiles(opal.page("/overview/"))["Completed"][0] == 2
    assert tiles(opal.page("/overview/?scope=mine"))["Completed"][0] == 0


def test_charts_count_what_moved_in_the_range(ana: Someone, clock: DatabaseClock) -> None:
    one_of_everything(ana)
    clock.advance(timedelta(hours=2))

    lately, today = ana.browser.get("/overview/?range=1h"), ana.browser.get("/overview/?range=24h")

    assert lately.context["sums"].created == 0
    assert today.context["sums"].created == 6
    assert today.context["sums"].completed == 2
    assert today.context["throughput"].paths["b-c"].startswith("M")
    assert lately.context["throughput"].paths["b-c"] == ""


def test_now_is_in_the_last_slot_of_every_range(ana: Someone) -> None:
    finish(ana, "good")
    fold()

    for key in ("1h", "24h", "7d"):
        context = ana.browser.get(f"/overview/?range={key}").context
        path = context["throughput"].paths["b-c"]
        left = float(path.removeprefix("M").partition(" ")[0])
        assert left == pytest.approx(480 * (1 - 1 / context["chosen"].slots), abs=0.01)


def test_by_tool_says_how_each_did(ana: Someone) -> None:
    one_of_everything(ana)

    lines = {line.name: line for line in ana.browser.get("/overview/").context["tools"]}

    assert (lines["good"].runs, lines["good"].success, lines["good"].is_poor) == (2, "100%", False)
    assert (lines["bad"].runs, lines["bad"].success, lines["bad"].is_poor) == (1, "0.0%", True)
    assert lines["moody"].success == "0.0%"
    assert (lines["curious"].runs, lines["curious"].waiting) == (0, 1)


def test_attention_names_questions_and_failures_and_leads_to_them(ana: Someone) -> None:
    one_of_everything(ana)

    items = ana.browser.get("/overview/").context["attention"]

    assert [item.title.split()[0] for item in items] == ["curious", "bad"]
    assert items[0].url.startswith("/inbox/")
    assert ana.browser.get(items[0].url).status_code == 200
    assert "tool%3Abad" in items[1].url


def test_attention_names_a_silent_worker_and_a_near_expiry(ana: Someone, clock: DatabaseClock) -> None:
    task = create(ana, "busy")
    claim = store.claim_next(store.Claimant("w1"))
    assert claim is not None
    clock.set(task.expires_at - timedelta(minutes=6))

    titles = [item.title for item in ana.browser.get("/overview/").context["attention"]]

    assert titles == ["1 working, silent for 5 min", "1 live task expires within 10 min"]


def test_waiting_on_people_is_measured(ana: Someone, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    ask(ana)
    clock.advance(timedelta(minutes=2))
    page = ana.page("/inbox/")
    [address] = set(re.findall(r'action="(/inbox/[^"]+/answer/)"', page))
    ana.browser.post(address, {"action": "accept"})
    fold()

    context = ana.browser.get("/overview/").context

    assert context["sums"].answered == 1
    assert context["median_wait"] == "≤3m"


def test_workers_are_shown_and_their_absence_is_said(opal: Someone) -> None:
    without = opal.page("/overview/")
    workers.beat("host:4711:abcd", slots=4, draining=False)

    with_one = opal.page("/overview/")

    assert "none is up, tasks wait" in without
    assert "host:4711<" in with_one
    assert "0 of 4" in with_one
    assert "none is up" not in with_one


def test_worker_that_went_without_a_word_stays_visible_for_a_while(opal: Someone, clock: DatabaseClock) -> None:
    workers.beat("host:4711:abcd", slots=4, draining=False)
    clock.advance(timedelta(minutes=4))
    workers.beat("host:4712:efgh", slots=4, draining=False)

    page = opal.page("/overview/")
    workers.leave("host:4711:abcd")

    assert "1 up" in page
    assert re.search(r'host:4711</b><span class="dim">last seen <time [^>]*>4m</time> ago', page)
    assert "host:4711" not in opal.page("/overview/")


def test_page_follows_the_numbers_by_the_socket_and_asks_for_nothing_by_itself(opal: Someone) -> None:
    page = opal.page("/overview/")

    assert 'data-watch="inbox stats"' in page
    assert "every 10s" not in page
    assert 'hx-get="/overview' not in page
    for region in ("updated", "tiles", "throughput", "durations", "tools", "attention", "workers", "waiting"):
        assert f'data-live="{region}"' in page


def test_hostile_tool_name_is_text(ana: Someone) -> None:
    finish(ana, "<script>alert(1)</script>", how="failed")
    fold()

    page = ana.page("/overview/")

    assert "<script>alert" not in page


def test_overview_asks_the_database_the_same_number_of_questions_for_many_tasks(opal: Someone, ana: Someone) -> None:
    one_of_everything(ana)
    with CaptureQueriesContext(connection) as few:
        opal.page("/overview/")
    for _ in range(5):
        one_of_everything(ana)

    with CaptureQueriesContext(connection) as many:
        opal.page("/overview/")

    assert len(many) == len(few)
    assert len(many) <= 16
