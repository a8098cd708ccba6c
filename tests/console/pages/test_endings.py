"""A question that ends with its task: whoever was answering it is told so, and loses nothing of what they typed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from console import store as console_store
from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, QuestionKind, QuestionState, Via
from tasks_app.store import queries
from tests.conftest import DatabaseClock
from tests.console.pages.markup import markup
from tests.console.pages.people import WORKER, Someone
from tests.console.pages.test_inbox import address, asking, form, listed

pytestmark = pytest.mark.django_db

SECRET = "marzipan for the vault"
ASK: dict[str, Any] = form(note={"type": "string", "title": "Codeword", "is_required": True}) | {"message": SECRET}
DRAFT = {"action": "accept", "f-note": "my long draft", "f-more": "second", "reason": "on call"}
LONG = timedelta(days=30)
# Within what a form may send, and twice as long as JSON.
LONG_TEXT = '"' * 40_000


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


@pytest.fixture(params=["unswept", "swept"])
def expired(ana: Someone, clock: DatabaseClock, request: pytest.FixtureRequest) -> store.QuestionView:
    """A question of ana's whose task has expired, whether or not the loop has seen it."""
    asked = asking(ana, request=ASK)
    clock.advance(LONG)
    if request.param == "swept":
        store.expire()
    return asked


@pytest.mark.parametrize("then", ["inbox", ""])
def test_late_answer_to_a_task_that_expired_is_409_with_the_draft_and_without_payload(
    ana: Someone, expired: store.QuestionView, then: str
) -> None:
    answer = ana.browser.post(address(expired, "answer/"), {**DRAFT, "then": then})

    page = markup(answer)
    assert answer.status_code == 409
    assert "Expired with its task. Your answer was not sent." in page
    for typed in ("my long draft", "second", "on call"):
        assert typed in page
    assert "disabled" in page
    assert "Copy draft" in page
    for payload in (SECRET, "Codeword", "planned the rollout", "&quot;web&quot;"):
        assert payload not in page


@pytest.mark.parametrize("sent", [{"action": "accept"}, {"action": "nonsense"}, {"action": "decline"}])
def test_whatever_is_sent_to_a_question_that_is_over_is_late_and_not_wrong(
    ana: Someone, opal: Someone, sent: dict[str, str]
) -> None:
    asked = asking(ana, request=ASK)
    ana.browser.post(address(asked, "answer/"), {"action": "decline"})

    # Not valid, and without the reason that an operator owes.
    answer = opal.browser.post(address(asked, "answer/"), sent)

    assert answer.status_code == 409
    assert "ana declined this. Your answer was not sent." in markup(answer)


def test_question_past_its_own_deadline_is_late_and_not_wrong(ana: Someone, clock: DatabaseClock) -> None:
    asked = asking(ana, request=ASK, seconds=60)
    clock.advance(timedelta(seconds=61))

    answer = ana.browser.post(address(asked, "answer/"), {"action": "accept"})

    assert answer.status_code == 409
    assert "Nobody answered in time." in markup(answer)


def test_open_form_is_told_that_its_task_expired(ana: Someone, expired: store.QuestionView) -> None:
    state = ana.browser.get(address(expired, "state/"))

    assert state.status_code == 200
    assert "Expired with its task." in markup(state)
    assert SECRET not in markup(state)


def test_expired_question_of_another_looks_like_none(expired: store.QuestionView) -> None:
    """check 104: the end of a task tells a stranger no more than its life."""
    stranger = Someone("eddy")
    missing = address(expired).replace(expired.key, "none-12345678")

    for part in ("", "state/"):
        assert stranger.browser.get(address(expired, part)).status_code == 404
        assert stranger.browser.get(missing + part).status_code == 404
    assert stranger.browser.post(address(expired, "answer/"), DRAFT).status_code == 404
    assert stranger.browser.post(address(expired, "claim/"), {"how": "take"}).status_code == 404
    assert Someone("otto", "auditor").browser.post(address(expired, "answer/"), DRAFT).status_code == 404


def test_expired_tab_lists_what_ran_out_with_its_task_and_shows_nothing_of_it(
    ana: Someone, clock: DatabaseClock
) -> None:
    with_task = asking(ana, "patient", request=ASK)
    clock.advance(LONG)
    store.expire()
    cancelled = asking(ana, "cancelled")
    store.cancel(cancelled.task_id, owner_id=ana.owner_id, by=_owner(ana))
    alone = asking(ana, "hasty", seconds=60)
    clock.advance(timedelta(seconds=61))
    store.expire_questions()

    tab, page = ana.page("/inbox/?tab=expired"), ana.page(address(with_task) + "?tab=expired")

    assert queries.questions(with_task.task_id)[0].state is QuestionState.WITHDRAWN
    assert listed(tab) == ["hasty", "patient"]
    assert "Its task has expired" in tab
    assert "Nobody answered in time." in ana.page(address(alone))
    assert "Expired with its task." in page
    assert "What was asked is no longer shown." in page
    for payload in (SECRET, "Codeword", "planned the rollout"):
        assert payload not in tab + page


