"""Tasks, one task, the inbox and answering, as a person in a browser meets them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.pages.board import PAGE
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, QuestionKind, Via
from tasks_app.store import queries
from tests.conftest import DatabaseClock

pytestmark = pytest.mark.django_db

WORKER = store.Claimant("w1")
ASK: dict[str, Any] = {
    "message": "Roll out?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "percent": {"type": "integer", "title": "Percent", "minimum": 1, "maximum": 100, "default": 10},
            "note": {"type": "string", "title": "Note"},
        },
        "required": ["percent"],
    },
}
XSS = "<img src=x onerror=alert(1)>'\"`{{12345679*9}}{% debug %}\u202e"


class Someone:
    """An account, its owner and its browser."""

    def __init__(self, name: str, *groups: str) -> None:
        self.user = User.objects.create_user(name, password="a long password")
        for group in groups:
            self.user.groups.add(Group.objects.get_or_create(name=group)[0])
        self.owner_id = store.owner_of(self.user)
        self.browser = Client()
        self.browser.force_login(self.user)


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


@pytest.fixture
def eddy(db: None) -> Someone:
    """A stranger."""
    return Someone("eddy")


def create(owner: Someone, tool: str = "deploy", **arguments: object) -> store.Snapshot:
    return store.create(store.NewTask(owner_id=owner.owner_id, tool=tool, arguments=arguments)).task


def asking(owner: Someone, request: Mapping[str, Any] = ASK) -> tuple[store.Snapshot, store.QuestionView]:
    task = create(owner, service="web")
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.suspend(claim, [store.NewQuestion(name="approve", request=request)])
    return task, queries.questions(task.id)[0]


def path(task: store.Snapshot, question: store.QuestionView) -> str:
    return f"/inbox/{task.id}/{question.key}/answer/"


def test_tasks_page_shows_the_owners_tasks_and_no_others(ana: Someone, eddy: Someone) -> None:
    mine, other = create(ana), create(eddy)

    page = ana.browser.get("/tasks/").content.decode()

    assert f"/tasks/{mine.id}/" in page
    assert str(other.id) not in page


def test_everyone_is_shown_to_operators_only(ana: Someone, opal: Someone, eddy: Someone) -> None:
    task = create(ana)

    assert str(task.id) not in opal.browser.get("/tasks/").content.decode()
    assert str(task.id) in opal.browser.get("/tasks/?scope=all").content.decode()
    assert str(task.id) not in eddy.browser.get("/tasks/?scope=all").content.decode()


def test_search_narrows_and_says_what_it_does_not_understand(ana: Someone) -> None:
    rome, oslo = create(ana, city="Rome"), create(ana, city="Oslo")

    page = ana.browser.get("/tasks/", {"q": "arg.city:Rome colour:red"}).content.decode()

    assert str(rome.id) in page
    assert str(oslo.id) not in page
    assert "is no search key" in page


def test_questions_stand_on_top_of_the_first_page(ana: Someone) -> None:
    waiting, _ = asking(ana)
    newer = create(ana)

    page = ana.browser.get("/tasks/").content.decode()

    assert page.index(f"task-{waiting.id}") < page.index(f"task-{newer.id}")


def test_older_pages_are_reached_by_a_signed_place(ana: Someone, settings: Any) -> None:
    settings.TASKDECK_LIVE_TASKS = 200
    made = {str(create(ana).id) for _ in range(60)}
    first = ana.browser.get("/tasks/")
    older = first.context["older"]

    second = ana.browser.get(f"/tasks/{older}")

    seen = [str(row.task.id) for page in (first, second) for row in page.context["rows"]]
    assert sorted(seen) == sorted(made)
    assert ana.browser.get("/tasks/?after=forged").status_code == 200


@pytest.mark.parametrize("sort", ["", "expires"])
def test_newer_page_is_the_one_that_one_came_from(ana: Someone, settings: Any, sort: str) -> None:
    settings.TASKDECK_LIVE_TASKS = 200
    for _ in range(PAGE * 2 + 5):
        create(ana)
    pages = [ana.browser.get(f"/tasks/?sort={sort}")]
    for _ in range(2):
        pages.append(ana.browser.get(f"/tasks/{pages[-1].context['older']}"))

    second = ana.browser.get(f"/tasks/{pages[2].context['newer']}")
    first = ana.browser.get(f"/tasks/{second.context['newer']}")

    assert listed(second) == listed(pages[1])
    assert listed(first) == listed(pages[0])
    assert (first.context["newer"], first.context["newest"]) == ("", "")
    assert listed(ana.browser.get(f"/tasks/{second.context['older']}")) == listed(pages[2])
    assert ana.browser.get("/tasks/?before=forged").status_code == 200


def listed(page: Any) -> list[str]:
    return [str(row.task.id) for row in page.context["rows"]]


@pytest.mark.parametrize("suffix", ["", "arguments.json"])
def test_anothers_task_looks_like_one_that_never_was(ana: Someone, eddy: Someone, suffix: str) -> None:
    task = create(ana)

    foreign = eddy.browser.get(f"/tasks/{task.id}/{suffix}")
    missing = eddy.browser.get(f"/tasks/{uuid.uuid4()}/{suffix}")

    assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content) == (404, missing.content)


def test_task_page_tells_its_story(ana: Someone) -> None:
    task = create(ana, build=9007199254740993)
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.save_step(claim, name="plan", position=0, value=1)
    store.write_output(claim, "a line\n")
    store.complete(
        claim, result={"content": [{"type": "text", "text": "out of paper"}], "isError": True}, is_error=True
    )

    page = ana.browser.get(f"/tasks/{task.id}/").content.decode()

    for words in (
        "9007199254740993",
        "plan",
        "a line",
        "out of paper",
        "The tool reported an error",
        "Completed",
        "w1",
    ):
        assert words in page


def test_answer_wakes_the_task_and_leads_back(ana: Someone) -> None:
    task, question = asking(ana)

    response = ana.browser.post(path(task, question), {"action": "accept", "f-percent": "25", "f-note": ""})

    assert response.status_code == 302
    recorded = queries.questions(task.id)[0]
    assert recorded.answer == {"action": "accept", "content": {"percent": 25}}
    assert queries.get(task.id, owner_id=None).status == "working"


def test_answer_that_does_not_fit_is_422_and_keeps_what_was_typed(ana: Someone) -> None:
    task, question = asking(ana)

    response = ana.browser.post(path(task, question), {"action": "accept", "f-percent": "500", "f-note": "my draft"})

    page = response.content.decode()
    assert response.status_code == 422
    assert "at most 100" in page
    assert "my draft" in page
    assert 'value="500"' in page
    assert queries.questions(task.id)[0].state == "open"


def test_late_answer_is_409_says_who_was_first_and_keeps_the_draft(ana: Someone, opal: Someone) -> None:
    """section 2 item 2: the loser of the race is told, and nothing typed is lost."""
    task, question = asking(ana)
    opal.browser.post(path(task, question), {"action": "decline", "reason": "on call"})

    response = ana.browser.post(path(task, question), {"action": "accept", "f-percent": "25", "f-note": "my draft"})

    page = response.content.decode()
    assert response.status_code == 409
    assert "opal declined this." in page
    assert "my draft" in page
    assert queries.questions(task.id)[0].action == AnswerAction.DECLINE


def test_answer_of_a_client_is_told_to_the_person_who_was_late(ana: Someone) -> None:
    task, question = asking(ana)
    given = store.Answer(AnswerAction.ACCEPT, {"percent": 1})
    store.answer(task.id, {question.key: given}, owner_id=ana.owner_id, by=_client(ana.owner_id), via=Via.MCP)

    page = ana.browser.get(f"/inbox/{task.id}/{question.key}/").content.decode()

    assert "through a client" in page


def _client(owner_id: int) -> Actor:
    return Actor(ActorKind.CLIENT, id=owner_id, via="mcp")


def test_operator_needs_a_reason_to_answer_for_another(ana: Someone, opal: Someone) -> None:
    task, question = asking(ana)

    refused = opal.browser.post(path(task, question), {"action": "decline"})
    accepted = opal.browser.post(path(task, question), {"action": "decline", "reason": "duplicate"})

    assert refused.status_code == 422
    assert "reason" in refused.content.decode()
    assert accepted.status_code == 302
    assert queries.questions(task.id)[0].answered_by["reason"] == "duplicate"  # type: ignore[index]


def test_stranger_cannot_answer_cancel_or_extend(ana: Someone, eddy: Someone) -> None:
    task, question = asking(ana)
    before = queries.get(task.id, owner_id=None)

    for address in (path(task, question), f"/tasks/{task.id}/cancel/", f"/tasks/{task.id}/extend/"):
        assert eddy.browser.post(address, {"action": "decline", "reason": "x"}).status_code == 404

    assert queries.get(task.id, owner_id=None) == before


def test_expired_question_is_not_answered(ana: Someone, clock: DatabaseClock) -> None:
    task, question = asking(ana)
    clock.advance(timedelta(days=7, minutes=1))
    store.expire_questions()

    response = ana.browser.post(path(task, question), {"action": "accept", "f-percent": "25"})

    assert response.status_code == 409
    assert "Nobody answered in time" in response.content.decode()
    clock.release()


def test_cancel_ends_the_task_with_its_reason(ana: Someone) -> None:
    task = create(ana)

    response = ana.browser.post(f"/tasks/{task.id}/cancel/", {"reason": "wrong list"}, follow=True)

    assert "Task cancelled" in response.content.decode()
    assert queries.get(task.id, owner_id=None).status == "cancelled"
    assert "wrong list" in response.content.decode()


def test_cancel_of_a_finished_task_says_so_and_changes_nothing(ana: Someone) -> None:
    task = create(ana)
    store.cancel(task.id, owner_id=None, by=_client(ana.owner_id))
    before = queries.get(task.id, owner_id=None)

    response = ana.browser.post(f"/tasks/{task.id}/cancel/", {}, follow=True)

    assert "had already ended" in response.content.decode()
    assert queries.get(task.id, owner_id=None) == before


def test_extend_keeps_the_task_for_longer(ana: Someone) -> None:
    task = create(ana)

    ana.browser.post(f"/tasks/{task.id}/extend/", {"by": "1d"})

    assert queries.get(task.id, owner_id=None).expires_at - task.expires_at == timedelta(days=1)


@pytest.mark.parametrize("address", ["cancel/", "extend/"])
def test_changes_are_never_made_by_get(ana: Someone, address: str) -> None:
    task = create(ana)

    assert ana.browser.get(f"/tasks/{task.id}/{address}").status_code == 405


def test_changes_need_the_token_of_our_own_form(ana: Someone) -> None:
    task = create(ana)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ana.user)

    assert strict.post(f"/tasks/{task.id}/cancel/").status_code == 403
    assert queries.get(task.id, owner_id=None).status == "working"


def test_inbox_lists_the_soonest_first_and_opens_one(ana: Someone) -> None:
    task, question = asking(ana)

    page = ana.browser.get("/inbox/").content.decode()

    assert f"/inbox/{task.id}/{question.key}/" in page
    assert "Send answer" in page
    assert "Nothing needs you" in Someone("zed").browser.get("/inbox/").content.decode()


def test_approval_is_shown_to_operators_with_the_arguments(ana: Someone, opal: Someone) -> None:
    new = store.NewTask(owner_id=ana.owner_id, tool="drop_table", arguments={"table": "orders"}, approval=ASK)
    task = store.create(new).task

    inbox = opal.browser.get("/inbox/?scope=all").content.decode()

    assert str(task.id) in inbox
    assert "orders" in inbox
    assert str(task.id) not in ana.browser.get("/inbox/").content.decode()


def test_nothing_that_a_task_says_becomes_markup(ana: Someone) -> None:
    evil: dict[str, Any] = {"message": XSS}
    evil["requestedSchema"] = {
        "type": "object",
        "properties": {"a": {"type": "string", "title": XSS, "description": XSS, "enum": [XSS, "b"]}},
    }
    store.create(store.NewTask(owner_id=ana.owner_id, tool=XSS, arguments={XSS: XSS}, client=XSS))
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.write_output(claim, XSS)
    store.save_step(claim, name=XSS, position=0, value=XSS)
    store.set_variables(claim, {"v": XSS})
    store.suspend(claim, [store.NewQuestion(name="q", request=evil)])
    question = queries.questions(claim.task_id)[0]

    for address in (
        "/tasks/",
        f"/tasks/{claim.task_id}/",
        "/inbox/",
        f"/inbox/{claim.task_id}/{question.key}/",
        f"/tasks/?q={XSS}",
    ):
        page = ana.browser.get(address).content.decode()
        assert "<img src=x" not in page, address
        assert "111111111" not in page, address


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"])
def test_address_of_a_question_is_a_link_only_on_the_web(ana: Someone, address: str) -> None:
    task = create(ana)
    claim = store.claim_next(WORKER)
    assert claim is not None
    request = {"mode": "url", "message": "Open", "url": address}
    store.suspend(claim, [store.NewQuestion(name="q", request=request, kind=QuestionKind.URL)])

    page = ana.browser.get(f"/tasks/{task.id}/").content.decode()

    assert f'href="{address}"' not in page


def test_pages_ask_the_database_a_fixed_number_of_times(ana: Someone) -> None:
    for _ in range(20):
        create(ana)
    few = _queries(ana, "/tasks/")
    for _ in range(30):
        create(ana)

    assert _queries(ana, "/tasks/") == few
    assert few <= 14


def _queries(someone: Someone, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert someone.browser.get(address).status_code == 200
    return len(captured)
