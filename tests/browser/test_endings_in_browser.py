"""What ends while it is open in a browser: pages, rows and forms follow, and nothing that somebody typed is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tasks_app import bus, store
from tasks_app.domain.identity import Actor
from tasks_app.store import queries, tally
from tasks_app.store.announce import announce_now
from tests.conftest import DatabaseClock

WORKER = store.Claimant("w1")
LIVE = re.compile("^Live$")
ASK: dict[str, Any] = {
    "message": "Roll out?",
    "requestedSchema": {"type": "object", "properties": {"note": {"type": "string", "title": "Note"}}},
}


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Everything here is asynchronous, on a machine that may be busy."""
    expect.set_options(timeout=15_000)
    yield
    expect.set_options(timeout=5_000)
    bus.close()


@pytest.fixture
def owner_id(alice: User) -> int:
    """Alice as an owner."""
    return store.owner_of(alice)


def create(owner_id: int, tool: str = "deploy") -> store.Snapshot:
    return store.create(store.NewTask(owner_id=owner_id, tool=tool, arguments={"service": "web"})).task


def ask(owner_id: int) -> store.QuestionView:
    create(owner_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.suspend(claim, [store.NewQuestion(name="approve", request=ASK)])
    return queries.questions(claim.task_id)[0]


def expire(clock: DatabaseClock) -> None:
    """Let everything run out, as the loop does it, for everybody; only the clock of this test is moved for it."""
    clock.advance(timedelta(days=30))
    assert store.expire()
    clock.release()


def open_live(page: Page, address: str) -> None:
    """Open a page, wait until its subscription stands, and mark it so that a reload would show."""
    page.goto(address)
    page.mouse.move(0, 0)
    expect(page.locator(".live")).to_have_text(LIVE)
    page.evaluate("document.body.dataset.untouched = 'yes'")


def was_not_reloaded(page: Page) -> None:
    expect(page.locator("body")).to_have_attribute("data-untouched", "yes")


@pytest.mark.parametrize("where", ["/inbox/{task}/{key}/", "/tasks/{task}/"])
def test_form_locks_and_keeps_its_draft_when_its_task_expires(
    signed_in: Page, owner_id: int, clock: DatabaseClock, where: str
) -> None:
    asked = ask(owner_id)
    open_live(signed_in, where.format(task=asked.task_id, key=asked.key))
    signed_in.get_by_label("Note").fill("my long draft")

    expire(clock)

    alert = signed_in.get_by_role("alert")
    expect(alert).to_contain_text("Expired with its task. Your answer was not sent.")
    expect(alert.get_by_role("button", name="Copy draft")).to_be_visible()
    expect(signed_in.get_by_label("Note")).to_have_value("my long draft")
    expect(signed_in.get_by_label("Note")).to_be_disabled()
    was_not_reloaded(signed_in)


def test_answer_that_lost_against_the_end_of_its_task_keeps_its_draft(
    signed_in: Page, owner_id: int, clock: DatabaseClock, complaints: list[str]
) -> None:
    asked = ask(owner_id)
    open_live(signed_in, f"/inbox/{asked.task_id}/{asked.key}/")
    signed_in.keyboard.press("p")
    signed_in.route("**/state/", lambda route: route.abort())
    signed_in.get_by_label("Note").fill("my long draft")
    expire(clock)

    signed_in.get_by_role("button", name="Send answer").click()

    expect(signed_in.get_by_role("alert")).to_contain_text("Expired with its task.")
    expect(signed_in.get_by_label("note")).to_have_value("my long draft")
    # The browser names every answer of 409 on its console.
    expect(signed_in.locator(".live")).to_have_text(LIVE)
    complaints[:] = [each for each in complaints if "409" not in each and "ERR_FAILED" not in each]


def test_page_of_a_task_becomes_its_record_when_it_expires(
    signed_in: Page, owner_id: int, clock: DatabaseClock
) -> None:
    task = create(owner_id)
    open_live(signed_in, f"/tasks/{task.id}/")
    expect(signed_in.get_by_role("button", name="Cancel task")).to_be_visible()

    expire(clock)

    expect(signed_in.get_by_role("heading", name="Expiration record")).to_be_visible()
    expect(signed_in.get_by_role("button", name="Cancel task")).to_have_count(0)
    expect(signed_in.locator("main")).not_to_contain_text("service")
    was_not_reloaded(signed_in)


def test_page_of_a_task_says_that_it_expired_and_leaves_a_draft_alone(
    signed_in: Page, owner_id: int, clock: DatabaseClock
) -> None:
    asked = ask(owner_id)
    open_live(signed_in, f"/tasks/{asked.task_id}/")
    signed_in.get_by_label("Note").fill("my long draft")

    expire(clock)

    expect(signed_in.locator("main")).to_contain_text("This task expired on")
    expect(signed_in.get_by_label("Note")).to_have_value("my long draft")
    expect(signed_in.get_by_role("button", name="Cancel task")).to_have_count(0)
    was_not_reloaded(signed_in)


def test_row_of_a_task_that_expired_leaves_the_list(signed_in: Page, owner_id: int, clock: DatabaseClock) -> None:
    task = create(owner_id)
    open_live(signed_in, "/tasks/")
    row = signed_in.locator(f"#task-{task.id}")
    row.hover()

    expire(clock)

    expect(row).to_have_attribute("data-gone", "")
    signed_in.mouse.move(0, 0)
    expect(row).to_have_count(0)
    expect(signed_in.get_by_role("heading", name="No tasks yet")).to_be_visible()
    was_not_reloaded(signed_in)


def test_list_of_what_expired_keeps_its_rows(signed_in: Page, owner_id: int, clock: DatabaseClock) -> None:
    # By the clock of the server it has to be over, too.
    clock.advance(timedelta(days=-30))
    task = create(owner_id)
    clock.release()
    store.expire()
    open_live(signed_in, "/tasks/?q=is:expired")
    row = signed_in.locator(f"#task-{task.id}")
    expect(row).to_be_visible()

    with signed_in.expect_response(re.compile("/tasks/rows/")) as answer:
        signed_in.keyboard.press(".")

    assert str(task.id) in answer.value.text()
    expect(row).to_be_visible()
    expect(row).not_to_have_attribute("data-gone", "")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("status:working,input_required", "All quiet"),
        ("status:input_required", "Nothing needs you"),
        ("tool:deploy status:input_required", "No task matches"),
    ],
)
def test_empty_list_fills_by_itself_and_leaves_a_typed_search_alone(
    signed_in: Page, owner_id: int, query: str, says: str
) -> None:
    done = create(owner_id, "other")
    store.cancel(done.id, owner_id=owner_id, by=Actor.system(via="test"))
    open_live(signed_in, f"/tasks/?q={query}")
    expect(signed_in.get_by_role("heading", name=says)).to_be_visible()
    signed_in.get_by_label("Search tasks").fill(f"{query} tool:")

    asked = ask(owner_id)

    row = signed_in.locator(f"#task-{asked.task_id}")
    expect(row).to_contain_text("Roll out?")
    expect(signed_in.get_by_label("Search tasks")).to_have_value(f"{query} tool:")
    expect(signed_in.get_by_label("Search tasks")).to_be_focused()
    signed_in.keyboard.press("Escape")
    signed_in.keyboard.press("Escape")
    row.locator(".pick").check()
    expect(signed_in.locator("[data-picked]")).to_have_text("1 selected")
    was_not_reloaded(signed_in)


