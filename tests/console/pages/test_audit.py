"""The audit log: who did what, to which task, when and why; and who may read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.models import Event
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, create

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def bo(db: None) -> Someone:
    return Someone("bo", "operator")


@pytest.fixture
def una(db: None) -> Someone:
    return Someone("una", "auditor")


def operates(someone: Someone, reason: str) -> Actor:
    return Actor(ActorKind.OPERATOR, id=someone.owner_id, role="operator", via="console", reason=reason)


def rows_of(page: str) -> list[str]:
    _, _, body = page.partition("<tbody>")
    return body.partition("</tbody>")[0].split("<tr>")[1:]


def test_owner_reads_what_concerns_them_and_no_more(ana: Someone, bo: Someone) -> None:
    mine, other = create(ana), create(bo)
    store.extend(mine.id, more=timedelta(hours=1), owner_id=None, by=operates(bo, "still needed"))

    for address in ("/audit/", "/audit/?scope=all", f"/audit/?task={other.id}&scope=all"):
        assert str(other.id) not in ana.page(address).replace(f"?task={other.id}", "").replace(
            f'value="{other.id}"', ""
        )
    page = ana.page("/audit/")
    assert "bo for ana" in page
    assert "“still needed”" in page


def test_operator_reads_own_rows_and_an_auditor_all(ana: Someone, bo: Someone, una: Someone) -> None:
    task = create(ana)

    assert f"/tasks/{task.id}/" not in bo.page("/audit/?scope=all")
    assert f"/tasks/{task.id}/" in una.page("/audit/")
    assert f"/tasks/{task.id}/" not in una.page("/audit/?scope=mine")


def test_log_is_narrowed_by_task_person_action_and_time(
    ana: Someone, bo: Someone, una: Someone, clock: DatabaseClock
) -> None:
    clock.set(clock.now() - timedelta(days=20))
    old = create(ana, "old")
    clock.release()
    task, other = create(ana, "one"), create(ana, "two")
    store.extend(task.id, more=timedelta(hours=1), owner_id=None, by=operates(bo, "why not"))
    store.cancel(other.id, owner_id=ana.owner_id, by=Actor(ActorKind.OWNER, id=ana.owner_id, via="console"))

    assert len(rows_of(una.page(f"/audit/?task={task.id}"))) == 2
    assert len(rows_of(una.page("/audit/?by=bo"))) == 1
    assert "“why not”" in una.page("/audit/?by=bo&action=ttl")
    assert rows_of(una.page("/audit/?by=una")) == []
    assert str(old.id) not in una.page("/audit/?range=7d")
    assert str(old.id) in una.page("/audit/?range=30d&action=created")
    day = (clock.now() - timedelta(days=20)).date()
    [row] = rows_of(una.page(f"/audit/?from={day}&to={day}"))
    assert str(old.id) in row


@pytest.mark.parametrize(
    "query", ["task=nonsense", "by=nobody", "action=' OR true --", "after=forged", "from=never", "range=?"]
)
def test_log_takes_nonsense_calmly(una: Someone, query: str) -> None:
    assert una.browser.get(f"/audit/?{query}").status_code == 200


def test_log_goes_on_from_its_place(ana: Someone) -> None:
    for _ in range(60):
        store.cancel(create(ana).id, owner_id=None, by=operates(ana, "enough"))

    first = ana.page("/audit/")
    older = first.split('data-key="]"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")

    assert len(rows_of(first)) == 100
    assert 20 <= len(rows_of(ana.page("/audit/" + older))) < 100


def test_sign_in_and_tokens_stand_in_the_log(ana: Someone) -> None:
    browser = Client()
    browser.post("/login/", {"username": "ana", "password": "a long password"})
    browser.post("/connect/tokens/", {"name": "laptop", "kind": "read", "days": "30"})
    token = Event.objects.get(kind="token_created")
    browser.post(f"/connect/tokens/{token.detail['credential']}/revoke/")

    page = ana.page("/audit/")

    for words in ("Signed in", "Token created", "Token revoked", "“laptop”"):
        assert words in page


def test_hold_and_its_reason_stand_in_the_log(ana: Someone) -> None:
    adam = Someone("adam", "admin")
    task = create(ana)
    adam.browser.post(f"/tasks/{task.id}/hold/", {"held": "1", "reason": "case 7"})

    page = ana.page(f"/audit/?task={task.id}")

    assert "Legal hold" in page
    assert "adam for ana" in page
    assert "“case 7”" in page


def test_task_leads_to_its_own_entries(ana: Someone) -> None:
    task = create(ana)

    assert f'href="/audit/?task={task.id}"' in ana.page(f"/tasks/{task.id}/")
    assert len(rows_of(ana.page(f"/audit/?task={task.id}"))) == 1


def test_log_and_its_days_are_in_utc_whatever_zone_the_reader_chose(una: Someone, clock: DatabaseClock) -> None:
    clock.set(datetime(2026, 1, 15, 20, 0, tzinfo=UTC))
    task = create(una)
    una.browser.post("/account/zone/", {"time_zone": "Asia/Tokyo"})

    found = una.page("/audit/?from=2026-01-15&to=2026-01-15&action=created")

    assert f"/tasks/{task.id}/" in found
    assert "15 Jan 20:00:00</time>" in found
    assert "times in UTC" in found
    assert f"/tasks/{task.id}/" not in una.page("/audit/?from=2026-01-16&action=created")


def test_what_the_clients_of_a_person_did_is_found_by_the_person(ana: Someone, una: Someone) -> None:
    task = create(ana)
    by = Actor(ActorKind.CLIENT, id=ana.owner_id, credential=1, via="mcp")
    store.cancel(task.id, owner_id=ana.owner_id, by=by)

    [row] = rows_of(una.page("/audit/?by=ana&action=status"))

    assert str(task.id) in row
    assert "Cancelled" in row


def test_entries_name_the_request_that_they_came_by(ana: Someone) -> None:
    task = create(ana)
    browser = Client(headers={"X-Request-Id": "proxy-1"})
    browser.post("/login/", {"username": "ana", "password": "a long password"})
    extended = browser.post(f"/tasks/{task.id}/extend/", {"by": "1h"})
    cancelled = ana.browser.post(f"/tasks/{task.id}/cancel/", headers={"X-Request-Id": "not an id"})

    requests = {
        event.kind: event.actor.get("request") for event in Event.objects.exclude(kind="created").order_by("id")
    }
    assert (requests["signed_in"], requests["ttl"], extended["X-Request-Id"]) == ("proxy-1", "proxy-1", "proxy-1")
    assert requests["status"] == cancelled["X-Request-Id"]
    assert len(cancelled["X-Request-Id"]) == 16


def test_broken_chain_stands_out_in_the_log(una: Someone) -> None:
    detail = {"batch": 1, "event": 5, "broken_batch": 2, "broken_row": 7, "what": "event 7 was removed"}
    store.record_event("chain_broken", by=Actor.system(via="verify_audit"), detail=detail)

    [row] = rows_of(una.page("/audit/?action=chain_broken"))

    assert 'class="flag"' in row
    assert "Chain broken" in row
    assert "batch 2 · event 7 was removed" in row
