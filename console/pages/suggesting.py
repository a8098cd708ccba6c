"""What a field offers while somebody types: how a search could go on, and where the palette leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import present
from console import store as own
from console.access import Action, Principal, require
from console.pages.facets import VIEWS
from console.pages.navigation import navigation_at
from console.pages.scope import owner_scope
from console.search import LONGEST, quoted
from console.suggest import suggest
from tasks_app.domain.text import clean_text
from tasks_app.store import search, tally

MOST_OPTIONS = 12
MOST_TASKS = 5
SHORTEST_ID = 4


@dataclass(frozen=True, slots=True)
class Option:
    """A place to go to."""

    name: str
    kind: str
    url: str


@require_safe
@require(Action.VIEW)
def suggestions(request: HttpRequest, principal: Principal) -> HttpResponse:
    """How the search before the caret could go on, from what this person may see."""
    scope = owner_scope(request, principal)
    sees_all = principal.may(Action.VIEW, everyone=True)

    def find_words(key: str, part: str) -> Iterable[str]:
        if key == "tool":
            return tally.counts_by_tool(scope)
        if key == "owner":
            return search.owners_like(part) if sees_all else ()
        return search.recent_words(key, owner_id=scope)

    found = suggest(clean_text(request.GET.get("q", ""), LONGEST), find_words=find_words)
    return render(request, "parts/suggestions.html", {"suggestions": found})


@require_safe
@require(Action.VIEW)
def palette(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Pages, tasks by the beginning of their id, tools and views that match what was typed."""
    text = request.GET.get("q", "").strip()[:LONGEST]
    found = [*_tasks(principal, text)]
    found += [each for each in _places(request, principal) if text.lower() in each.name.lower()]
    return render(request, "parts/palette_options.html", {"options": found[:MOST_OPTIONS]})


def _tasks(principal: Principal, text: str) -> Iterator[Option]:
    if len(text) < SHORTEST_ID or search.id_range(text) is None:
        return
    wanted = search.Filter(ids=(search.Term((text,)),))
    for task in search.find(wanted, owner_id=principal.scope(everyone=True), limit=MOST_TASKS).tasks:
        yield Option(f"{task.tool} {present.short_id(task.id)}", "Task", reverse("task", args=[task.id]))


def _places(request: HttpRequest, principal: Principal) -> Iterator[Option]:
    for link in navigation_at(request.path).links:
        yield Option(link.label, "Page", link.url)
    for view in own.views_for(principal.user):
        yield Option(view.name, "View", _list(q=view.query, sort=view.sort))
    for name, query, _ in VIEWS:
        yield Option(name, "View", _list(q=query))
    for tool in tally.counts_by_tool(principal.scope(everyone=True)):
        yield Option(tool, "Tool", _list(q=f"tool:{quoted(tool)}"))


def _list(**values: str) -> str:
    query = urlencode({name: value for name, value in values.items() if value})
    return reverse("tasks") + (f"?{query}" if query else "")