def test_answered_tab_keeps_who_answered_and_nothing_of_what_after_the_task_expired(
    ana: Someone, clock: DatabaseClock
) -> None:
    asked = asking(ana, request=ASK)
    ana.browser.post(address(asked, "answer/"), {"action": "accept", "f-note": "sesame"})
    clock.advance(LONG)
    store.expire()

    tab, page = ana.page("/inbox/?tab=answered"), ana.page(address(asked) + "?tab=answered")

    assert listed(tab) == ["deploy"]
    assert "ana answered this." in page
    for payload in (SECRET, "sesame", "Codeword"):
        assert payload not in tab + page


def test_link_that_ended_with_its_task_is_no_longer_offered(ana: Someone, clock: DatabaseClock) -> None:
    request = {"mode": "url", "message": "Open", "url": "https://bank.example/"}
    asked = asking(ana, request=request, kind=QuestionKind.URL)
    clock.advance(LONG)

    page = ana.page(address(asked))

    assert "bank.example" not in page
    assert "cannot be opened" not in page


def test_what_the_store_refuses_is_said_on_the_form_with_everything_typed(
    ana: Someone, opal: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asking(ana, request=ASK)
    too_long = ana.browser.post(address(asked, "answer/"), {"action": "accept", "f-note": LONG_TEXT})

    def busy(*_: object, **__: object) -> None:
        raise ConcurrentModification

    monkeypatch.setattr(store, "answer", busy)
    changed = opal.browser.post(address(asked, "answer/"), {**DRAFT, "then": "inbox"})

    assert (too_long.status_code, changed.status_code) == (422, 409)
    assert "Shorten it and send it again." in markup(too_long)
    assert escape(LONG_TEXT) in markup(too_long)
    page = markup(changed)
    assert "The task changed in the meantime." in page
    assert 'value="my long draft"' in page
    assert 'value="on call"' in page
    assert 'value="accept"' in page


def test_next_question_is_the_next_of_the_same_list(ana: Someone, opal: Someone) -> None:
    first = asking(ana, "deploy", seconds=100)
    asking(ana, "crawl", seconds=200)
    third = asking(ana, "deploy", seconds=300)
    sent = {"action": "decline", "then": "inbox", "next": "1", "reason": "on call"}
    narrowed = "?tool=deploy&scope=all"

    following = opal.browser.post(address(first, "answer/") + narrowed, sent)
    none = opal.browser.post(address(third, "answer/") + narrowed, sent)
    stays = opal.browser.post(address(third, "answer/") + narrowed, {**sent, "action": "cancel"})

    assert following["Location"] == address(third) + narrowed
    assert none["Location"] == "/inbox/" + narrowed
    assert stays.status_code == 409


def test_earlier_answers_cost_no_statement_each(ana: Someone, opal: Someone) -> None:
    assert _statements(ana, opal, answered=1) == _statements(ana, opal, answered=6)


def _statements(ana: Someone, opal: Someone, *, answered: int) -> int:
    store.create(store.NewTask(owner_id=ana.owner_id, tool="deploy"))
    claim = store.claim_next(WORKER)
    assert claim is not None
    names = [f"q{number}" for number in range(answered + 1)]
    request = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
    store.suspend(claim, [store.NewQuestion(name=name, request=request) for name in names])
    *over, last = queries.questions(claim.task_id)
    for number, each in enumerate(over):
        by = _owner(ana) if number % 2 else Actor(ActorKind.OPERATOR, id=opal.owner_id, via="console", reason="x")
        given = {each.key: store.Answer(AnswerAction.DECLINE)}
        store.answer(claim.task_id, given, owner_id=None, by=by, via=Via.CONSOLE)
    with CaptureQueriesContext(connection) as captured:
        page = ana.page(address(last))
    assert page.count(" declined this.") == answered
    store.cancel(claim.task_id, owner_id=None, by=_owner(ana))
    return len(captured)


def _owner(someone: Someone) -> Actor:
    return Actor(ActorKind.OWNER, id=someone.owner_id, via="console")


def test_claim_of_a_question_that_went_with_its_task_is_nothing(ana: Someone, expired: store.QuestionView) -> None:
    for how in ("take", "release"):
        assert ana.browser.post(address(expired, "claim/"), {"how": how}).status_code == 204
    assert console_store.holders([expired.id]) == {}


def test_open_tab_says_how_much_is_open(ana: Someone) -> None:
    empty = ana.page("/inbox/")
    asking(ana)
    asking(ana)

    assert '<span class="n" data-live="open-count"></span>' in empty
    assert '<span class="n" data-live="open-count">2</span>' in ana.page("/inbox/")
    assert '<span class="n" data-live="open-count"></span>' in ana.page("/inbox/?tool=deploy")
