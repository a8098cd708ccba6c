"""Every page in a real browser: no accessibility fault in either theme, no complaint, readable at 200 %, no motion.

The pages come from the resolver, so a new one is looked at as soon as it has a route.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from tasks_app import bus, store
from tasks_app.domain.identity import Actor
from tasks_app.store import loops, queries, workers
from tests.console.authorization.table import TABLE
from tests.console.authorization.world import named_parts, routes

# Parts of pages, files, and what is no page of its own.
NOT_A_PAGE = {
    "home", "task_rows", "raw", "log", "inbox_count", "question_state", "connect_check", "first_steps", "trouble",
    "webhook_state", "palette", "suggestions", "export_manifest",
}  # fmt: skip
NO_SESSION = {"healthz", "readyz", "metrics", "login"}
PAGES = sorted(
    name for name, expected in TABLE.items() if "GET" in expected.takes and name not in NOT_A_PAGE | NO_SESSION
)
WORKER = store.Claimant("w1")
ASK: dict[str, Any] = {
    "message": "Roll out?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "note": {"type": "string", "title": "Note", "description": "What others should know"},
            "way": {"type": "string", "title": "Way", "enum": ["canary", "all at once"]},
            "sure": {"type": "boolean", "title": "Sure", "default": True},
        },
        "required": ["note"],
    },
}
# A page as wide as a desktop shows it at 200 %.
ZOOMED = {"width": 640, "height": 450}
WIDE = {"width": 1280, "height": 900}


@pytest.fixture
def asked(page: Page, base_url: str, transactional_db: None) -> store.QuestionView:
    """A console with something of everything, and a browser in which its administrator is signed in."""
    root = User.objects.create_user("root")
    root.groups.add(Group.objects.get_or_create(name="admin")[0])
    browser = Client()
    browser.force_login(root)
    page.context.add_cookies([{"name": "sessionid", "value": browser.cookies["sessionid"].value, "url": base_url}])
    workers.beat("host:1:a", slots=2, draining=False)
    loops.beat("host:2:b")
    owner_id = store.owner_of(root)
    store.create_token(owner_id, name="laptop", by=Actor.system(via="test"))
    store.complete(_claim(owner_id), result={"content": [{"type": "text", "text": "done"}]}, is_error=True)
    store.fail(_claim(owner_id), error={"code": -32000, "message": "no"})
    store.set_progress(_claim(owner_id), done=1, total=3, message="one of three")
    waiting = _claim(owner_id)
    store.suspend(waiting, [store.NewQuestion(name="approve", request=ASK)])
    bus.close()
    return queries.questions(waiting.task_id)[0]


def _claim(owner_id: int) -> store.Claim:
    arguments = {"service": "web", "hosts": ["a", "b"]}
    store.create(store.NewTask(owner_id=owner_id, tool="deploy", arguments=arguments, client="laptop/1.0"))
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.write_output(claim, "a line of the log")
    return claim


def faults(page: Page, scheme: Any) -> list[str]:
    """The rules that the page breaks in this theme in a way that keeps somebody out."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    violations = Axe().run(page).response["violations"]
    return [f"{scheme} {found['id']}" for found in violations if found["impact"] in {"serious", "critical"}]


@pytest.mark.parametrize("name", PAGES)
def test_page_keeps_nobody_out(page: Page, asked: store.QuestionView, complaints: list[str], name: str) -> None:
    if name == "login_link":
        page.context.clear_cookies()
    known = {"task_id": asked.task_id, "key": asked.key, "name": "hash_files", "token": "used-up"}
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]

    page.goto(reverse(name, kwargs={part: known[part] for part in named_parts(routes()[name])}))

    assert page.locator("h1").count() == 1
    assert faults(page, "light") + faults(page, "dark") == []
    assert page.evaluate("document.getAnimations().filter((each) => each.playState === 'running').length") == 0
    page.set_viewport_size(ZOOMED)  # type: ignore[arg-type]
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.close()
    # The browser reports the status of a page that is meant to be gone; nothing else may be reported.
    complaints[:] = [each for each in complaints if not (name == "login_link" and "410" in each)]
