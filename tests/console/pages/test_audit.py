"""The audit log: who did what, to which task, when and why; and who may read it."""

from __future__ import annotations

from datetime import timedelta

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
