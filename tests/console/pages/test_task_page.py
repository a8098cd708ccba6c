"""The page of a task in each way that it can stand: what is said first, and what can be narrowed and taken away."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.engine import tool
from tasks_app.engine.registry import registry
from tasks_app.store import queries
from tests.conftest import DatabaseClock
from tests.console.pages.people import WORKER, Someone, ask, create

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


def claimed(owner: Someone, **arguments: object) -> store.Claim:
    store.create(store.NewTask(owner_id=owner.owner_id, tool="deploy", arguments=arguments))
    claim = store.claim_next(WORKER)
    assert claim is not None
    return claim


def page_of(owner: Someone, task_id: object, query: str = "") -> str:
    return owner.page(f"/tasks/{task_id}/{query}")


def test_failed_task_says_why_before_anything_else(ana: Someone) -> None:
    claim = claimed(ana)
    store.fail(claim, error={"code": -32603, "message": "CRM rate limit", "data": {"reason": "timeout"}})

    page = page_of(ana, claim.task_id)

    assert "CRM rate limit</b>" in page
    assert "<code>-32603</code> · reason timeout" in page
    assert page.index("CRM rate limit") < page.index("Timeline")


def test_tool_error_is_told_apart_from_a_failed_task(ana: Someone) -> None:
    claim = claimed(ana)
    result = {"content": [{"type": "text", "text": "mailbox unavailable"}], "isError": True}
    store.complete(claim, result=result, is_error=True)

    page = page_of(ana, claim.task_id)

    assert "mailbox unavailable</b>" in page
    assert "The task itself completed" in page
    assert "Tool error" in page


def test_cancelled_task_says_who_why_and_that_its_worker_still_stops(ana: Someone) -> None:
    claim = claimed(ana)
    ana.browser.post(f"/tasks/{claim.task_id}/cancel/", {"reason": "wrong list"})

    stopping = page_of(ana, claim.task_id)
    store.stopped(claim)
    stopped = page_of(ana, claim.task_id)

    assert "Cancelled by ana: wrong list" in stopping
    assert "Worker stopping for" in stopping
    assert "Stopping</span>" in stopping
    assert "Worker stopped after" in stopped
    assert "Stopped when told to" in stopped


def test_expired_task_keeps_its_page_without_its_payload(ana: Someone, clock: DatabaseClock) -> None:
    claim = claimed(ana, secret="marzipan")
    store.write_output(claim, "whispered\n")
    store.complete(claim, result={"content": [], "structuredContent": {"word": "nougat"}}, is_error=False)
    clock.advance(timedelta(hours=2))

    page = page_of(ana, claim.task_id)

    assert "Clients can no longer read it" in page
    assert "Expired</span>" in page
    for payload in ("marzipan", "nougat", "whispered"):
        assert payload not in page
    assert "Extend" not in page
    for part in ("arguments.json", "result.json", "log.txt"):
        assert ana.browser.get(f"/tasks/{claim.task_id}/{part}").status_code == 404
    clock.release()


def test_expired_task_of_another_looks_like_one_that_never_was(ana: Someone, clock: DatabaseClock) -> None:
    task, stranger = create(ana), Someone("eddy")
    clock.advance(timedelta(hours=2))
    store.expire()

    foreign = stranger.browser.get(f"/tasks/{task.id}/")
    missing = stranger.browser.get(f"/tasks/{uuid.uuid4()}/")

    assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)
    assert foreign.status_code == 404
    clock.release()


def test_timeline_is_narrowed_by_a_link(ana: Someone) -> None:
    task = ask(ana)

    inputs, errors = page_of(ana, task.id, "?show=inputs"), page_of(ana, task.id, "?show=errors")

    assert "Created</b>" not in inputs
    assert "Input required</b>" in inputs
    assert "Nothing of this kind" in errors
    assert "Created</b>" in page_of(ana, task.id, "?show=nonsense")


def test_log_shows_its_end_and_is_taken_away_whole(ana: Someone) -> None:
    claim = claimed(ana)
    for number in range(210):
        store.write_output(claim, f"line {number};\n")

    page = page_of(ana, claim.task_id)
    whole = ana.browser.get(f"/tasks/{claim.task_id}/log.txt").content.decode()

    assert "line 209;" in page
    assert "line 9;" not in page
    assert whole.splitlines() == [f"line {number};" for number in range(210)]


def test_arguments_keep_their_numbers_and_have_paths(ana: Someone) -> None:
    claim = claimed(ana, build=9007199254740993, hosts=["a1"])

    page = page_of(ana, claim.task_id)

    assert "9007199254740993" in page
    assert 'data-path=".hosts[0]"' in page


def test_huge_result_is_offered_as_a_download(ana: Someone) -> None:
    claim = claimed(ana)
    store.complete(claim, result={"content": [{"type": "text", "text": "x" * 100_000}]}, is_error=False)

    page = page_of(ana, claim.task_id)

    assert "Too large to show here" in page
    assert len(page) < 100_000
    assert len(ana.browser.get(f"/tasks/{claim.task_id}/result.json").content) > 100_000


def test_facts_say_whether_the_result_was_ever_read(ana: Someone) -> None:
    claim = claimed(ana)
    store.complete(claim, result={"content": []}, is_error=False)

    before = page_of(ana, claim.task_id)
    store.record_fetch(claim.task_id, credential_id=None)

    assert "Never over MCP" in before
    assert "1 time, first" in page_of(ana, claim.task_id)


def test_steps_and_their_attempts_are_listed(ana: Someone) -> None:
    claim = claimed(ana)
    store.save_step(claim, name="plan", position=0, value={"hosts": 4})

    assert "attempt 1, " in page_of(ana, claim.task_id)


def test_planned_steps_are_shown_with_where_they_stand(ana: Someone) -> None:
    """check 130, check 131: what is done, where the last attempt failed, and what is still to come."""
    with registry.temporary():

        @tool(name="deploy", steps=("plan", "push", "check"))
        def deploy() -> None:
            """Never run here."""

        claim = claimed(ana)
        store.save_step(claim, name="plan", position=0, value={"hosts": 4})
        running = page_of(ana, claim.task_id)
        store.record(replace(store.retrying(claim, delay=60), failed_step="push"))
        failed = page_of(ana, claim.task_id)

    assert "1 of 3 done" in running
    assert (running.count("pending"), running.count(">failed<")) == (2, 0)
    assert (failed.count("pending"), failed.count(">failed<")) == (1, 1)


def test_number_of_statements_does_not_depend_on_how_much_happened(ana: Someone) -> None:
    def asked(questions: int) -> int:
        claim = claimed(ana)
        request: dict[str, Any] = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}
        names = [f"q{number}" for number in range(questions)]
        store.suspend(claim, [store.NewQuestion(name=name, request=request) for name in names])
        given = {each.key: store.Answer(AnswerAction.DECLINE) for each in queries.questions(claim.task_id)}
        by = store_actor(ana)
        store.answer(claim.task_id, given, owner_id=ana.owner_id, by=by, via=Via.CONSOLE)
        with CaptureQueriesContext(connection) as captured:
            page_of(ana, claim.task_id)
        store.cancel(claim.task_id, owner_id=None, by=by)
        return len(captured)

    assert asked(1) == asked(5)


def store_actor(owner: Someone) -> Actor:
    return Actor(ActorKind.OWNER, id=owner.owner_id, via="console")
