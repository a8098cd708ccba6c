"""The list of tasks in a real browser: rows are picked and acted on, searches completed, choices remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from tasks_app import bus, store
from tasks_app.store import queries

WORKER = store.Claimant("w1")
LIVE = re.compile("^Live$")


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
    return store.create(store.NewTask(owner_id=owner_id, tool=tool)).task


def open_list(page: Page, address: str = "/tasks/") -> None:
    page.goto(address)
    page.mouse.move(0, 0)
    expect(page.locator(".live")).to_have_text(LIVE)


def row_of(page: Page, task_id: object) -> Any:
    return page.locator(f"#task-{task_id}")


def status_of(task: store.Snapshot) -> str:
    return queries.get(task.id, owner_id=None).status.value


def test_rows_are_picked_and_cancelled_by_keyboard_after_a_question(signed_in: Page, owner_id: int) -> None:
    kept, second, first = (create(owner_id) for _ in range(3))
    open_list(signed_in)
    keys = signed_in.keyboard

    keys.press("j")
    keys.press("s")
    keys.press("Shift+J")
    expect(signed_in.locator("[data-picked]")).to_have_text("2 selected")
    keys.press("x")
    expect(signed_in.get_by_role("heading", name="Cancel 2 tasks?")).to_be_visible()
    keys.type("wrong list")
    assert [status_of(task) for task in (first, second)] == ["working", "working"]
    signed_in.get_by_role("button", name="Cancel 2 tasks").click()

    expect(signed_in.get_by_role("status").filter(has_text="2 cancelled.")).to_be_visible()
    assert [status_of(task) for task in (first, second, kept)] == ["cancelled", "cancelled", "working"]


def test_picked_row_stays_picked_and_in_place_while_it_changes(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    open_list(signed_in)
    row_of(signed_in, claim.task_id).locator(".pick").check()
    signed_in.mouse.move(0, 0)
    signed_in.evaluate("document.activeElement.blur()")

    news = create(owner_id)
    store.complete(claim, result={"content": []}, is_error=False)

    expect(row_of(signed_in, claim.task_id).locator(".chip")).to_have_text("Completed")
    expect(row_of(signed_in, claim.task_id).locator(".pick")).to_be_checked()
    pill = signed_in.get_by_role("button", name="1 new")
    expect(pill).to_be_visible()
    pill.click()
    expect(row_of(signed_in, news.id)).to_be_visible()
    expect(row_of(signed_in, claim.task_id).locator(".pick")).to_be_checked()
    signed_in.keyboard.press("Escape")
    expect(signed_in.locator("#bulk")).to_be_hidden()


def test_rows_are_cancelled_without_javascript(browser: Browser, base_url: str, owner_id: int, password: str) -> None:
    task = create(owner_id)
    page = browser.new_context(base_url=base_url, java_script_enabled=False).new_page()
    page.goto("/login/?next=/tasks/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Cancel…")).to_be_hidden()

    row_of(page, task.id).locator(".pick").check()
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("heading", name="Cancel 1 task?")).to_be_visible()
    page.get_by_role("button", name="Cancel 1 task").click()

    expect(page.get_by_text("1 cancelled.")).to_be_visible()
    assert status_of(task) == "cancelled"
    page.context.close()


def test_search_is_completed_from_what_is_offered(signed_in: Page, owner_id: int) -> None:
    wanted, other = create(owner_id, "resize_images"), create(owner_id, "crawl_site")
    open_list(signed_in)
    keys, options = signed_in.keyboard, signed_in.locator("#suggestions [role=option]")

    keys.press("/")
    keys.type("to")
    expect(options).to_have_text(["tool:name, * for any part"])
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(options).to_have_count(2)
    keys.type("res")
    expect(options).to_have_text(["tool:resize_images"])
    keys.press("ArrowDown")
    keys.press("Tab")
    expect(signed_in.get_by_label("Search tasks")).to_have_value("tool:resize_images ")
    expect(signed_in.locator("#suggestions")).to_be_hidden()
    keys.press("Enter")

    expect(row_of(signed_in, wanted.id)).to_be_visible()
    expect(row_of(signed_in, other.id)).to_have_count(0)


def test_columns_and_density_are_remembered(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    open_list(signed_in)

    signed_in.get_by_role("button", name="Columns").click()
    signed_in.get_by_label("Owner").uncheck()
    signed_in.get_by_label("Attempts").check()
    signed_in.get_by_role("button", name="Show these").click()
    expect(signed_in.get_by_role("columnheader", name="Attempts")).to_be_visible()
    signed_in.get_by_role("button", name="Compact").click()
    open_list(signed_in)

    expect(signed_in.get_by_role("columnheader", name="Owner")).to_have_count(0)
    expect(signed_in.get_by_role("button", name="Compact")).to_have_attribute("aria-pressed", "true")
    row = signed_in.locator(".tasks tbody tr").bounding_box()
    assert row is not None
    assert row["height"] <= 34


def test_palette_leads_to_a_task_and_its_page_leads_on_along_the_list(signed_in: Page, owner_id: int) -> None:
    older, newer = create(owner_id, "crawl_site"), create(owner_id)
    open_list(signed_in)
    keys = signed_in.keyboard

    keys.press("Control+k")
    keys.type(str(newer.id)[:8])
    expect(signed_in.locator("#places [role=option]")).to_have_text([re.compile(r"^\s*deploy")])
    keys.press("Enter")
    expect(signed_in).to_have_url(re.compile(f"/tasks/{newer.id}/"))
    expect(signed_in.locator(".live")).to_have_text(LIVE)
    keys.press("j")

    expect(signed_in).to_have_url(re.compile(f"/tasks/{older.id}/"))


def test_times_are_shown_from_now_here_or_in_greenwich(signed_in: Page, owner_id: int) -> None:
    task = create(owner_id)
    open_list(signed_in)
    age = row_of(signed_in, task.id).locator(".c-age time")

    expect(age).to_have_text(re.compile(r"^\d+s$"))
    signed_in.keyboard.press("z")
    expect(age).to_have_text(re.compile(r"^\d\d:\d\d$|^\d+ \w+$"))
    signed_in.keyboard.press("z")
    expect(age).to_have_text(re.compile(r"^\d\d:\d\dZ$|^\d+ \w+$"))


def test_list_with_everything_open_has_no_serious_accessibility_fault(signed_in: Page, owner_id: int) -> None:
    task = create(owner_id)
    open_list(signed_in)
    row_of(signed_in, task.id).locator(".pick").check()
    signed_in.get_by_role("button", name="Cancel…").click()
    expect(signed_in.get_by_role("heading", name="Cancel 1 task?")).to_be_visible()
    asking = Axe().run(signed_in).response["violations"]
    signed_in.keyboard.press("Escape")
    signed_in.get_by_label("Search tasks").fill("to")
    expect(signed_in.locator("#suggestions")).to_be_visible()

    offering = Axe().run(signed_in).response["violations"]

    serious = [found["id"] for found in (*asking, *offering) if found["impact"] in {"serious", "critical"}]
    assert serious == []
