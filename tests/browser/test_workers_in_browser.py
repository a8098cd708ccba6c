"""The console in front of real workers: a cancel is followed to its end, and a race for one question has one winner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Page, expect
from pytest_django import DjangoDbBlocker

from tasks_app import bus, store
from tasks_app.client.modern import Client
from tasks_app.domain.identity import Actor
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import call, ended, line_of, text, waits
from tests.acceptance.conftest import TOOLS, is_up
from tests.browser.test_live_in_browser import open_live, sign_in, was_not_reloaded
from tests.conftest import Person
from tests.processes import start_engine, start_worker
from tests.waiting import until

ROUNDS = 3
LATE = "409 (Conflict)"
FIELD = ".form input, .form textarea"


@pytest.fixture(scope="module", autouse=True)
def workers(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A worker with two slots and an engine loop, both up."""
    with start_worker(slots=2, **TOOLS) as worker, start_engine(**TOOLS):
        with django_db_blocker.unblock():
            until(lambda: is_up(worker), 30)
        yield


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """What is waited for happens in other processes, on a machine that may be busy."""
    expect.set_options(timeout=20_000)
    yield
    expect.set_options(timeout=5_000)
    bus.close()


@pytest.fixture
def owner(alice: User) -> Person:
    """Alice as the owner of tasks."""
    return Person(store.owner_of(alice), "alice")


def cancel(page: Page, reason: str) -> None:
    page.get_by_role("button", name="Cancel task").first.click()
    dialog = page.locator("#cancel")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name="Cancel task").click()


@pytest.mark.parametrize(("tool", "end"), [(tools.cooperative, "stopped"), (tools.deaf, "killed")])
def test_cancel_is_followed_until_the_worker_has_ended(
    signed_in: Page, owner: Person, tmp_path: Path, tool: Any, end: str
) -> None:
    """section 2 item 5: the task ends at once, and the page tells by itself what becomes of its worker."""
    ledger = str(tmp_path / "ledger")
    task_id = call(owner, tool, ledger=ledger)
    line_of(ledger, "begun")
    open_live(signed_in, f"/tasks/{task_id}/")

    cancel(signed_in, "wrong input")

    banner = signed_in.locator(".banner").filter(has=signed_in.locator("#headline"))
    expect(banner).to_contain_text("Cancelled by alice: wrong input")
    signed_in.evaluate("document.body.dataset.untouched = 'yes'")
    if end == "killed":
        expect(banner).to_contain_text("Worker stopping for")
    expect(banner).to_contain_text(re.compile(rf"Worker {end} after \d"))
    was_not_reloaded(signed_in)


@pytest.fixture
def client(base_url: str, owner: Person) -> Client:
    """An MCP client of alice's."""
    token, _ = store.create_token(owner.id, name="laptop", by=Actor.system(via="tests"))
    return Client.at(f"{base_url}/mcp", token)


@pytest.fixture
def asking(owner: Person, tmp_path: Path) -> Callable[[], store.QuestionView]:
    """`asking()`: the question of a new task that a worker has begun."""
    return lambda: waits(call(owner, tools.greet, ledger=str(tmp_path / "ledger")))


@pytest.fixture
def bo(browser: Browser, base_url: str, alice: User, password: str) -> Iterator[Page]:
    """A browser of its own in which an operator has signed in."""
    User.objects.create_user("bo", password=password).groups.add(Group.objects.get_or_create(name="operator")[0])
    page = sign_in(browser, base_url, "bo", password)
    yield page
    page.context.close()


def test_two_browsers_and_a_client_race_for_one_question_and_the_losers_are_told(
    signed_in: Page, bo: Page, client: Client, asking: Callable[[], store.QuestionView], complaints: list[str]
) -> None:
    """section 2 item 2: whoever wins, the task goes on with that answer, and nobody else believes that theirs did."""
    words = {signed_in: "the owner", bo: "the operator"}
    with ThreadPoolExecutor(1) as pool:
        for _ in range(ROUNDS):
            asked = asking()
            for page, said in words.items():
                open_live(page, f"/inbox/{asked.task_id}/{asked.key}/")
                page.locator(FIELD).first.fill(said)
            bo.get_by_label("Reason").fill("on call")

            response = {asked.key: {"action": "accept", "content": {"text": "the client"}}}
            sent = pool.submit(client.answer, str(asked.task_id), response)
            for page in words:
                # As a click, but without waiting for what comes of it.
                page.evaluate("document.querySelector('button[name=action][value=accept]').click()")
            ignored = sent.result(30).get("_meta", {}).get("taskdeck/ignored", [])

            winner = text(ended(asked.task_id)).removeprefix("Hello ")
            assert [each.kind for each in queries.timeline(asked.task_id)].count("answered") == 1
            assert (winner == "the client") == (ignored == [])
            for page, said in words.items():
                is_told(page, has_won=said == winner)
    # Whoever comes too late is refused, and the browser notes that, too.
    complaints[:] = [each for each in complaints if LATE not in each]


def is_told(page: Page, *, has_won: bool) -> None:
    if has_won:
        expect(page.get_by_role("status").filter(has_text="Answer sent")).to_be_visible()
    else:
        expect(page.get_by_role("alert")).to_contain_text("answered this")
