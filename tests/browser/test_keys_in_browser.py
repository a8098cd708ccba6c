"""The keys of the sheet that no other test presses: each does what the sheet says, also where it is out of sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tasks_app import bus, store
from tasks_app.store import queries
from tests.browser.test_live_in_browser import ASK, WORKER, claimed, complete, create, is_at, open_live, row_of

STATUSES = {
    "1": "status:working",
    "2": "status:input_required",
    "3": "status:completed",
    "4": "is:toolerror",
    "5": "status:failed",
    "6": "status:cancelled",
}
ROWS = "tbody[data-rows] tr"
PAGE = 50
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 800}
ANY = re.compile(".")
COPIED = "navigator.clipboard.readText()"


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


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def sized(signed_in: Page, request: pytest.FixtureRequest) -> Page:
    """Alice's browser, wide and on a phone, where the rail and the theme are out of sight."""
    signed_in.set_viewport_size(request.param)
    return signed_in


def test_digit_shows_only_tasks_of_its_status_and_everything_again(sized: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(sized, "/tasks/")
    search = sized.get_by_label("Search tasks")

    for key, shown in STATUSES.items():
        sized.keyboard.press(key)
        expect(search).to_have_value(shown)
        sized.wait_for_load_state()
        sized.keyboard.press(key)
        expect(search).to_have_value("")
        sized.wait_for_load_state()


def test_shift_t_changes_the_theme(sized: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(sized, "/tasks/")
    expect(sized.locator("html")).not_to_have_attribute("data-theme", ANY)

    sized.keyboard.press("Shift+T")

    expect(sized.locator("html")).to_have_attribute("data-theme", ANY)
    is_at(sized, "/tasks/")


def test_brackets_turn_the_pages_of_the_list(signed_in: Page, owner_id: int) -> None:
    for _ in range(PAGE + 3):
        newest = create(owner_id)
    open_live(signed_in, "/tasks/")

    signed_in.keyboard.press("]")
    expect(signed_in.locator(ROWS)).to_have_count(3)
    is_at(signed_in, "/tasks/?")
    signed_in.keyboard.press("[")

    expect(row_of(signed_in, newest.id)).to_be_visible()
    expect(signed_in.locator(ROWS)).to_have_count(PAGE)


def test_n_goes_to_the_question_that_expires_next(signed_in: Page, owner_id: int) -> None:
    asked = {seconds: _ask_for(owner_id, seconds=seconds) for seconds in (900.0, 300.0, 600.0)}
    open_live(signed_in, f"/inbox/{asked[900.0].task_id}/{asked[900.0].key}/")

    signed_in.keyboard.press("n")

    expect(signed_in.locator(".prompt")).to_contain_text("300")
    expect(signed_in.locator('.mail a[aria-current="true"]')).to_contain_text("300")


def test_y_copies_the_id_on_the_list_and_the_link_on_the_page_of_a_task(signed_in: Page, owner_id: int) -> None:
    signed_in.context.grant_permissions(["clipboard-read", "clipboard-write"])
    task = create(owner_id)
    open_live(signed_in, "/tasks/")

    signed_in.keyboard.press("j")
    signed_in.keyboard.press("y")
    expect(signed_in.locator("#announcer")).to_contain_text("copied")
    of_row = signed_in.evaluate(COPIED)
    open_live(signed_in, f"/tasks/{task.id}/")
    signed_in.keyboard.press("y")
    expect(signed_in.locator("#announcer")).to_contain_text("copied")

    assert of_row == str(task.id)
    assert signed_in.evaluate(COPIED) == signed_in.url


@pytest.mark.parametrize(("key", "heading"), [("r", "Result"), ("a", "Arguments"), ("l", "Timeline")])
def test_letter_leads_to_a_part_of_the_page_of_a_task(signed_in: Page, owner_id: int, key: str, heading: str) -> None:
    claim = claimed(owner_id)
    complete(claim)
    open_live(signed_in, f"/tasks/{claim.task_id}/")

    signed_in.keyboard.press(key)

    expect(signed_in.locator("section:focus h2").first).to_have_text(re.compile(heading))


def test_full_stop_reads_the_page_again_at_once(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(signed_in, "/tasks/")

    with signed_in.expect_request(re.compile("/tasks/rows/")):
        signed_in.keyboard.press(".")


def _ask_for(owner_id: int, *, seconds: float) -> store.QuestionView:
    """A question that waits so long, and says so."""
    create(owner_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    request: dict[str, Any] = ASK | {"message": f"Waits {seconds:.0f}"}
    store.suspend(claim, [store.NewQuestion(name="approve", request=request, seconds=seconds)])
    return queries.questions(claim.task_id)[0]
