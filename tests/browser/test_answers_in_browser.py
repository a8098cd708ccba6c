"""Answering and cancelling where it is harder: at the last second, on a phone, without scripts, through a restart."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from tasks_app import bus, store
from tasks_app.domain.questions import QuestionState
from tasks_app.store import queries
from tests.browser.test_live_in_browser import (
    ASK,
    LIVE,
    ask,
    claimed,
    create,
    open_live,
    row_of,
    serve_at,
    sign_in,
    was_not_reloaded,
)
from tests.processes import _answers, free_port
from tests.waiting import until

DEADLINE_SECONDS = 6.0


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Everything here is asynchronous, on a machine that may be busy."""
    expect.set_options(timeout=30_000)
    yield
    expect.set_options(timeout=5_000)
    bus.close()


@pytest.fixture
def owner_id(alice: User) -> int:
    """Alice as an owner."""
    return store.owner_of(alice)


def test_form_locks_at_its_own_deadline_and_keeps_the_draft(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    store.suspend(claim, [store.NewQuestion(name="approve", request=ASK, seconds=DEADLINE_SECONDS)])
    [asked] = queries.questions(claim.task_id)
    signed_in.goto(f"/inbox/{asked.task_id}/{asked.key}/")
    note = signed_in.get_by_label("Note")

    note.fill("half a sentence")
    until(store.expire_questions, 30)

    expect(signed_in.locator("form[data-locked]")).to_be_visible()
    expect(note).to_be_disabled()
    expect(note).to_have_value("half a sentence")
    expect(signed_in.get_by_role("button", name="Send answer")).to_be_hidden()


def test_question_is_answered_on_a_phone(signed_in: Page, owner_id: int) -> None:
    signed_in.set_viewport_size({"width": 390, "height": 844})
    asked = ask(claimed(owner_id))
    open_live(signed_in, "/inbox/")

    signed_in.locator(".mail a").first.click()
    note = signed_in.get_by_label("Note")
    note.fill("from the train")
    send = signed_in.get_by_role("button", name="Send answer")
    overflow = signed_in.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    send.click()

    expect(signed_in.get_by_role("heading", name="Nothing needs you")).to_be_visible()
    assert queries.questions(asked.task_id)[0].state == QuestionState.ANSWERED
    assert overflow <= 0


def test_task_is_cancelled_from_its_page_without_javascript(
    browser: Browser, base_url: str, owner_id: int, password: str
) -> None:
    task = create(owner_id)
    page = sign_in(browser, base_url, "alice", password, java_script_enabled=False)

    page.goto(f"/tasks/{task.id}/")
    page.get_by_role("button", name="Cancel task").click()
    dialog = page.locator("#cancel")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel task").click()

    expect(page.locator("[data-live=state] .chip")).to_have_text("Cancelled")
    assert queries.get(task.id, owner_id=owner_id).status == "cancelled"
    page.context.close()


def test_task_that_is_created_while_the_server_restarts_appears_once(
    browser: Browser, owner_id: int, password: str
) -> None:
    create(owner_id)
    port = free_port()
    with serve_at(port) as server:
        until(lambda: _answers(port))
        page = sign_in(browser, f"http://127.0.0.1:{port}", "alice", password)
        open_live(page, "/tasks/")
        server.send(signal.SIGTERM)
        server.wait()
        expect(page.locator(".live")).to_have_attribute("data-state", re.compile("retry|polling"))

    task = create(owner_id)
    with serve_at(port):
        expect(page.locator(".live")).to_have_text(LIVE, timeout=45_000)
        expect(row_of(page, task.id)).to_be_visible()
        page.keyboard.press(".")
        expect(page.locator("tbody[data-rows] tr")).to_have_count(2)
        expect(row_of(page, task.id)).to_have_count(1)
        was_not_reloaded(page)
        page.context.close()
