"""What the pages give to the live half: the count of open questions, and whether a question is still open."""

from __future__ import annotations

import re

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.store import queries
from tests.console.live.conftest import Someone

WORKER = store.Claimant("w1")
ASK = {"message": "Roll out?", "requestedSchema": {"type": "object", "properties": {"note": {"type": "string"}}}}


@pytest.fixture
def asked(ana: Someone) -> store.QuestionView:
    """A question that waits for ana."""
    task = ana.create()
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.suspend(claim, [store.NewQuestion(name="approve", request=ASK)])
    return queries.questions(task.id)[0]


def decline(someone: Someone, asked: store.QuestionView) -> None:
    someone.browser.post(f"/inbox/{asked.task_id}/{asked.key}/answer/", {"action": "decline", "reason": "on call"})


def test_open_questions_are_counted_in_the_title_the_navigation_and_by_themselves(
    ana: Someone, eddy: Someone, asked: store.QuestionView
) -> None:
    page = ana.browser.get("/tasks/").content.decode()

    assert "<title>(1) " in page
    assert re.search(r'data-count="/inbox/count/"><span data-number>1</span>', page)
    newest = {"newest": asked.id, "url": f"/inbox/{asked.task_id}/{asked.key}/"}
    assert ana.browser.get("/inbox/count/").json() == {"open": 1, **newest, "notify": False}
    assert eddy.browser.get("/inbox/count/").json() == {"open": 0, "newest": 0, "url": "", "notify": False}


def test_nothing_is_counted_when_nothing_waits(ana: Someone) -> None:
    page = ana.browser.get("/tasks/").content.decode()

    assert "<title>(" not in page
    assert 'data-count="/inbox/count/" hidden>' in page


def test_state_of_an_open_question_is_empty_and_of_a_closed_one_says_who_ended_it(
    ana: Someone, opal: Someone, asked: store.QuestionView
) -> None:
    address = f"/inbox/{asked.task_id}/{asked.key}/state/"
    before = ana.browser.get(address)
    decline(opal, asked)
    after = ana.browser.get(address)

    assert (before.status_code, before.content) == (204, b"")
    assert after.status_code == 200
    assert "opal declined this." in after.content.decode()
    assert "<html" not in after.content.decode()


def test_state_of_anothers_question_looks_like_none(ana: Someone, eddy: Someone, asked: store.QuestionView) -> None:
    """check 104: nor does it say whether there is one."""
    foreign = eddy.browser.get(f"/inbox/{asked.task_id}/{asked.key}/state/")
    missing = eddy.browser.get(f"/inbox/{asked.task_id}/no-such-key/state/")

    assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)
    assert foreign.status_code == 404


def test_page_that_is_read_again_leaves_the_message_to_the_person(ana: Someone, asked: store.QuestionView) -> None:
    decline(ana, asked)

    in_the_background = ana.browser.get("/tasks/", headers={"x-live": "1"}).content.decode()
    by_the_person = ana.browser.get("/tasks/").content.decode()

    assert "Answer sent" not in in_the_background
    assert "Answer sent" in by_the_person


def test_answer_through_a_client_is_said_to_be_so(ana: Someone, asked: store.QuestionView) -> None:
    given = store.Answer(AnswerAction.DECLINE)
    client = Actor(ActorKind.CLIENT, id=ana.owner_id, via="mcp")
    store.answer(asked.task_id, {asked.key: given}, owner_id=ana.owner_id, by=client, via=Via.MCP)

    state = ana.browser.get(f"/inbox/{asked.task_id}/{asked.key}/state/").content.decode()

    assert "through a client" in state
