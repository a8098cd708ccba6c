"""The rail beside the list: views, saved views, statuses and tools, each a link that changes the search.

Counts are those of the unfiltered scope, from the tally: under a filter none could be had without counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from console import present
from console import store as own
from console.access import Action, Principal
from console.models import SavedView
from console.search import toggled, values_of, without_last_term
from tasks_app.domain.status import Status
from tasks_app.store import search, tally

MOST_TOOLS = 8
MOST_OWNERS = 5
VIEWS = (
    ("Active", "status:working,input_required", ("working", "input_required")),
    ("Needs me", "status:input_required", ("input_required",)),
    ("Last 24 hours", "created:<24h", ()),
    ("Failed", "status:failed", ("failed",)),
    ("Tool errors", "is:toolerror", ("tool_error",)),
    ("Expiring in 1 h", "expires:<1h status:working,input_required", ()),
    ("All", "", ("working", "input_required", "completed", "tool_error", "failed", "cancelled")),
)
# In the order of the keys 1 to 6; what the tally knows each by.
STATUSES = (
    (present.chip(Status.WORKING), "status", Status.WORKING.value, ("working",)),
    (present.chip(Status.INPUT_REQUIRED), "status", Status.INPUT_REQUIRED.value, ("input_required",)),
    (present.chip(Status.COMPLETED), "status", Status.COMPLETED.value, ("completed", "tool_error")),
    (present.TOOL_ERROR, "is", "toolerror", ("tool_error",)),
    (present.chip(Status.FAILED), "status", Status.FAILED.value, ("failed",)),
    (present.chip(Status.CANCELLED), "status", Status.CANCELLED.value, ("cancelled",)),
)


def facets(request: HttpRequest, principal: Principal, owner_id: int | None, query: str) -> dict[str, Any]:
    """What the rail shows, and under what title and count the list stands."""
    by_tool = tally.counts_by_tool(owner_id)
    counts = _by_standing(by_tool)
    views = [_view(request, query, each, counts) for each in VIEWS]
    saved = [_saved(request, query, principal, each) for each in own.views_for(principal.user)]
    current = next((each for each in (*views, *saved) if each["is_current"]), None)
    return {
        "views": views,
        "saved": [each for each in saved if not each["view"].shared],
        "shared": [each for each in saved if each["view"].shared],
        "statuses": [_status(request, query, each, counts) for each in STATUSES],
        "tools": _tools(request, query, by_tool),
        "owners": _owners(request, query) if owner_id is None else [],
        "title": current["name"] if current else "Tasks",
        "total": current.get("count") if current else None,
    }


def link(request: HttpRequest, **changes: str) -> str:
    """The address of this page with something changed; a page never stays in the middle of another search."""
    values = {**request.GET.dict(), "after": "", "before": "", **changes}
    return "?" + urlencode({name: value for name, value in values.items() if value})


def _by_standing(by_tool: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for standings in by_tool.values():
        for standing, tasks in standings.items():
            counts[standing] = counts.get(standing, 0) + tasks
    return counts


def _sum(counts: Mapping[str, int], standings: tuple[str, ...]) -> int | None:
    return sum(counts.get(standing, 0) for standing in standings) if standings else None


def _view(
    request: HttpRequest, query: str, view: tuple[str, str, tuple[str, ...]], counts: Mapping[str, int]
) -> dict[str, Any]:
    name, text, standings = view
    url = link(request, q=text, sort="")
    return {"name": name, "url": url, "is_current": text == query.strip(), "count": _sum(counts, standings)}


def _saved(request: HttpRequest, query: str, principal: Principal, view: SavedView) -> dict[str, Any]:
    sort = request.GET.get("sort", "created")
    is_own = view.user_id == principal.user.pk
    return {
        "view": view,
        "name": view.name,
        "url": link(request, q=view.query, sort="" if view.sort == "created" else view.sort),
        "is_current": bool(view.query) and view.query == query.strip() and view.sort == sort,
        "may_delete": is_own or principal.may(Action.SHARE_VIEWS),
    }


def _status(
    request: HttpRequest,
    query: str,
    each: tuple[present.Chip, str, str, tuple[str, ...]],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    chip, key, value, standings = each
    return {"chip": chip, "count": _sum(counts, standings), **_toggle(request, query, key, value)}


def _tools(request: HttpRequest, query: str, by_tool: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    counted = {name: sum(n for at, n in standing.items() if at != "expired") for name, standing in by_tool.items()}
    wanted = values_of(query, "tool")
    known = [name for name, count in counted.items() if count or name in wanted]
    names = sorted(known, key=lambda name: (-counted[name], name))[:MOST_TOOLS]
    return [{"name": name, "count": counted[name], **_toggle(request, query, "tool", name)} for name in names]


def _owners(request: HttpRequest, query: str) -> list[dict[str, Any]]:
    """Whose tasks there are most of, for those who look at everyone's."""
    counted = tally.counts_by_owner(limit=MOST_OWNERS)
    names = search.owner_names(list(counted))
    found = [(names[owner_id], count) for owner_id, count in counted.items() if owner_id in names]
    return [{"name": name, "count": count, **_toggle(request, query, "owner", name)} for name, count in found]


def without_last(request: HttpRequest, query: str) -> str:
    """The address of the same list with the last condition taken away."""
    return link(request, q=without_last_term(query))


def _toggle(request: HttpRequest, query: str, key: str, value: str) -> dict[str, Any]:
    """A facet as a link that allows one more value, or takes it away."""
    return {"is_on": value in values_of(query, key), "url": link(request, q=toggled(query, key, value))}
