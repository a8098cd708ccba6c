"""The main navigation: one list of pages, and which of them a request may be shown as links.

Who may open a page is decided by the page, not here.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Entry:
    """A page worth a place in the navigation; a later one stands behind "More" on a phone."""

    label: str
    route: str
    icon: str
    is_later: bool = False


ENTRIES = (
    Entry("Tasks", route="tasks", icon="tasks"),
    Entry("Inbox", route="inbox", icon="inbox"),
    Entry("Overview", route="overview", icon="overview"),
    Entry("Expirations", route="expirations", icon="hourglass", is_later=True),
    Entry("Tools", route="tools", icon="tools", is_later=True),
    Entry("Connect", route="connect", icon="connect", is_later=True),
)


@dataclass(frozen=True, slots=True)
class Link:
    """An entry with its address; `current` is the value of aria-current, empty elsewhere."""

    label: str
    icon: str
    url: str
    current: str
    is_later: bool


@dataclass(frozen=True, slots=True)
class Navigation:
    """The links of one page, in the order in which they are shown."""

    links: tuple[Link, ...]

    @property
    def later(self) -> tuple[Link, ...]:
        """The links that a phone keeps behind "More"."""
        return tuple(link for link in self.links if link.is_later)


def navigation_at(path: str, *, entries: tuple[Entry, ...] = ENTRIES) -> Navigation:
    """The navigation as seen from `path`."""
    return Navigation(tuple(_link(entry, url=reverse(entry.route), path=path) for entry in entries))


def _link(entry: Entry, *, url: str, path: str) -> Link:
    current = "page" if path == url else "true" if path.startswith(url) else ""
    return Link(entry.label, icon=entry.icon, url=url, current=current, is_later=entry.is_later)
