"""Rows by themselves, for a page that was told that they changed: whose they are, and what is left of what expired."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest

from tasks_app import store
from tests.conftest import DatabaseClock
from tests.console.pages.markup import markup
from tests.console.pages.people import WORKER, Someone, ask, create

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


def rows(someone: Someone, *ids: object, more: str = "") -> list[str]:
    """The ids of the rows that come."""
    page = someone.page(f"/tasks/rows/?{more}ids={','.join(map(str, ids))}")
    return re.findall(r'<tr id="task-([0-9a-f-]+)"', page)


def test_row_of_another_is_like_one_that_never_was(ana: Someone) -> None:
    """check 104: what comes for another's id is byte for byte what comes for a made-up one."""
    task, stranger = create(ana), Someone("eddy")

    foreign = stranger.browser.get(f"/tasks/rows/?ids={task.id}")
    missing = stranger.browser.get(f"/tasks/rows/?ids={uuid4()}")

    assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)
    assert rows(ana, task.id) == [str(task.id)]
    assert rows(Someone("opal", "operator"), task.id) == [str(task.id)]


def test_expired_row_comes_only_to_a_list_that_shows_what_expired(ana: Someone, clock: DatabaseClock) -> None:
    over = ask(ana)
    clock.advance(timedelta(days=30))
    live = create(ana, "young")

    assert rows(ana, over.id, live.id) == [str(live.id)]
    assert set(rows(ana, over.id, live.id, more="expired=1&")) == {str(over.id), str(live.id)}
    assert rows(Someone("eddy"), over.id, more="expired=1&") == []
    assert 'data-rows="/tasks/rows/?expired=1&amp;"' in ana.page("/tasks/?q=is:expired")
    assert 'data-rows="/tasks/rows/?"' in ana.page("/tasks/")


@pytest.mark.parametrize("is_swept", [False, True])
def test_list_of_what_expired_says_nothing_of_what_was_asked_or_went_wrong(
    ana: Someone, clock: DatabaseClock, is_swept: bool
) -> None:
    ask(ana)
    create(ana, "failing")
    claim = store.claim_next(WORKER)
    assert claim is not None
    store.fail(claim, error={"code": -32603, "message": "marzipan"})
    clock.advance(timedelta(days=30))
    if is_swept:
        store.expire()

    answer = ana.browser.get("/tasks/?q=is:expired")

    page = markup(answer)
    assert len(answer.context["rows"]) == 2
    assert page.count("Expired</span>") == 2
    for payload in ("Go on?", "marzipan"):
        assert payload not in page
