"""The first steps: the strip leads from a waiting task to an answer to a client of one's own, and can be closed."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.models import Credential
from tasks_app.store import credentials, queries, workers
from tests.console.pages.people import WORKER, Someone, create

pytestmark = pytest.mark.django_db
SYSTEM = Actor.system(via="test")
STRIP = 'aria-label="First steps"'


@pytest.fixture
def root(settings: Settings) -> Someone:
    """The administrator of a server with the demo."""
    settings.TASKDECK_DEMO = True
    return Someone("root", "admin")


def demo_task(owner: Someone) -> store.Snapshot:
    token = store.create_token(owner.owner_id, name=credentials.DEMO, by=SYSTEM)[1]
    return create(owner, "deploy_service", credential_id=token)


def ask(owner: Someone) -> store.QuestionView:
    task = demo_task(owner)
    claim = store.claim_next(WORKER)
    assert claim is not None
    request: dict[str, Any] = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
    store.suspend(claim, [store.NewQuestion(name="go", request=request)])
    return queries.questions(task.id)[0]


def answer(asked: store.QuestionView, owner: Someone) -> None:
    sent = owner.browser.post(f"/inbox/{asked.task_id}/{asked.key}/answer/", {"action": "accept"})
    assert sent.status_code == 302


def test_strip_says_that_a_question_comes_while_tools_are_at_work(root: Someone) -> None:
    demo_task(root)

    assert "asks you something in a moment" in root.page("/tasks/")


def test_strip_leads_to_the_task_that_waits_and_there_says_to_answer(root: Someone) -> None:
    asked = ask(root)

    page, there = root.page("/tasks/"), root.page(f"/tasks/{asked.task_id}/")

    assert "A task waits for you." in page
    assert f'href="/tasks/{asked.task_id}/#questions">Answer' in page
    assert "This task waits for you." in there


def test_strip_leads_on_to_connect_after_the_answer(root: Someone) -> None:
    asked = ask(root)
    answer(asked, root)

    page = root.page(f"/tasks/{asked.task_id}/")

    assert "Now connect a client of your own" in page
    assert 'class="btn primary" href="/connect/"' in page


def test_answer_that_came_from_a_client_is_not_the_viewers_own(root: Someone) -> None:
    asked = ask(root)
    given = {asked.key: store.Answer(AnswerAction.DECLINE)}
    store.answer(asked.task_id, given, owner_id=root.owner_id, by=SYSTEM, via=Via.MCP)

    assert "Now connect" not in root.page("/tasks/")


def test_strip_is_gone_once_a_client_of_ones_own_has_called(root: Someone) -> None:
    answer(ask(root), root)
    token, _ = store.create_token(root.owner_id, name="laptop", by=SYSTEM)

    assert store.authenticate(token) is not None

    assert STRIP not in root.page("/tasks/")


def test_strip_stays_closed_in_the_browser_that_closed_it(root: Someone) -> None:
    ask(root)
    assert STRIP in root.page("/tasks/")

    closed = root.browser.post("/tour/close/")

    assert closed["Location"] == "/tasks/"
    assert STRIP not in root.page("/tasks/")


def test_demo_data_can_be_removed_from_the_strip_by_an_administrator_alone(settings: Settings) -> None:
    settings.TASKDECK_DEMO = True
    alice = Someone("alice")
    ask(alice)

    assert STRIP in alice.page("/tasks/")
    assert "/demo/remove/" not in alice.page("/tasks/")


def test_removed_demo_is_refused_from_then_on_and_leaves_no_strip(root: Someone) -> None:
    ask(root)
    assert 'action="/demo/remove/"' in root.page("/tasks/")

    root.browser.post("/demo/remove/")

    assert not Credential.objects.filter(name=credentials.DEMO, revoked_at__isnull=True).exists()
    assert STRIP not in root.page("/tasks/")


def test_there_is_no_strip_without_the_demo_nor_for_who_has_no_part_in_it(root: Someone, settings: Settings) -> None:
    ask(root)

    assert STRIP not in Someone("alice").page("/tasks/")
    assert STRIP not in root.page("/overview/")
    settings.TASKDECK_DEMO = False
    assert STRIP not in root.page("/tasks/")


def test_three_cards_turn_green_one_after_the_other() -> None:
    alice = Someone("alice")
    before = alice.page("/tasks/")

    workers.beat("w1", slots=2, draining=False)
    up = alice.page("/connect/steps/")
    token, _ = store.create_token(alice.owner_id, name="laptop", by=SYSTEM)
    store.authenticate(token)
    connected = alice.page("/connect/steps/")

    assert "Waiting for a worker." in before
    assert before.count("data-done") == 0
    assert "1 worker with room for 2 tasks" in up
    assert up.count("data-done") == 1
    assert "Client connected" in connected
    assert connected.count("data-done") == 2
    assert "hx-get" in up
    assert "hx-get" not in connected
