"""Whatever an address asks for, a page answers: with what there is, with nothing, or with what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

import pytest
from django.test import Client

from tests.console.authorization.table import TABLE
from tests.console.authorization.world import address, routes, thing
from tests.console.pages.people import Someone

pytestmark = pytest.mark.django_db
ROUTES = routes()
NOT_ALLOWED = 405
NOT_FOUND = 404
PAGES = [name for name, expected in TABLE.items() if not expected.is_open]
PARAMETERS = (
    "q", "sort", "after", "before", "scope", "range", "from", "to", "dates", "owner", "tool", "kind", "task", "by",
    "action", "ids", "version", "tab", "client", "show", "open", "format", "next",
)  # fmt: skip
VALUES = (
    "", "a\x00b", "é" * 3000, "%_\\", "-1", "9" * 40, "٣", "nan", "0001-01-01", "9999-12-31",
    "9999-12-31T23:59:59+14:00", "expires", "<script>", "00000000-0000-0000-0000-000000000000",
)  # fmt: skip
DAYS = ("tasks", "expirations_expired", "expirations_purged", "audit")
SEARCHES = (
    "created:9999-12-31", "created:0001-01-01", "created:..9999-12-31", "created:9999-12-31..", "expires:0001-01-01..",
    "created:9999-12-31T23:59:59-14:00", "created:<999999w", "created:>999999w", "expires:<999999w", "expires:>999999w",
    "tool:\x00", "owner:\x00", "client:\x00", "arg.x:\x00", "arg.\x00:y", "arg.x:", 'arg.x:""', "id:\x00", "is:\x00",
    "status:\x00", "\x00", "-\x00", "tool:*%_\\", "arg.x:\\u0000", "id:" + "f" * 40, "status:", "created:", "owner:,",
    "::",
)  # fmt: skip


def faults(browser: Client, name: str, queries: Iterable[dict[str, str]]) -> list[str]:
    """What this page cannot answer."""
    place = address(name, ROUTES[name], thing(None))
    answers = ((query, browser.get(f"{place}?{urlencode(query)}").status_code) for query in queries)
    return [repr(query)[:200] for query, status in answers if status >= 500]


@pytest.fixture
def admin() -> Someone:
    """Somebody who may open every page, and to whom a fault is an answer."""
    someone = Someone("ana", "admin")
    someone.browser.raise_request_exception = False
    return someone


@pytest.mark.parametrize("name", PAGES)
def test_no_page_breaks_over_what_an_address_asks_for(admin: Someone, name: str) -> None:
    if admin.browser.get(address(name, ROUTES[name], thing(None))).status_code == NOT_ALLOWED:
        return

    assert faults(admin.browser, name, [dict.fromkeys(PARAMETERS, value) for value in VALUES]) == []


@pytest.mark.parametrize("name", ["tasks", "suggestions", "palette"])
def test_no_search_breaks_a_page(admin: Someone, name: str) -> None:
    assert faults(admin.browser, name, [{"q": text} for text in SEARCHES]) == []


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Midway"])
@pytest.mark.parametrize("name", DAYS)
def test_no_day_breaks_a_page_in_any_zone(admin: Someone, name: str, zone: str) -> None:
    admin.browser.post("/account/zone/", {"time_zone": zone})
    edges = ("0001-01-01", "9999-12-31", "9999-12-31T23:59:59-14:00")

    assert faults(admin.browser, name, [{key: day} for key in ("from", "to") for day in edges]) == []
    assert faults(admin.browser, name, [{"q": f"{key}:{day}"} for key in ("created", "expires") for day in edges]) == []


@pytest.mark.parametrize("value", ["a\x00b", "\x00"])
def test_view_with_an_odd_name_or_search_is_saved_or_refused(value: str) -> None:
    someone = Someone("ana")

    answer = someone.browser.post("/tasks/views/", {"name": value, "q": f"tool:{value}"})

    assert answer.status_code == 302
    assert someone.browser.get("/tasks/").status_code == 200


@pytest.mark.parametrize("key", ["%00", "a%00b", "%FF", "%ED%A0%80"])
def test_no_key_of_a_question_breaks_its_page(admin: Someone, key: str) -> None:
    for page in ("", "state/"):
        assert admin.browser.get(f"/inbox/00000000-0000-0000-0000-000000000000/{key}/{page}").status_code == NOT_FOUND