def test_inbox_goes_on_living_after_an_answer_that_did_not_fit(
    signed_in: Page, owner_id: int, complaints: list[str]
) -> None:
    asked = ask(owner_id)
    open_live(signed_in, f"/inbox/{asked.task_id}/{asked.key}/")
    signed_in.locator('form.prompt button[value="accept"]').evaluate("each => each.value = 'nonsense'")
    signed_in.get_by_label("Note").fill("half a sentence")
    signed_in.locator('form.prompt button[value="nonsense"]').click()
    expect(signed_in.locator(".errors")).to_be_visible()
    expect(signed_in.locator(".live")).to_have_text(LIVE)

    other = ask(owner_id)

    expect(signed_in.locator(f'.mail a[href*="{other.task_id}"]')).to_be_visible()
    expect(signed_in.get_by_label("Note")).to_have_value("half a sentence")
    complaints[:] = [each for each in complaints if "422" not in each]


def test_overview_follows_the_numbers_unless_it_is_paused(signed_in: Page, owner_id: int) -> None:
    """A page that is paused asks for nothing, and catches up afterwards."""
    asked: list[str] = []
    open_live(signed_in, "/overview/")
    signed_in.on("request", lambda request: asked.append(request.url) if request.url.endswith("/overview/") else None)
    signed_in.locator(".live").click()

    task = create(owner_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.set_progress(claim, done=1, total=2)
    while tally.fold():
        pass
    expect(signed_in.locator(".live")).to_have_text("Paused (p)")
    assert asked == []
    signed_in.locator(".live").click()

    expect(signed_in.locator("#tile-working .big")).to_have_text("1")
    assert task.id == claim.task_id
    was_not_reloaded(signed_in)
    store.complete(claim, result={"content": []}, is_error=False)
    while tally.fold():
        pass
    announce_now(queries.get(task.id, owner_id=None))
    expect(signed_in.locator("#tile-working .big")).to_have_text("0")
