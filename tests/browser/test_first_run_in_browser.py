"""The first minute: one command, one link, a task that asks, an answer that is accepted."""

from __future__ import annotations

import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT
from tests.console.embedded.conftest import Run
from tests.processes import free_port

LINK = re.compile(r"^Sign in: (http://\S+/login/link/\S+/)$", re.MULTILINE)
FIRST_ANSWER_SECONDS = 60.0


@pytest.fixture
def site() -> Iterator[Run]:
    """`manage.py up` on an empty directory."""
    place = Path(tempfile.mkdtemp(prefix="taskdeck-test-"))
    place.chmod(0o755)
    run = Run(
        [sys.executable, str(ROOT / "manage.py"), "up"],
        data=place / "data",
        PORT=str(free_port()),
        DJANGO_SETTINGS_MODULE="console.settings.embedded",
        TASKDECK_WORKERS="2",
    )
    yield run
    run.clean_up()
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.timeout(400)
def test_newcomer_answers_a_question_within_a_minute_of_opening_the_link(
    site: Run, page: Page, complaints: list[str]
) -> None:
    """section 2 item 2: real tasks of a real client, and a person who is asked."""
    site.wait_for("Sign in: ")
    link = LINK.search(site.text)
    assert link is not None

    opened = time.monotonic()
    page.goto(link[1])
    expect(page.get_by_text("waits for you")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Answer").first.click()
    expect(page.get_by_role("heading", name="deploy_service")).to_be_visible()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Connect a client").first).to_be_visible(timeout=30_000)
    answered = time.monotonic() - opened
    expect(page.locator(".chip.completed")).to_be_visible(timeout=60_000)

    print(f"the first answer was accepted {answered:.1f} s after the link was opened")
    assert answered < FIRST_ANSWER_SECONDS
    assert complaints == []
    site.send(signal.SIGINT)
    assert site.code() == 0
    assert site.is_clean()
