"""Trees of JSON in a real browser: what is one line of a value is one line on the page."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tasks_app import store
from tests.browser.test_live_in_browser import create

LINE_PIXELS = 22


@pytest.fixture
def owner_id(alice: User) -> int:
    """Alice as an owner."""
    return store.owner_of(alice)


def test_value_takes_as_many_lines_as_it_has(signed_in: Page, owner_id: int) -> None:
    task = create(owner_id)
    signed_in.goto(f"/tasks/{task.id}/")

    row = signed_in.locator(".json .row", has_text="service")

    expect(row).to_be_visible()
    assert row.evaluate("each => each.clientHeight") == LINE_PIXELS
