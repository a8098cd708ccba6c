"""The policy page: who sees it, who changes it, what is shown before a change is saved; and the line of the chain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.policy import Rule
from tasks_app.models import Event, PolicyVersion
from tasks_app.store import chain, policy
from tests.conftest import DatabaseClock
from tests.console.pages.markup import markup
from tests.console.pages.people import Someone, finish, fold

pytestmark = pytest.mark.django_db

PAGE = "/expirations/policy/"
CHANGE = "/expirations/policy/change/"
VERIFY = "/expirations/verify/"
BY = Actor.system(via="policy", reason="to begin with")


@pytest.fixture
def ada() -> Someone:
    """Administers."""
    return Someone("ada", "admin")


def rule(**values: str) -> dict[str, str]:
    """What the form sends for a rule."""
    return {"tool": "deploy*", "base": "0", "do": "preview", **values}


def send(who: Someone, **values: str) -> tuple[int, str]:
    """What the server makes of a form."""
    answer = who.browser.post(CHANGE, rule(**values))
    return answer.status_code, markup(answer)


@pytest.mark.parametrize(
    ("group", "sees", "changes"), [("operator", 200, 403), ("auditor", 200, 403), ("admin", 200, 200), ("", 403, 403)]
)
def test_readers_of_everything_see_it_and_only_an_admin_changes_it(group: str, sees: int, changes: int) -> None:
    who = Someone("bo", *([group] if group else []))

    seen = who.browser.get(PAGE)
    changed = who.browser.post(CHANGE, rule(hold="on"))

    assert (seen.status_code, changed.status_code) == (sees, changes)
    if sees == 200:
        assert ('action="/expirations/policy/change/' in markup(seen)) is (changes == 200)


def test_without_a_policy_the_settings_are_shown(ada: Someone) -> None:
    html = ada.page(PAGE)

    assert "No policy has been saved" in html
    assert '<td class="nowrap dim">7 d</td>' in html
    assert '<a href="/expirations/policy/" aria-current="page">Policy</a>' in html


def test_change_is_shown_with_what_it_would_do_and_saved_only_then(ada: Someone, clock: DatabaseClock) -> None:
    for _ in range(3):
        finish(ada, "deploy_web")
    clock.advance(timedelta(hours=2))
    store.expire()
    clock.advance(timedelta(hours=2))
    fold()

    code, preview = send(ada, purge_after="1h", hold="")
    before = PolicyVersion.objects.count()
    saved = ada.browser.post(CHANGE, rule(purge_after="1h", do="save", reason="disk is full"), follow=True)

    assert code == 200
    assert "Would become version 1" in preview
    assert '<td>Purge after</td><td class="dim">as the settings say</td><td>1 h</td>' in preview
    assert "<b>3</b>tasks touched" in preview
    assert "<b>3</b>purged by the next sweep" in preview
    assert before == 0
    html = markup(saved)
    assert "Saved as version 1" in html
    assert "Version 1 is in force." in html
    assert "disk is full" in html
    version = PolicyVersion.objects.get()
    assert (version.author["kind"], version.author["id"], version.author["via"]) == ("admin", ada.owner_id, "console")
    assert Event.objects.get(kind="policy").actor["reason"] == "disk is full"


def test_rule_of_one_owner_is_changed_and_removed(ada: Someone) -> None:
    cy = Someone("cy")
    policy.save([Rule(tool="x", owner_id=cy.owner_id, owner="cy", hold=True)], base=0, by=BY)

    form = ada.page(f"{PAGE}?tool=x&owner={cy.owner_id}")
    send(ada, tool="x", owner="cy", max_ttl="2 d", base="1", do="save", reason="longer")
    changed = policy.newest().rules
    send(ada, tool="x", owner="cy", remove="on", base="2", do="save", reason="over")

    assert "Change the rule for x of cy" in form
    assert 'name="hold" value="on" checked' in form
    assert changed == (Rule(tool="x", owner_id=cy.owner_id, owner="cy", max_ttl=172_800),)
    assert (policy.newest().version, policy.newest().rules) == (3, ())


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"purge_after": "soon"}, "Write a time such as 90s"),
        ({"owner": "nobody", "hold": "on"}, "No owner goes by this name."),
        ({}, "the rule changes nothing"),
        ({"default_ttl": "9d"}, "is above the maximum"),
        ({"tool": "<b>", "hold": "on"}, "only * stands for more"),
    ],
)
def test_what_is_wrong_is_said_beside_the_form_and_nothing_is_saved(
    ada: Someone, values: dict[str, str], says: str
) -> None:
    code, html = send(ada, **{**values, "do": "save", "reason": "x"})

    assert code == 422
    assert says in html
    assert "<b></b>" not in html
    assert "<title>Error: " in html.replace("\n", "")
    assert PolicyVersion.objects.count() == 0


def test_save_over_a_version_of_somebody_else_is_refused(ada: Someone) -> None:
    policy.save([Rule(tool="y", hold=True)], base=0, by=BY)

    code, html = send(ada, hold="on", do="save", reason="mine")

    assert code == 409
    assert "Version 1 was saved in the meantime" in html
    assert policy.newest().version == 1


def test_save_without_a_reason_is_refused(ada: Someone) -> None:
    code, html = send(ada, hold="on", do="save")

    assert (code, PolicyVersion.objects.count()) == (409, 0)
    assert "Give a reason" in html


def test_versions_are_listed_with_author_and_each_shows_what_it_changed(ada: Someone) -> None:
    policy.save([Rule(tool="y", hold=True)], base=0, by=BY)
    send(ada, tool="y", purge_after="3d", base="1", do="save", reason="<i>case</i> closed")

    html, old = ada.page(PAGE), ada.page(f"{PAGE}?version=1")

    assert "by ada</span>" in html
    assert "by manage.py policy</span>" in html
    assert "&lt;i&gt;case&lt;/i&gt; closed" in html
    assert "Version 1, no longer in force." in old
    assert "What version 1 changed" in old
    assert ada.browser.get(f"{PAGE}?version=9").status_code == 404
    assert ada.browser.get(f"{PAGE}?version=x").status_code == 404


def test_page_takes_as_many_queries_with_many_rules_as_with_one(ada: Someone) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            ada.page(PAGE)
        return len(captured)

    policy.save([Rule(tool="y", hold=True)], base=0, by=BY)
    few = count()
    policy.save([Rule(tool=f"t{n}", owner_id=ada.owner_id, hold=True) for n in range(50)], base=1, by=BY)

    assert count() == few


@pytest.mark.parametrize(("group", "code"), [("auditor", 302), ("admin", 302), ("operator", 403), ("", 403)])
def test_auditors_have_the_chain_verified(group: str, code: int) -> None:
    who = Someone("zoe", *([group] if group else []))

    answer = who.browser.post(VERIFY)

    assert answer.status_code == code
    assert Event.objects.filter(kind="chain_verified").exists() is (code == 302)


def test_line_about_the_chain_tells_the_last_look_and_a_break(ada: Someone, clock: DatabaseClock) -> None:
    nothing = ada.page(PAGE)
    policy.save([Rule(tool="y", hold=True)], base=0, by=BY)
    clock.advance(timedelta(minutes=2))
    chain.seal()
    sealed = ada.page(PAGE)
    last = chain.chain_state().sealed_event

    def verify() -> str:
        where: dict[str, Any] = {"HTTP_REFERER": f"http://testserver{PAGE}"}
        answer = ada.browser.post(VERIFY, follow=True, **where)
        return markup(answer)

    fine = verify()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE tasks_event SET kind = 'x' WHERE id = %s", [last])
        cursor.execute("SET session_replication_role = origin")
    broken = verify()

    assert "nothing is sealed yet" in nothing
    assert f"Chain sealed through #{last}, not verified yet" in sealed
    assert f"Chain ✓ verified through #{last} (" in fine
    assert f"In order through event {last}." in fine
    assert f"Chain broken at batch 1, event {last}" in broken
    assert "The chain is broken: batch 1" in broken


def test_nobody_is_sent_away_by_a_foreign_address(ada: Someone) -> None:
    answer = ada.browser.post(VERIFY, HTTP_REFERER="https://evil.example/expirations/x")

    assert answer["Location"] == PAGE


@pytest.mark.parametrize("place", ["/audit/?task=&range=all", "/expirations/expired/?kind=unfetched"])
def test_verifying_leads_back_to_the_page_that_asked(ada: Someone, place: str) -> None:
    answer = ada.browser.post(VERIFY, HTTP_REFERER=f"http://testserver{place}")

    assert answer["Location"] == place


def test_tab_of_the_policy_is_there_for_those_who_may_open_it(ada: Someone) -> None:
    policy.save([Rule(tool="*", purge_after=3600)], base=0, by=BY)
    tab = f'href="{PAGE}"'

    assert tab not in Someone("ana").page("/expirations/")
    assert tab in ada.page("/expirations/")
    assert "Policy <b>v1</b>" in ada.page("/expirations/")
    assert "Policy <b>v1</b>" in ada.page(PAGE)


def test_times_of_versions_are_in_the_zone_that_is_named(ada: Someone, clock: DatabaseClock) -> None:
    clock.set(datetime(2026, 1, 15, 20, 0, tzinfo=UTC))
    policy.save([Rule(tool="*", purge_after=3600)], base=0, by=BY)
    ada.browser.post("/account/zone/", {"time_zone": "Asia/Tokyo"})

    page = ada.page(PAGE)

    assert 'title="2026-01-15T20:00:00Z">16 Jan 2026, 05:00 JST</time>' in page
