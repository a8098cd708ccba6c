"""The frame of the console in a real browser: sign-in, theme, phone, content policy, accessibility."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, ViewportSize, expect

PHONE: ViewportSize = {"width": 390, "height": 844}
LIGHT_GROUND = "rgb(247, 248, 250)"
DARK_GROUND = "rgb(15, 18, 22)"


def serious_faults(page: Page) -> list[str]:
    """The rules that the page breaks in a way that keeps somebody out."""
    violations = Axe().run(page).response["violations"]
    return [f"{found['id']}: {found['help']}" for found in violations if found["impact"] in {"serious", "critical"}]


def test_signing_in_leads_to_the_tasks_and_out_again(signed_in: Page) -> None:
    expect(signed_in.get_by_role("heading", level=1)).to_have_text("No tasks yet")

    signed_in.get_by_role("button", name="Account: alice").click()
    signed_in.get_by_role("button", name="Sign out").click()

    expect(signed_in.get_by_role("heading", level=1)).to_have_text("Sign in")
    signed_in.goto("/tasks/")
    expect(signed_in).to_have_url(re.compile(r"/login/\?next=/tasks/$"))


def test_a_wrong_password_is_said_and_the_cursor_stands_in_the_field(
    page: Page, alice: User, complaints: list[str]
) -> None:
    page.goto("/login/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill("not this one")

    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_have_text("Wrong name or password.")
    expect(page.get_by_label("Name")).to_have_value("alice")
    expect(page.get_by_label("Password")).to_be_focused()
    expect(page.get_by_label("Password")).to_have_accessible_description("Wrong name or password.")


def test_a_theme_is_shown_at_once_without_losing_the_page_and_survives_a_reload(signed_in: Page) -> None:
    signed_in.get_by_role("button", name="Account: alice").click()
    signed_in.evaluate("document.body.dataset.untouched = 'yes'")

    signed_in.get_by_role("button", name="Dark", exact=True).click()

    expect(signed_in.locator("body")).to_have_css("background-color", DARK_GROUND)
    expect(signed_in.get_by_role("button", name="Dark", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(signed_in.get_by_role("button", name="Dark", exact=True)).to_be_focused()
    expect(signed_in.locator("body")).to_have_attribute("data-untouched", "yes")
    signed_in.reload()
    expect(signed_in.locator("html")).to_have_attribute("data-theme", "dark")
    expect(signed_in.locator("body")).to_have_css("background-color", DARK_GROUND)


def test_the_button_of_the_bar_goes_round_the_three_themes(signed_in: Page) -> None:
    for theme, following in (("system", "light"), ("light", "dark"), ("dark", "system")):
        signed_in.get_by_role("button", name=f"Theme: {theme}. Change to {following}").click()

    expect(signed_in.get_by_role("button", name="Theme: system. Change to light")).to_be_visible()
    expect(signed_in.locator("html")).not_to_have_attribute("data-theme", re.compile("."))


def test_the_theme_of_the_system_is_followed_until_one_is_chosen(signed_in: Page) -> None:
    signed_in.emulate_media(color_scheme="dark")
    expect(signed_in.locator("body")).to_have_css("background-color", DARK_GROUND)

    signed_in.emulate_media(color_scheme="light")

    expect(signed_in.locator("body")).to_have_css("background-color", LIGHT_GROUND)


@pytest.mark.parametrize("address", ["/login/", "/tasks/", "/nowhere/"])
def test_no_page_scrolls_sideways(signed_in: Page, complaints: list[str], address: str) -> None:
    if address == "/login/":
        signed_in.context.clear_cookies()
    signed_in.goto(address)

    overflow = {}
    for width in (320, 390, 768, 1440):
        signed_in.set_viewport_size({"width": width, "height": 844})
        overflow[width] = signed_in.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    assert all(pixels <= 0 for pixels in overflow.values()), overflow
    _forget_the_missing_page(complaints, address=address)


def test_a_phone_has_its_navigation_at_the_bottom_within_reach(signed_in: Page) -> None:
    signed_in.set_viewport_size(PHONE)

    box = signed_in.get_by_role("navigation", name="Main").bounding_box()
    link = signed_in.get_by_role("link", name="Tasks", exact=True).bounding_box()

    assert box is not None
    assert link is not None
    assert box["y"] + box["height"] == PHONE["height"]
    assert link["height"] >= 44


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_pages_have_no_serious_accessibility_fault(
    signed_in: Page, complaints: list[str], scheme: Literal["light", "dark"], width: int
) -> None:
    signed_in.emulate_media(color_scheme=scheme)
    signed_in.set_viewport_size({"width": width, "height": 844})

    tasks = serious_faults(signed_in)
    signed_in.get_by_role("button", name="Account: alice").click()
    menu = serious_faults(signed_in)
    signed_in.goto("/nowhere/")
    missing = serious_faults(signed_in)
    signed_in.context.clear_cookies()
    signed_in.goto("/login/")
    sign_in = serious_faults(signed_in)
    signed_in.get_by_label("Name").fill("alice")
    signed_in.get_by_label("Password").fill("not this one")
    signed_in.keyboard.press("Enter")
    expect(signed_in.get_by_role("alert")).to_be_visible()
    refused = serious_faults(signed_in)

    assert tasks + menu + missing + sign_in + refused == []
    _forget_the_missing_page(complaints, address="/nowhere/")


def test_the_keyboard_reaches_the_content_first_and_leaves_the_menu_again(signed_in: Page) -> None:
    signed_in.keyboard.press("Tab")
    expect(signed_in.get_by_role("link", name="Skip to content")).to_be_focused()

    signed_in.keyboard.press("Enter")
    expect(signed_in.get_by_role("main")).to_be_focused()

    account = signed_in.get_by_role("button", name="Account: alice")
    account.press("Enter")
    expect(signed_in.get_by_role("button", name="Sign out")).to_be_visible()
    signed_in.keyboard.press("Escape")
    expect(signed_in.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(account).to_be_focused()


def test_the_browser_reports_what_the_content_policy_refuses(signed_in: Page, complaints: list[str]) -> None:
    with signed_in.expect_console_message(lambda message: "Content Security Policy" in message.text):
        signed_in.evaluate("document.body.setAttribute('style', 'color: red')")

    assert len(complaints) == 1
    complaints.clear()


def test_everything_works_without_javascript(browser: Browser, base_url: str, alice: User, password: str) -> None:
    page = browser.new_context(base_url=base_url, java_script_enabled=False, color_scheme="light").new_page()
    page.goto("/tasks/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No tasks yet")

    page.get_by_role("button", name="Account: alice").click()
    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page).to_have_url(f"{base_url}/tasks/")

    page.get_by_role("button", name="Account: alice").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.context.close()


def _forget_the_missing_page(complaints: list[str], *, address: str) -> None:
    # The browser reports the status of a page that is meant to be missing; nothing else may be reported.
    if address == "/nowhere/":
        assert all("404" in complaint for complaint in complaints)
        complaints.clear()
