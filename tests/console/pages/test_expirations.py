"""What an auditor of expirations asks, and where the page answers it (the questions stand in the names)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.policy import Rule
from tasks_app.store import expirations, policy
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, ask, create, finish

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
XSS = "<img src=x onerror=alert(1)>'\"`{{7*7}}\u202e"
EXPIRED = "/expirations/expired/"
POLICY = Actor.system(via="policy", reason="a test")


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def bo(db: None) -> Someone:
    """An operator."""
    return Someone("bo", "operator")


@pytest.fixture
def una(db: None) -> Someone:
    """An auditor."""
    return Someone("una", "auditor")


@pytest.fixture
def adam(db: None) -> Someone:
    """An admin."""
    return Someone("adam", "admin")


def short_lived(owner: Someone, tool: str = "crawl", **values: Any) -> store.Snapshot:
    return store.create(store.NewTask(owner_id=owner.owner_id, tool=tool, ttl_ms=60_000, **values)).task


def expire_all(clock: DatabaseClock, after: timedelta = 9 * DAY) -> None:
    clock.advance(after)
    while store.expire():
        pass


def operates(someone: Someone, reason: str) -> Actor:
    return Actor(ActorKind.OPERATOR, id=someone.owner_id, role="operator", via="console", reason=reason)


def test_what_expired_and_in_what_state(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    waiting = ask(ana)
    finish(ana, "report")
    working = short_lived(ana)
    expire_all(clock)

    page = una.page(EXPIRED)

    for number, label in ((3, "expired"), (1, "while working"), (1, "waiting on a person"), (1, "already finished")):
        assert f"<b>{number}</b>{label}</a>" in page
    assert {str(each.id) in page for each in (working, waiting)} == {True}
    assert "Input required" in page
    assert "Never answered" in page
    assert "Stopped at expiry" in page


def test_when_exactly_and_was_the_reaper_late(ana: Someone, clock: DatabaseClock) -> None:
    clock.advance(timedelta(0))
    task = short_lived(ana)
    expire_all(clock, timedelta(seconds=60, milliseconds=118))

    page = ana.page(f"{EXPIRED}?open={task.id}")

    assert "118 ms late" in page
    assert f"{task.expires_at:%-d %b %Y, %H:%M:%S} UTC" in page


def test_which_ttl_applied_who_set_it_and_did_it_change(ana: Someone, bo: Someone, clock: DatabaseClock) -> None:
    task = short_lived(ana)
    store.extend(task.id, more=timedelta(minutes=15), owner_id=None, by=operates(bo, "waiting for ana"))
    expire_all(clock)

    page = ana.page(f"{EXPIRED}?open={task.id}")

    assert "16 min from 1 min" in page
    assert "1 min by client or tool" in page
    assert "+15 min by bo for ana" in page
    assert "“waiting for ana”" in page
    assert "1\N{MULTIPLICATION SIGN} by bo" in page
    assert "policy" not in page.split("TTL history")[1].split("</dd>")[0]


def test_was_the_result_ever_fetched_and_by_which_token(ana: Someone, clock: DatabaseClock) -> None:
    _, credential = store.create_token(ana.owner_id, name="laptop", by=Actor.system(via="test"))
    read, unread = finish(ana, "read"), finish(ana, "unread")
    assert store.record_fetch(read.id, credential_id=credential)
    expire_all(clock)

    opened = ana.page(f"{EXPIRED}?open={read.id}")
    narrowed = ana.page(f"{EXPIRED}?kind=unfetched")

    assert "by token “laptop”" in opened
    assert "Fetched once" in opened
    assert f"task-{unread.id}" in narrowed
    assert f"task-{read.id}" not in narrowed
    assert "Never fetched" in narrowed


def test_was_a_human_asked_and_did_they_miss_it(ana: Someone, clock: DatabaseClock) -> None:
    task = ask(ana)
    expire_all(clock, 8 * DAY)

    page = ana.page(f"{EXPIRED}?kind=waiting&open={task.id}")

    assert "go, open for 8 d 0 h" in page


def test_who_cancelled_and_why(ana: Someone, bo: Someone, clock: DatabaseClock) -> None:
    task = create(ana)
    store.cancel(task.id, owner_id=None, by=operates(bo, "wrong host"))
    expire_all(clock)

    page = ana.page(f"{EXPIRED}?open={task.id}")

    assert "by bo for ana" in page
    assert "“wrong host”" in page
    assert "No result" in page


def test_what_was_removed_and_what_remains(ana: Someone, clock: DatabaseClock) -> None:
    gone, kept = finish(ana, "gone"), create(ana, "kept")
    expire_all(clock, 2 * HOUR)
    held = Actor(ActorKind.ADMIN, id=ana.owner_id, role="admin", via="console", reason="court")
    store.hold_expired(kept.id, held=True, by=held)
    clock.advance(8 * DAY)
    assert store.purge() == 1

    page = ana.page(f"/expirations/purged/?open={gone.id}")
    expired = ana.page(f"{EXPIRED}?range=all")

    assert f"task-{gone.id}" in page
    assert f"task-{kept.id}" not in page
    assert len(page.split("<dt>SHA-256")[1].split('<code class="wrap">')[1].split("<")[0]) == 64
    assert "On hold" in expired
    assert "Purged" in expired


def test_policy_in_force_then_is_named_in_the_record(ana: Someone, clock: DatabaseClock) -> None:
    task = short_lived(ana)
    expire_all(clock)

    assert "version 0" in ana.page(f"{EXPIRED}?open={task.id}").split("<dt>Policy</dt>")[1]


def test_largest_owner_of_what_nobody_fetched_stands_first(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    cy = Someone("cy")
    for _ in range(3):
        finish(cy, "report")
    finish(ana, "report")
    expire_all(clock)

    page = una.page(f"{EXPIRED}?kind=unfetched&range=7d")

    facets = page.split("Most by owner")[1].split("</p>")[0]
    assert facets.index("cy <b>3</b>") < facets.index("ana <b>1</b>")


def test_filter_by_owner_tool_and_dates(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    cy = Someone("cy")
    mine, other, theirs = short_lived(ana, "crawl"), short_lived(ana, "sync"), short_lived(cy, "crawl")
    expire_all(clock, HOUR)
    day = clock.now().date()

    def shown(query: str) -> set[str]:
        page = una.page(f"{EXPIRED}?{query}")
        return {str(each.id) for each in (mine, other, theirs) if f"task-{each.id}" in page}

    assert shown("owner=ana") == {str(mine.id), str(other.id)}
    assert shown("owner=ana&tool=crawl") == {str(mine.id)}
    assert len(shown(f"from={day}&to={day}")) == 3
    assert shown(f"from={day + DAY}") == set()
    assert "There is no owner “nobody”." in una.page(f"{EXPIRED}?owner=nobody")


def test_owner_sees_own_records_only(ana: Someone, clock: DatabaseClock) -> None:
    """check 92: what expired looks as if it never was to clients, but can be audited by its owner."""
    eddy = Someone("eddy")
    task = short_lived(ana)
    expire_all(clock)

    assert f"task-{task.id}" in ana.page(EXPIRED)
    for address in (EXPIRED, f"{EXPIRED}?scope=all", f"{EXPIRED}?owner=ana&scope=all"):
        assert str(task.id) not in eddy.page(address)
    assert eddy.browser.get(f"/tasks/{task.id}/").status_code == 404


def test_empty_page_names_the_oldest_pending_expiry(ana: Someone) -> None:
    task = create(ana)

    page = ana.page(EXPIRED)

    assert "Nothing expired in this range" in page
    assert f"{task.expires_at:%Y-%m-%dT%H:%M:%SZ}" in page.split("Oldest pending expiry")[1]


def test_pages_go_on_by_place_and_never_twice(ana: Someone, clock: DatabaseClock) -> None:
    for _ in range(60):
        short_lived(ana)
    expire_all(clock)

    first = ana.page(EXPIRED)
    older = first.split('data-key="]"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    second = ana.page(EXPIRED + older)

    ids = [{part.split('"')[0] for part in page.split('<tr id="task-')[1:]} for page in (first, second)]
    assert (len(ids[0]), len(ids[1]), ids[0] & ids[1]) == (50, 10, set())


def test_number_of_statements_does_not_grow_with_the_rows(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            una.page(EXPIRED)
        return len(captured)

    short_lived(ana)
    expire_all(clock)
    una.page(EXPIRED)
    few = statements()
    for _ in range(20):
        short_lived(ana)
    expire_all(clock)

    assert statements() == few


def test_upcoming_counts_down_and_can_be_extended(ana: Someone) -> None:
    later, soon = create(ana), short_lived(ana)

    page = ana.page("/expirations/")

    assert page.index(str(soon.id)) < page.index(str(later.id))
    assert 'class="exp now"' in page or 'class="exp near"' in page
    answer = ana.browser.post(
        f"/tasks/{soon.id}/extend/", {"by": "1h", "reason": "still needed", "then": "expirations"}, follow=True
    )
    assert answer.redirect_chain == [("/expirations/", 302)]
    assert "The task is kept for longer." in answer.content.decode()


def test_hostile_words_are_text_everywhere(ana: Someone, una: Someone, bo: Someone, clock: DatabaseClock) -> None:
    task = short_lived(ana, XSS, client=XSS)
    store.extend(task.id, more=HOUR, owner_id=None, by=operates(bo, XSS))
    store.cancel(task.id, owner_id=None, by=operates(bo, XSS))
    expire_all(clock, HOUR * 3)

    for address in (
        f"{EXPIRED}?open={task.id}",
        f"/tasks/{task.id}/",
        f"/audit/?task={task.id}",
        f"{EXPIRED}?owner={XSS}&tool={XSS}",
    ):
        page = una.page(address)
        assert "<img" not in page
        assert "&lt;img src=x" in page


def test_page_of_a_purged_task_opens_from_its_record(ana: Someone, clock: DatabaseClock) -> None:
    task = finish(ana, "report")
    expire_all(clock, 2 * HOUR)
    before = ana.page(f"/tasks/{task.id}/")
    clock.advance(8 * DAY)
    assert store.purge() == 1

    after = ana.page(f"/tasks/{task.id}/")

    assert "This task expired on" in before
    assert "is purged on" in before
    assert "Payload purged" in after
    assert "under policy version 0" in after
    for word in ("Created", "Working", "Expired", "Purged", "Never fetched", "report"):
        assert word in after


def test_hold_needs_an_admin_and_a_reason_and_stops_the_purge(
    ana: Someone, adam: Someone, clock: DatabaseClock
) -> None:
    task = finish(ana, "report")
    expire_all(clock, 2 * HOUR)

    assert ana.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": "mine"}).status_code == 403
    adam.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": " "})
    assert store.purge() == 0
    adam.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": "case 7"})
    clock.advance(9 * DAY)

    assert store.purge() == 0
    assert "Legal hold" in ana.page(f"/tasks/{task.id}/")
    adam.browser.post(f"/tasks/{task.id}/hold/", {"held": "0", "reason": "case closed"})
    assert store.purge() == 1


def test_hold_does_not_bring_back_what_is_past_its_time(ana: Someone, adam: Someone, clock: DatabaseClock) -> None:
    task = short_lived(ana)
    clock.advance(HOUR)

    assert adam.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": "late"}).status_code == 404
    assert store.expire() == 1


def test_navigation_leads_to_expirations(ana: Someone) -> None:
    page = ana.page("/tasks/")

    assert 'href="/expirations/"' in page
    assert "<kbd>g</kbd><kbd>x</kbd>" in page


def test_days_of_the_filter_are_those_that_the_rows_show(ana: Someone, clock: DatabaseClock) -> None:
    clock.set(datetime(2026, 1, 15, 19, 0, tzinfo=UTC))
    task = short_lived(ana)
    expire_all(clock, HOUR)
    ana.browser.post("/account/zone/", {"time_zone": "Asia/Tokyo"})

    page = ana.page(f"{EXPIRED}?from=2026-01-16&to=2026-01-16")

    assert str(task.id) in page
    assert 'title="2026-01-15T20:00:00Z">16 Jan 05:00</time>' in page
    assert str(task.id) not in ana.page(f"{EXPIRED}?from=2026-01-15&to=2026-01-15")


def test_numbers_of_a_part_are_marked_as_such(
    ana: Someone, una: Someone, clock: DatabaseClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More were found than are counted: what is said of them holds for at least so many."""
    for _ in range(3):
        finish(ana, "report")
    expire_all(clock)
    exact = una.page(EXPIRED)
    monkeypatch.setattr(expirations, "MOST_COUNTED", 2)

    capped = una.page(EXPIRED)

    assert "<b>3</b>already finished" in exact
    assert "<b>0</b>while working" in exact
    assert "ana <b>3</b>" in exact
    assert "<b>2+</b>already finished" in capped
    assert "<b>0+</b>while working" in capped
    assert "ana <b>2+</b>" in capped


