"""The main navigation: its pages, and which one is open."""

from __future__ import annotations

from console.pages.navigation import ENTRIES, Entry, navigation_at

TASKS = Entry("Tasks", route="tasks", icon="tasks")
SIGN_IN = Entry("Sign in", route="login", icon="lock", is_later=True)


def test_navigation_marks_the_open_page_and_the_section_of_a_page_below_it() -> None:
    def current_at(path: str) -> str:
        return navigation_at(path, entries=(TASKS,)).links[0].current

    assert current_at("/tasks/") == "page"
    assert current_at("/tasks/7f3a/") == "true"
    assert current_at("/inbox/") == ""


def test_navigation_keeps_later_links_apart_for_the_phone() -> None:
    navigation = navigation_at("/", entries=(TASKS, SIGN_IN))

    assert [link.label for link in navigation.links] == ["Tasks", "Sign in"]
    assert [link.label for link in navigation.later] == ["Sign in"]


def test_navigation_lists_the_six_pages_in_their_order() -> None:
    labels = [entry.label for entry in ENTRIES]

    assert labels == ["Tasks", "Inbox", "Overview", "Expirations", "Tools", "Connect"]
