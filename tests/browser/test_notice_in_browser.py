"""Being needed, in real browsers: who is answering is seen by others, and a hidden tab says that one is needed."""

from __future__ import annotations

import re

from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Page, expect

from console import store as console_store
from tests.browser.test_live_in_browser import ask, claimed, is_at, open_live, owner_id, patience, sign_in
from tests.waiting import until

__all__ = ["owner_id", "patience"]

# The browser's own notifications are outside its pages, so they are written down on their way; and a tab that nobody
# looks at cannot be had without a window, so it is told that it is one.
RECORD = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() {
    const found = await navigator.permissions.query({ name: "notifications" });
    return (this.permission = found.state);
  }
  constructor(title, options) { super(); window.shown.push({ title, ...options }); window.latest = this; }
  close() {}
};
Object.defineProperty(document, "hidden", { get: () => Boolean(window.isAway) });
"""


def test_claim_is_seen_by_another_browser_and_taken_over_by_key(
    signed_in: Page, browser: Browser, base_url: str, owner_id: int, password: str
) -> None:
    bo = User.objects.create_user("bo", password=password)
    bo.groups.add(Group.objects.get_or_create(name="operator")[0])
    asked = ask(claimed(owner_id))
    address = f"/inbox/{asked.task_id}/{asked.key}/"
    other = sign_in(browser, base_url, "bo", password)
    open_live(other, f"{address}?scope=all")
    open_live(signed_in, address)

    signed_in.get_by_label("Note").press_sequentially("I am at it")

    expect(signed_in.locator(".claim")).to_contain_text("You are answering")
    expect(other.locator(".claim")).to_contain_text("alice is answering…")
    expect(other.locator(".mail")).to_contain_text("alice is answering")
    other.keyboard.press("c")
    expect(other.locator(".claim")).to_contain_text("You are answering")
    expect(signed_in.locator(".claim")).to_contain_text("bo is answering…")
    expect(signed_in.get_by_label("Note")).to_have_value("I am at it")
    other.keyboard.press("c")
    expect(other.get_by_role("button", name="Claim")).to_be_visible()
    expect(signed_in.get_by_role("button", name="Claim")).to_be_visible()
    other.context.close()


def test_hidden_tab_tells_of_a_new_question_once_it_was_asked_to(signed_in: Page, owner_id: int, alice: User) -> None:
    signed_in.context.grant_permissions(["notifications"])
    signed_in.add_init_script(RECORD)
    open_live(signed_in, "/inbox/")
    assert signed_in.evaluate("Notification.permission") == "default"

    signed_in.get_by_role("button", name="Turn on notifications").click()
    expect(signed_in.get_by_role("status").filter(has_text="Notifications are on")).to_be_visible()
    assert console_store.notice_of(alice.pk).notify
    signed_in.goto("/tasks/")
    is_at(signed_in, "/tasks/")
    signed_in.evaluate("() => { Notification.permission = 'granted'; window.isAway = true; }")
    asked = ask(claimed(owner_id))
    until(lambda: signed_in.evaluate("window.shown.length"))

    expect(signed_in).to_have_title(re.compile(r"^\(1\) "))
    assert signed_in.evaluate("window.shown") == [
        {"title": "Taskdeck", "body": "A task needs your input", "tag": f"question-{asked.id}"}
    ]
    signed_in.evaluate("() => window.latest.dispatchEvent(new Event('click'))")
    expect(signed_in).to_have_url(re.compile(f"/inbox/{asked.task_id}/{asked.key}/$"))
