"""Suggestions and the palette offer what somebody may see, escaped, and in a fixed number of statements."""

from __future__ import annotations

import pytest
from django.utils.html import escape

from tasks_app import store
from tests.console.pages.people import Someone, create

pytestmark = pytest.mark.django_db

XSS = "<img src=x onerror=alert(1)>"


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


@pytest.fixture
def opal(db: None) -> Someone:
    """An operator."""
    return Someone("opal", "operator")


def suggested(someone: Someone, typed: str, scope: str = "") -> str:
    return someone.browser.get("/tasks/suggestions/", {"q": typed, "scope": scope}).content.decode()


def places(someone: Someone, typed: str) -> str:
    return someone.browser.get("/palette/", {"q": typed}).content.decode()


def test_tools_clients_and_arguments_of_ones_own_tasks_are_offered(ana: Someone) -> None:
    store.create(
        store.NewTask(owner_id=ana.owner_id, tool="crawl_site", client="claude-code", arguments={"city": "Rome"})
    )

    assert 'data-text="tool:crawl_site "' in suggested(ana, "tool:")
    assert 'data-text="client:claude-code "' in suggested(ana, "client:")
    assert 'data-text="arg.city:"' in suggested(ana, "arg.")
    assert 'data-text="arg.city:Rome "' in suggested(ana, "arg.city:")


@pytest.mark.parametrize("typed", ["tool:", "client:", "arg.", "arg.city:"])
def test_nothing_of_anothers_tasks_is_offered(ana: Someone, typed: str) -> None:
    stranger = Someone("eddy")
    new = store.NewTask(owner_id=ana.owner_id, tool="crawl_site", client="claude-code", arguments={"city": "Rome"})
    store.create(new)

    assert suggested(stranger, typed, scope="all").strip() == ""


def test_owners_are_offered_to_those_who_see_everyone(ana: Someone, opal: Someone) -> None:
    assert 'data-text="owner:ana "' in suggested(opal, "owner:a", scope="all")
    assert suggested(ana, "owner:").strip() == ""


def test_what_is_offered_is_text(ana: Someone) -> None:
    new = store.NewTask(owner_id=ana.owner_id, tool=XSS, client=XSS, arguments={"city": XSS})
    store.create(new)

    for typed in ("tool:", "client:", "arg.city:"):
        page = suggested(ana, typed)
        assert escape(XSS) in page
        assert "<img" not in page


def test_palette_leads_to_pages_views_tools_and_tasks(ana: Someone) -> None:
    task = create(ana, "crawl_site")
    ana.browser.post("/tasks/views/", {"name": "Nightly", "q": "tool:etl"})

    assert 'data-href="/inbox/"' in places(ana, "inb")
    assert 'data-href="/tasks/?q=tool%3Aetl&amp;sort=created"' in places(ana, "night")
    assert 'data-href="/tasks/?q=tool%3Acrawl_site"' in places(ana, "crawl")
    assert f'data-href="/tasks/{task.id}/"' in places(ana, str(task.id)[:8])
    assert 'data-href="/tasks/"' in places(ana, "")


def test_palette_does_not_find_anothers_task(ana: Someone) -> None:
    task, stranger = create(ana), Someone("eddy")

    assert str(task.id) not in places(stranger, str(task.id))
