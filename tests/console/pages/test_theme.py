"""The theme: remembered in a cookie, rendered by the server, changed by a plain form."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from tests.console.pages.markup import markup


def test_a_chosen_theme_is_remembered_and_rendered(signed_in: Client) -> None:
    back = signed_in.post("/theme/", {"theme": "dark", "next": "/tasks/?q=a"})

    page = markup(signed_in.get("/tasks/"))
    assert back["Location"] == "/tasks/?q=a"
    assert '<html lang="en" data-theme="dark">' in page
    assert '<meta name="color-scheme" content="dark">' in page
    assert 'value="dark" aria-pressed="true"' in page


def test_system_theme_leaves_the_choice_to_the_browser(signed_in: Client) -> None:
    signed_in.post("/theme/", {"theme": "dark"})

    signed_in.post("/theme/", {"theme": "system"})

    page = markup(signed_in.get("/tasks/"))
    assert '<html lang="en">' in page
    assert '<meta name="color-scheme" content="light dark">' in page


@pytest.mark.parametrize(("theme", "following"), [("system", "light"), ("light", "dark"), ("dark", "system")])
def test_the_button_of_the_bar_offers_the_following_theme(signed_in: Client, theme: str, following: str) -> None:
    signed_in.post("/theme/", {"theme": theme})

    page = markup(signed_in.get("/tasks/"))

    assert f'value="{following}" aria-label="Theme: {theme}. Change to {following}"' in page


def test_the_theme_cookie_is_kept_for_a_year_and_hidden_from_scripts(client: Client) -> None:
    client.post("/theme/", {"theme": "light"})

    cookie = client.cookies["theme"]
    assert cookie["max-age"] == 365 * 24 * 60 * 60
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_an_unknown_theme_is_refused_and_not_remembered(client: Client) -> None:
    page = client.post("/theme/", {"theme": "neon"})

    assert page.status_code == 400
    assert "theme" not in client.cookies


def test_a_forged_theme_cookie_counts_as_none(client: Client) -> None:
    client.cookies["theme"] = '"><script>alert(1)</script>'

    page = markup(client.get("/login/"))

    assert '<html lang="en">' in page
    assert "alert(1)" not in page


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example/", "", "javascript:alert(1)"])
def test_choosing_a_theme_never_leads_to_a_foreign_address(client: Client, address: str) -> None:
    page = client.post("/theme/", {"theme": "dark", "next": address})

    assert page["Location"] == "/"


def test_htmx_gets_both_controls_redrawn_for_the_page_they_stand_on(client: Client) -> None:
    answer = client.post("/theme/", {"theme": "light", "next": "/tasks/?q=a"}, headers={"HX-Request": "true"})

    html = markup(answer)
    assert json.loads(answer["HX-Trigger"]) == {"theme": {"theme": "light"}}
    assert html.count('hx-swap-oob="true"') == 2
    assert html.count('name="next" value="/tasks/?q=a"') == 2
    assert 'value="light" aria-pressed="true"' in html
    assert 'value="dark" aria-label="Theme: light. Change to dark"' in html
    assert client.cookies["theme"].value == "light"


def test_the_theme_is_never_changed_by_a_link(client: Client) -> None:
    page = client.get("/theme/", {"theme": "dark"})

    assert page.status_code == 405
    assert "theme" not in client.cookies
