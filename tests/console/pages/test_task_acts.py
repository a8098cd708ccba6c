"""What can be done on the page of a task, what is refused and how that is said, and what the page shows meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings

from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification
from tasks_app.store import queries
from tests.conftest import DatabaseClock
from tests.console.pages.markup import markup
from tests.console.pages.people import WORKER, Someone, ask, create
from tests.console.pages.test_inbox import APPROVE, address, asking, form

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


def test_owner_finds_a_task_whose_id_the_client_lost_and_cancels_it(ana: Someone) -> None:
    """section 2 item 1: by what it was given, without its id; a stranger neither finds nor reaches it."""
    bob = Someone("bob")
    store.create(store.NewTask(owner_id=ana.owner_id, tool="crawl", arguments={"site": "example.org"}))

    [row] = ana.browser.get("/tasks/", {"q": "tool:crawl arg.site:example.org"}).context["rows"]
    cancel = f"/tasks/{row.task.id}/cancel/"
    refused = bob.browser.post(cancel)
    done = ana.browser.post(cancel, follow=True)

    assert bob.browser.get("/tasks/", {"q": "arg.site:example.org"}).context["rows"] == []
    assert [refused.status_code, bob.browser.get(f"/tasks/{row.task.id}/").status_code] == [404, 404]
    assert "Task cancelled." in markup(done)
    assert queries.get(row.task.id, owner_id=ana.owner_id).status == "cancelled"


@pytest.mark.parametrize("act", ["cancel", "extend"])
def test_act_without_the_reason_that_it_needs_is_said_on_the_page_with_what_was_chosen(
    ana: Someone, opal: Someone, act: str
) -> None:
    task = create(ana)

    answer = opal.browser.post(f"/tasks/{task.id}/{act}/", {"reason": " ", "by": "7d"})

    page = markup(answer)
    assert answer.status_code == 422
    assert "Give a reason when you act on another owner&#x27;s task." in page
    assert f'id="{act}-reason-again"' in page
    assert act == "cancel" or '<option value="7d" selected>' in page
    assert f'data-address="/tasks/{task.id}/" data-draft' in page
    assert queries.get(task.id, owner_id=None).version == task.version


@pytest.mark.parametrize("act", ["cancel", "extend"])
def test_act_that_met_another_keeps_its_reason(ana: Someone, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    task = create(ana)

    def busy(*_: object, **__: object) -> None:
        raise ConcurrentModification

    monkeypatch.setattr(store, act, busy)
    answer = ana.browser.post(f"/tasks/{task.id}/{act}/", {"reason": "a long reason"})

    assert answer.status_code == 409
    assert "The task changed in the meantime." in markup(answer)
    assert ">a long reason</textarea>" in markup(answer)


@pytest.mark.parametrize("act", ["cancel", "extend"])
def test_act_on_a_task_that_has_expired_says_so(ana: Someone, clock: DatabaseClock, act: str) -> None:
    task = create(ana)
    clock.advance(timedelta(days=30))

    done = ana.browser.post(f"/tasks/{task.id}/{act}/", {"reason": "too late"}, follow=True)
    stranger = Someone("otto", "auditor").browser.post(f"/tasks/{task.id}/{act}/", {"reason": "too late"})

    assert "The task had already expired. Nothing was changed." in markup(done)
    assert stranger.status_code == 404


def test_owner_who_may_not_approve_is_told_so_and_offered_nothing(opal: Someone) -> None:
    task = store.create(store.NewTask(owner_id=opal.owner_id, tool="own", approval=APPROVE)).task

    page = opal.page(f"/tasks/{task.id}/")

    assert "Somebody else than the task&#x27;s owner has to approve it." in page
    assert 'value="accept"' not in page
    assert "claim-form" not in page


@override_settings(TASKDECK_OPERATORS_ANSWER=False)
def test_operator_is_told_that_only_the_owner_answers_here(ana: Someone, opal: Someone) -> None:
    task = ask(ana)

    page = opal.page(f"/tasks/{task.id}/")

    assert "On this server only the owner answers what a task asks." in page
    assert 'value="accept"' not in page
    assert 'value="accept"' in ana.page(f"/tasks/{task.id}/")


def test_auditor_reads_what_is_asked(ana: Someone) -> None:
    task = ask(ana)

    page = Someone("otto", "auditor").page(f"/tasks/{task.id}/")

    assert "Go on?" in page
    assert "Your role reads only." in page
    assert 'value="accept"' not in page


def test_answers_lead_to_their_questions_and_show_what_was_said(ana: Someone) -> None:
    asked = asking(ana, request=form(note={"type": "string"}))
    ana.browser.post(address(asked, "answer/"), {"action": "accept", "f-note": "sesame"})

    page = ana.page(f"/tasks/{asked.task_id}/")

    assert f'<a href="{address(asked)}"><code>go</code></a>' in page
    assert "ana answered this." in page
    assert "&quot;sesame&quot;" in page


def test_progress_is_a_bar_of_real_numbers_on_the_page_of_a_task(ana: Someone) -> None:
    """section 2 item 9: what the tool says of itself, and no bar where it says nothing."""
    task = create(ana)
    claim = store.claim_next(WORKER)
    assert claim is not None
    without = ana.page(f"/tasks/{task.id}/")
    store.set_progress(claim, done=31, total=50, message="batch 31")

    page = ana.page(f"/tasks/{task.id}/")

    assert "<progress" not in without
    assert '<progress class="progress" value="62" max="100" aria-label="Progress">' in page


def test_what_a_task_writes_stands_in_a_part_of_its_page_that_is_read_again(ana: Someone) -> None:
    """section 2 item 10: the end of the log, live in the console."""
    task = create(ana)
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.write_output(claim, "first line")
    before = _region(ana, task, "log")
    store.write_output(claim, "second line")

    assert "first line" in before
    assert "second line" not in before
    assert "second line" in _region(ana, task, "log")


def _region(someone: Someone, task: store.Snapshot, name: str) -> str:
    page: Any = someone.page(f"/tasks/{task.id}/")
    return str(page.split(f'data-live="{name}"')[1].split("data-live=")[0])
