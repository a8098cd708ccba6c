"""The live console in a real browser: what changes appears by itself, and nothing that somebody types is lost."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from playwright.sync_api import Browser, Page, expect

from tasks_app import bus, store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, QuestionState, Via
from tasks_app.store import queries
from tests.processes import Running, _answers, _start, free_port
from tests.waiting import until

WORKER = store.Claimant("w1")
ASK: dict[str, Any] = {
    "message": "Roll out?",
    "requestedSchema": {
        "type": "object",
        "properties": {"note": {"type": "string", "title": "Note"}},
        "required": ["note"],
    },
}
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
    return store.create(store.NewTask(owner_id=owner_id, tool=tool, arguments={"service": "web"})).task


def claimed(owner_id: int) -> store.Claim:
    create(owner_id)
    claim = store.claim_next(WORKER)
    assert claim is not None
    return claim


def ask(claim: store.Claim, request: dict[str, Any] = ASK) -> store.QuestionView:
    store.suspend(claim, [store.NewQuestion(name="approve", request=request)])
    return queries.questions(claim.task_id)[0]


def decline(asked: store.QuestionView, owner_id: int) -> None:
    """As another client of the owner does it."""
    client = Actor(ActorKind.CLIENT, id=owner_id, via="mcp")
    given = {asked.key: store.Answer(AnswerAction.DECLINE)}
    store.answer(asked.task_id, given, owner_id=owner_id, by=client, via=Via.MCP)


def complete(claim: store.Claim, text: str = "all done") -> None:
    store.complete(claim, result={"content": [{"type": "text", "text": text}]}, is_error=False)


def open_live(page: Page, address: str) -> None:
    """Open a page, wait until its subscription stands, and mark it so that a reload would show."""
    page.goto(address)
    page.mouse.move(0, 0)
    is_at(page, address)
    page.evaluate("document.body.dataset.untouched = 'yes'")


def is_at(page: Page, address: str) -> None:
    """Wait until this page is there, and alive."""
    expect(page).to_have_url(re.compile(re.escape(address)))
    expect(page.locator(".live")).to_have_text(LIVE)


def was_not_reloaded(page: Page) -> None:
    expect(page.locator("body")).to_have_attribute("data-untouched", "yes")


def row_of(page: Page, task_id: object) -> Any:
    return page.locator(f"#task-{task_id}")


def test_first_task_appears_on_a_page_that_said_there_were_none(signed_in: Page, owner_id: int) -> None:
    open_live(signed_in, "/tasks/")
    expect(signed_in.get_by_role("heading", level=1)).to_have_text("No tasks yet")

    task = create(owner_id)

    expect(row_of(signed_in, task.id)).to_contain_text("Working")
    was_not_reloaded(signed_in)


def test_row_changes_where_it_stands(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    other = create(owner_id)
    open_live(signed_in, "/tasks/")
    row_of(signed_in, other.id).evaluate("row => row.dataset.same = 'yes'")

    complete(claim)

    expect(row_of(signed_in, claim.task_id).locator(".chip")).to_have_text("Completed")
    expect(row_of(signed_in, other.id)).to_have_attribute("data-same", "yes")
    was_not_reloaded(signed_in)


def test_new_rows_wait_behind_a_pill_while_somebody_points_at_the_list(signed_in: Page, owner_id: int) -> None:
    first = create(owner_id)
    open_live(signed_in, "/tasks/")
    row_of(signed_in, first.id).hover()

    news = [create(owner_id) for _ in range(2)]

    pill = signed_in.get_by_role("button", name="2 new")
    expect(pill).to_be_visible()
    expect(row_of(signed_in, news[0].id)).to_have_count(0)
    pill.click()
    expect(row_of(signed_in, news[0].id)).to_be_visible()
    expect(row_of(signed_in, news[1].id)).to_be_visible()
    expect(pill).to_be_hidden()


def test_new_rows_come_by_themselves_while_nobody_would_lose_their_place(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(signed_in, "/tasks/")

    task = create(owner_id)

    expect(row_of(signed_in, task.id)).to_be_visible()
    expect(signed_in.locator("[data-new]")).to_be_hidden()
    was_not_reloaded(signed_in)


def test_task_page_follows_its_task_and_keeps_what_was_unfolded(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    store.save_step(claim, name="plan", position=0, value=1)
    open_live(signed_in, f"/tasks/{claim.task_id}/")
    signed_in.locator("summary", has_text="Steps").click()
    signed_in.locator("h1").click()

    store.save_step(claim, name="apply", position=1, value=1)
    complete(claim, "out of the oven")

    expect(signed_in.locator("[data-live=state] .chip")).to_have_text("Completed")
    expect(signed_in.locator("#result")).to_contain_text("out of the oven")
    expect(signed_in.locator(".steps-list", has_text="apply")).to_be_visible()
    expect(signed_in.get_by_role("button", name="Cancel task")).to_have_count(0)
    was_not_reloaded(signed_in)


def test_question_appears_on_the_page_of_its_task_and_is_counted(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    open_live(signed_in, f"/tasks/{claim.task_id}/")

    ask(claim)

    expect(signed_in.get_by_label("Note")).to_be_visible()
    expect(signed_in.locator(".nav .count")).to_contain_text("1")
    expect(signed_in).to_have_title(re.compile(r"^\(1\) "))
    expect(signed_in.locator("#announcer")).to_have_text("1 question waits for you")
    was_not_reloaded(signed_in)


def test_empty_inbox_fills_by_itself(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    open_live(signed_in, "/inbox/")
    expect(signed_in.get_by_role("heading", name="Nothing needs you")).to_be_visible()

    ask(claim)

    expect(signed_in.get_by_label("Note")).to_be_visible()
    was_not_reloaded(signed_in)


@pytest.mark.parametrize("where", ["/inbox/{task}/{key}/", "/tasks/{task}/"])
def test_form_locks_and_keeps_its_draft_when_the_question_ends_elsewhere(
    signed_in: Page, owner_id: int, where: str
) -> None:
    asked = ask(claimed(owner_id))
    open_live(signed_in, where.format(task=asked.task_id, key=asked.key))
    signed_in.get_by_label("Note").fill("my long draft")

    decline(asked, owner_id)

    expect(signed_in.get_by_role("alert")).to_contain_text("declined this through a client. Your answer was not sent.")
    expect(signed_in.get_by_label("Note")).to_have_value("my long draft")
    expect(signed_in.get_by_label("Note")).to_be_disabled()
    expect(signed_in.get_by_role("button", name="Send answer")).to_be_hidden()
    expect(signed_in.get_by_role("button", name="Copy draft")).to_be_visible()
    was_not_reloaded(signed_in)


def test_form_that_is_being_filled_in_survives_what_else_happens(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    asked = ask(claim)
    open_live(signed_in, f"/inbox/{asked.task_id}/{asked.key}/")
    signed_in.get_by_label("Note").fill("half a sen")

    other = ask(claimed(owner_id))

    expect(signed_in.locator(".mail a")).to_have_count(2)
    expect(signed_in.locator(f'.mail a[href*="{other.task_id}"]')).to_be_visible()
    expect(signed_in.locator('.mail a[aria-current="true"]')).to_have_attribute("href", re.compile(str(asked.task_id)))
    expect(signed_in.get_by_label("Note")).to_have_value("half a sen")
    expect(signed_in.get_by_label("Note")).to_be_focused()


def test_of_two_browsers_that_race_one_wins_and_the_other_is_told(
    signed_in: Page, browser: Browser, base_url: str, owner_id: int, password: str
) -> None:
    bo = User.objects.create_user("bo", password=password)
    bo.groups.add(Group.objects.get_or_create(name="operator")[0])
    asked = ask(claimed(owner_id))
    address = f"/inbox/{asked.task_id}/{asked.key}/"
    other = sign_in(browser, base_url, "bo", password)
    open_live(other, address)
    open_live(signed_in, address)
    other.get_by_label("Note").fill("the operator's words")
    signed_in.get_by_label("Note").fill("the owner's words")

    signed_in.get_by_role("button", name="Send answer").click()

    expect(signed_in.get_by_role("status").filter(has_text="Answer sent")).to_be_visible()
    expect(other.get_by_role("alert")).to_contain_text("alice answered this.")
    expect(other.get_by_label("Note")).to_have_value("the operator's words")
    expect(other.get_by_label("Note")).to_be_disabled()
    assert queries.questions(asked.task_id)[0].answer == {
        "action": "accept",
        "content": {"note": "the owner's words"},
    }
    other.context.close()


def test_operator_who_looks_at_everyone_hears_of_everyone(
    browser: Browser, base_url: str, owner_id: int, password: str
) -> None:
    bo = User.objects.create_user("bo", password=password)
    bo.groups.add(Group.objects.get_or_create(name="operator")[0])
    claim = claimed(owner_id)
    page = sign_in(browser, base_url, "bo", password)
    open_live(page, "/tasks/?scope=all")

    complete(claim)

    expect(row_of(page, claim.task_id).locator(".chip")).to_have_text("Completed")
    was_not_reloaded(page)
    page.context.close()


def test_pause_holds_everything_still_and_resume_catches_up(signed_in: Page, owner_id: int) -> None:
    claim = claimed(owner_id)
    open_live(signed_in, "/tasks/")
    signed_in.keyboard.press("p")
    chip = signed_in.locator(".live")
    expect(chip).to_have_text("Paused (p)")

    ask(claim)

    # The count goes on, so by now the news is here; the row is left alone all the same.
    expect(signed_in).to_have_title(re.compile(r"^\(1\) "))
    expect(row_of(signed_in, claim.task_id).locator(".chip")).to_have_text("Working")
    chip.click()
    expect(row_of(signed_in, claim.task_id).locator(".chip")).to_have_text("Input required")
    expect(chip).to_have_text(LIVE)


def test_signing_out_elsewhere_is_shown(signed_in: Page) -> None:
    open_live(signed_in, "/tasks/")

    Session.objects.all().delete()

    expect(signed_in.locator(".live")).to_have_text("Signed out")


def test_countdown_runs_by_the_clock_of_the_server(signed_in: Page, owner_id: int) -> None:
    asked = ask(claimed(owner_id))
    signed_in.clock.install()
    open_live(signed_in, f"/inbox/{asked.task_id}/{asked.key}/")
    due = signed_in.locator(".prompt .exp")

    for left, text, look in ((125_500, r"^2:0\d$", "exp near"), (50_500, r"^0:4\d$", "exp now")):
        due.evaluate("(each, left) => each.dateTime = new Date(Date.now() + clock.offset + left).toISOString()", left)
        signed_in.clock.run_for(2_000)
        expect(due).to_have_text(re.compile(text))
        expect(due).to_have_class(look)


def serve_at(port: int) -> AbstractContextManager[Running]:
    command = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--port", str(port), "--no-access-log"]
    return _start(command, {})


def test_page_comes_back_after_the_server_was_restarted_and_shows_what_it_missed(
    browser: Browser, owner_id: int, password: str
) -> None:
    claim = claimed(owner_id)
    port = free_port()
    with serve_at(port) as server:
        until(lambda: _answers(port))
        page = sign_in(browser, f"http://127.0.0.1:{port}", "alice", password)
        open_live(page, "/tasks/")
        server.send(signal.SIGTERM)
        server.wait()
        expect(page.locator(".live")).to_have_attribute("data-state", re.compile("retry|polling"))

    complete(claim)
    with serve_at(port):
        expect(page.locator(".live")).to_have_text(LIVE, timeout=45_000)
        expect(row_of(page, claim.task_id).locator(".chip")).to_have_text("Completed")
        was_not_reloaded(page)
        page.context.close()


def test_page_polls_and_says_so_when_no_socket_can_be_opened(
    signed_in: Page, owner_id: int, complaints: list[str]
) -> None:
    claim = claimed(owner_id)
    signed_in.route_web_socket("**/live", lambda socket: socket.close(code=1011))
    signed_in.clock.install()
    signed_in.goto("/tasks/")
    for _ in range(4):
        signed_in.clock.run_for(31_000)
    expect(signed_in.locator(".live")).to_have_text("Polling every 10 s")

    complete(claim)
    signed_in.clock.run_for(12_000)

    expect(row_of(signed_in, claim.task_id).locator(".chip")).to_have_text("Completed")
    assert complaints == []


def test_question_is_found_and_answered_with_the_keyboard_alone(signed_in: Page, owner_id: int) -> None:
    asked = ask(claimed(owner_id))
    open_live(signed_in, "/tasks/")
    keys = signed_in.keyboard

    keys.press("j")
    expect(row_of(signed_in, asked.task_id).locator(".name")).to_be_focused()
    keys.press("o")
    is_at(signed_in, f"/tasks/{asked.task_id}/")
    keys.press("i")
    expect(signed_in.get_by_label("Note")).to_be_focused()
    keys.type("go on, p j k ? x")
    keys.press("Control+Enter")

    expect(signed_in.get_by_role("status").filter(has_text="Answer sent")).to_be_visible()
    assert queries.questions(asked.task_id)[0].answer == {
        "action": "accept",
        "content": {"note": "go on, p j k ? x"},
    }


def test_keys_lead_through_the_inbox_and_none_accepts(signed_in: Page, owner_id: int) -> None:
    first, second = ask(claimed(owner_id)), ask(claimed(owner_id))
    open_live(signed_in, "/tasks/")
    keys = signed_in.keyboard

    keys.press("g")
    keys.press("i")
    is_at(signed_in, "/inbox/")
    keys.press("j")
    expect(signed_in.locator(".mail a").first).to_be_focused()
    keys.press("j")
    keys.press("Enter")
    is_at(signed_in, f"/inbox/{second.task_id}/")
    keys.press("Enter")
    expect(signed_in.get_by_label("Note")).to_be_focused()
    keys.press("Escape")
    keys.press("d")
    expect(signed_in.get_by_role("button", name="Decline")).to_be_focused()
    keys.press("u")
    expect(signed_in).to_have_url(re.compile(f"/tasks/{second.task_id}/"))

    states = {queries.questions(asked.task_id)[0].state for asked in (first, second)}
    assert states == {QuestionState.OPEN}


def test_list_of_keys_opens_closes_and_can_switch_them_off(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(signed_in, "/tasks/")
    sheet = signed_in.locator("#keys")

    signed_in.keyboard.press("?")
    expect(sheet).to_be_visible()
    sheet.get_by_label("Single-key shortcuts").uncheck()
    signed_in.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    signed_in.keyboard.press("p")
    signed_in.keyboard.press("/")

    expect(signed_in.get_by_label("Search tasks")).not_to_be_focused()
    expect(signed_in.locator(".live")).to_have_text(LIVE)


def test_search_is_one_key_away_and_typing_in_it_is_only_typing(signed_in: Page, owner_id: int) -> None:
    create(owner_id)
    open_live(signed_in, "/tasks/")
    search = signed_in.get_by_label("Search tasks")

    signed_in.keyboard.press("/")
    expect(search).to_be_focused()
    signed_in.keyboard.type("p?gi")
    expect(search).to_have_value("p?gi")
    signed_in.keyboard.press("Escape")

    expect(search).not_to_be_focused()
    expect(signed_in.locator(".live")).to_have_text(LIVE)
    expect(signed_in.locator("#keys")).to_be_hidden()


def test_cancel_and_extend_are_asked_for_by_key_and_never_done_by_one(signed_in: Page, owner_id: int) -> None:
    task = create(owner_id)
    open_live(signed_in, f"/tasks/{task.id}/")

    signed_in.keyboard.press("x")
    expect(signed_in.get_by_role("heading", name="Cancel deploy?")).to_be_visible()
    signed_in.keyboard.press("Escape")
    signed_in.keyboard.press("e")
    expect(signed_in.get_by_role("heading", name="Keep it for longer")).to_be_visible()
    signed_in.keyboard.press("Escape")

    assert queries.get(task.id, owner_id=owner_id).status == "working"


@pytest.mark.parametrize("address", ["/tasks/", "/tasks/{task}/", "/inbox/", "/settings/"])
def test_live_pages_have_no_serious_accessibility_fault_and_do_not_scroll_sideways(
    signed_in: Page, owner_id: int, address: str
) -> None:
    asked = ask(claimed(owner_id))
    open_live(signed_in, address.format(task=asked.task_id))
    overflow = {}
    for width in (320, 390, 768, 1440):
        signed_in.set_viewport_size({"width": width, "height": 844})
        overflow[width] = signed_in.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    signed_in.keyboard.press("?")
    expect(signed_in.locator("#keys")).to_be_visible()

    violations = Axe().run(signed_in).response["violations"]

    assert [found["id"] for found in violations if found["impact"] in {"serious", "critical"}] == []
    assert all(pixels <= 0 for pixels in overflow.values()), overflow


def test_question_is_answered_without_javascript(browser: Browser, base_url: str, owner_id: int, password: str) -> None:
    asked = ask(claimed(owner_id))
    page = sign_in(browser, base_url, "alice", password, java_script_enabled=False)
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    expect(page.locator(".live")).to_be_hidden()
    expect(page.locator("kbd.key").first).to_be_hidden()

    page.goto("/inbox/")
    page.get_by_label("Note").fill("by hand")
    page.get_by_role("button", name="Send answer").click()

    expect(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()
    assert queries.questions(asked.task_id)[0].state == QuestionState.ANSWERED
    page.context.close()


def sign_in(browser: Browser, base_url: str, name: str, password: str, **options: Any) -> Page:
    """A browser of its own in which somebody has signed in."""
    page = browser.new_context(base_url=base_url, **options).new_page()
    page.goto("/login/?next=/tasks/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/tasks/$"))
    return page


def test_value_that_is_cut_is_not_offered_to_be_copied_and_others_are_after_a_change(
    signed_in: Page, owner_id: int
) -> None:
    claim = claimed(owner_id)
    open_live(signed_in, f"/tasks/{claim.task_id}/")
    store.complete(claim, result={"content": [], "long": "x" * 3000, "short": "y"}, is_error=False)
    result = signed_in.locator("#result")
    expect(result.get_by_role("button", name="Copy the result")).to_be_visible()

    result.locator('[data-path=".long"]').hover()
    expect(result.get_by_role("button", name="Copy path")).to_be_visible()
    expect(result.get_by_role("button", name="Copy value")).to_have_count(0)
    result.locator('[data-path=".short"]').hover()
    expect(result.get_by_role("button", name="Copy value")).to_be_visible()
