"""Claiming a question in the browser: seen by others, taken over, given back, and never in anybody's way."""

from __future__ import annotations

import pytest

from console import store as console_store
from tasks_app import store
from tasks_app.domain.questions import QuestionState
from tasks_app.store import queries
from tests.console.pages.people import Someone, ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


@pytest.fixture
def asked(ana: Someone) -> store.QuestionView:
    """A question that waits for ana."""
    return queries.questions(ask(ana).id)[0]


def address(asked: store.QuestionView, what: str = "") -> str:
    return f"/inbox/{asked.task_id}/{asked.key}/{what}"


def claim(someone: Someone, asked: store.QuestionView, how: str = "take") -> str:
    answer = someone.browser.post(address(asked, "claim/"), {"how": how}, headers={"x-live": "1"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_claim_is_seen_by_others_in_the_list_on_the_form_and_on_the_task(
    ana: Someone, opal: Someone, asked: store.QuestionView
) -> None:
    assert "You are answering" in claim(opal, asked)

    inbox, task = ana.page(address(asked)), ana.page(f"/tasks/{asked.task_id}/")

    assert "opal is answering" in inbox
    assert "<b>opal</b> is answering…" in inbox
    assert "Take over" in inbox
    assert "<b>opal</b> is answering…" in task
    assert "claimed by you" in opal.page(f"{address(asked)}?scope=all")


def test_claim_of_another_stands_until_it_is_taken_over(ana: Someone, opal: Someone, asked: store.QuestionView) -> None:
    claim(opal, asked)

    refused, taken = claim(ana, asked), claim(ana, asked, "over")

    assert "<b>opal</b> is answering…" in refused
    assert "You are answering" in taken
    assert "<b>ana</b> is answering…" in opal.page(address(asked))


def test_released_claim_is_free_again(ana: Someone, opal: Someone, asked: store.QuestionView) -> None:
    claim(opal, asked)

    assert "Claim" in claim(opal, asked, "release")
    assert "is answering" not in ana.page(address(asked))


def test_claim_works_without_scripts_and_leads_back_to_the_question(ana: Someone, asked: store.QuestionView) -> None:
    answer = ana.browser.post(address(asked, "claim/"), {"how": "take"})

    assert answer["Location"] == address(asked)
    assert console_store.holders([asked.id])[asked.id].owner_id == ana.owner_id


def test_claim_keeps_nobody_from_answering(ana: Someone, opal: Someone, asked: store.QuestionView) -> None:
    claim(opal, asked)

    ana.browser.post(address(asked, "answer/"), {"action": "accept"})

    assert queries.questions(asked.task_id)[0].state is QuestionState.ANSWERED


def test_only_those_who_may_answer_may_claim(asked: store.QuestionView) -> None:
    auditor, stranger = Someone("audra", "auditor"), Someone("eddy")

    by_auditor = auditor.browser.post(address(asked, "claim/"), {"how": "take"})
    by_stranger = stranger.browser.post(address(asked, "claim/"), {"how": "take"})

    assert (by_auditor.status_code, by_stranger.status_code) == (404, 404)
    assert console_store.holders([asked.id]) == {}
    assert "Your role reads only." in auditor.page(address(asked))


def test_claim_says_what_it_wants(ana: Someone, asked: store.QuestionView) -> None:
    assert ana.browser.post(address(asked, "claim/"), {"how": "steal"}).status_code == 400
    assert ana.browser.get(address(asked, "claim/")).status_code == 405