def test_tool_whose_tasks_are_all_purged_can_still_be_chosen(ana: Someone, una: Someone, clock: DatabaseClock) -> None:
    for tool in ("crawl", "report", "report"):
        finish(ana, tool)
    expire_all(clock)
    clock.advance(9 * DAY)
    assert store.purge() == 3

    for who in (ana, una):
        page = who.page("/expirations/purged/?range=all&tool=report")
        assert "<option>crawl</option>" in page
        assert "<option selected>report</option>" in page
    assert "<option selected>gone</option>" in ana.page("/expirations/?tool=gone")


def test_what_was_cancelled_left_nothing_that_could_have_been_fetched(ana: Someone, clock: DatabaseClock) -> None:
    task = create(ana)
    store.cancel(task.id, owner_id=None, by=Actor(ActorKind.OWNER, id=ana.owner_id, via="console"))
    unread = finish(ana, "unread")
    expire_all(clock)

    page = ana.page(f"{EXPIRED}?kind=unfetched")

    assert "<b>1</b>never fetched" in page
    assert str(unread.id) in page
    assert str(task.id) not in page
    assert "No result" in ana.page(EXPIRED)


def test_page_of_a_record_knows_a_hold_by_policy_and_the_version_that_decides(
    ana: Someone, clock: DatabaseClock
) -> None:
    task = finish(ana, "report")
    expire_all(clock, 2 * HOUR)
    policy.save([Rule(tool="report", purge_after=20 * 86_400)], base=0, by=POLICY)
    longer = ana.page(f"/tasks/{task.id}/")
    policy.save([Rule(tool="report", hold=True)], base=1, by=POLICY)
    held = ana.page(f"/tasks/{task.id}/")
    policy.save([Rule(tool="report", purge_after=60)], base=2, by=POLICY)
    clock.advance(HOUR)
    assert store.purge() == 1
    clock.advance(HOUR)
    policy.save([Rule(tool="other", purge_after=60)], base=3, by=POLICY)

    assert "by policy version 1." in longer
    assert "Legal hold by policy" in held
    assert "a legal hold keeps it" in held
    assert "under policy version 3." in ana.page(f"/tasks/{task.id}/")


def test_digest_says_what_it_covers(ana: Someone, clock: DatabaseClock) -> None:
    task = short_lived(ana)
    expire_all(clock, HOUR)

    assert "of all of it but the output" in ana.page(f"{EXPIRED}?open={task.id}")
