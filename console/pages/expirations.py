"""Expirations: what expires next, what expired and in what state, and what was purged since.

All of it can be narrowed by time, owner, tool and kind, and the address holds the whole filter. What a record says is
in `console.records`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import present, records, zone
from console.access import Action, Principal, require
from console.pages.scope import COOKIE
from tasks_app import store
from tasks_app.domain.text import clean_text
from tasks_app.store import expirations, queries, search, tally
from tasks_app.store import policy as policies

PAGE = 50
SALT = "console.expirations"
RANGES = {
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
    "all": ("All", None),
}
USUAL = "7d"
LONGEST = 200
STRIP = (
    ("", "expired", "expired"),
    ("working", "working", "while working"),
    ("waiting", "waiting", "waiting on a person"),
    ("finished", "finished", "already finished"),
    ("unfetched", "unfetched", "never fetched"),
    ("extended", "extended", "extended before"),
)
EXTEND_BY = ("15m", "1h", "1d", "7d")


@dataclass(frozen=True, slots=True)
class Times:
    """A range of times, by its key or by two days, and what that means."""

    range: str
    first: str
    last: str
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter as the address has it, and as the store takes it."""

    wanted: expirations.Wanted
    times: Times
    owner: str
    everyone: bool
    problem: str
    words: dict[str, str]
    """What an export says of its filter."""


@dataclass(frozen=True, slots=True)
class Due:
    """A task that will expire, as the list shows it."""

    task: store.Snapshot
    chip: present.Chip
    owner: str
    expires: present.Countdown
    ttl: str
    may_extend: bool


@require_safe
@require(Action.VIEW)
def upcoming(request: HttpRequest, principal: Principal) -> HttpResponse:
    """What expires next, the soonest first."""
    asked = asked_of(request, principal)
    found = _due(asked, after=_place(request.GET.get("after", "")))
    now = queries.now()
    names = search.owner_names(list({task.owner_id for task in found.tasks}))
    following = found.following
    context = {
        "due": [_due_row(task, names.get(task.owner_id, ""), principal, now) for task in found.tasks],
        "owner_id": principal.owner_id,
        "extend_by": EXTEND_BY,
        "older": _following(request, following.at, following.id) if following else "",
    }
    return _page(request, principal, asked, "upcoming", context)


@require_safe
@require(Action.VIEW)
def expired(request: HttpRequest, principal: Principal) -> HttpResponse:
    """What expired, the latest first, with how it splits up and whose most of it is."""
    asked = asked_of(request, principal)
    place = _place(request.GET.get("after", ""))
    after = None if place is None else expirations.Place(place.at, place.id)
    found = expirations.page(asked.wanted, after=after, limit=PAGE)
    summary = expirations.summary(asked.wanted)
    following = found.following
    context = {
        "lines": _lines(found.records),
        "strip": [_number(request, asked, *each, summary=summary) for each in STRIP],
        "owners": _owners(request, asked, summary),
        "older": _following(request, following.at, following.id) if following else "",
        "oldest_pending": None if found.records or place else _oldest_pending(asked),
        "count": summary.expired,
    }
    return _page(request, principal, asked, "expired", context)


@require_safe
@require(Action.VIEW)
def purged(request: HttpRequest, principal: Principal) -> HttpResponse:
    """What was removed for good, the latest first, and what remains of it."""
    asked = asked_of(request, principal)
    cursor = _number_in(request.GET.get("after", ""))
    found, following = expirations.purged(asked.wanted, after=cursor, limit=PAGE)
    older = _link(request, after=signing.dumps(following, salt=SALT), open="") if following else ""
    return _page(request, principal, asked, "purged", {"lines": _lines(found), "older": older})


def asked_of(request: HttpRequest, principal: Principal) -> Asked:
    """The filter that an address asks for; what it does not say is the last week of everything that may be seen."""
    sees_all = principal.may(Action.VIEW, everyone=True)
    everyone = sees_all and (request.GET.get("scope") or request.COOKIES.get(COOKIE)) != "mine"
    times = times_of(request)
    owner = clean_text(request.GET.get("owner", ""), LONGEST).strip() if everyone else ""
    owners = tuple(search.owners_named([owner])[owner]) if owner else None
    kind = request.GET.get("kind", "")
    wanted = expirations.Wanted(
        scope=principal.scope(everyone),
        since=times.since,
        until=times.until,
        owners=owners,
        tool=clean_text(request.GET.get("tool", ""), LONGEST),
        kind=expirations.Kind(kind) if kind in set(expirations.Kind) else None,
    )
    problem = f"There is no owner “{owner}”." if owner and not owners else ""
    words = _words(wanted, owner=owner, everyone=everyone)
    return Asked(wanted, times, owner, everyone, problem, words)


def _words(wanted: expirations.Wanted, *, owner: str, everyone: bool) -> dict[str, str]:
    said = {
        "scope": "everyone" if everyone else "mine",
        "since": "" if wanted.since is None else present.iso(wanted.since),
        "until": "" if wanted.until is None else present.iso(wanted.until),
        "owner": owner,
        "tool": wanted.tool,
        "kind": wanted.kind.value if wanted.kind else "",
    }
    return {name: value for name, value in said.items() if value}


def _page(request: HttpRequest, principal: Principal, asked: Asked, tab: str, context: dict[str, Any]) -> HttpResponse:
    values = request.GET.dict()
    frame = {
        "tab": tab,
        "asked": asked,
        "tools": _tools(asked, tab),
        "ranges": {key: name for key, (name, _) in RANGES.items()},
        "sees_all": principal.may(Action.VIEW, everyone=True),
        "policy_version": policies.current().version,
        "everyone": asked.everyone,
        "live_scope": "all" if asked.everyone else "mine",
        "query": urlencode({k: v for k, v in values.items() if k not in {"scope", "after", "open"}} | {"": ""})[:-1],
        "tab_query": urlencode(
            {k: v for k, v in values.items() if k in {"range", "from", "to", "owner", "tool"} and v}
        ),
        "opened": request.GET.get("open", ""),
        "newest": _link(request, after="", open="") if request.GET.get("after") else "",
        "now": queries.now(),
        "may_export": principal.may(Action.EXPORT),
        "export_url": "export/" + _link(request, after="", open=""),
    }
    return render(request, "expirations.html", frame | context)


def _tools(asked: Asked, tab: str) -> list[str]:
    """What the filter offers: the tools of what the tab lists, and the one that is chosen."""
    scope = asked.wanted.scope
    known = tally.counts_by_tool(scope) if tab == "upcoming" else expirations.tools(scope)
    return sorted({*known, *([asked.wanted.tool] if asked.wanted.tool else [])})


def _lines(found: tuple[expirations.Record, ...]) -> list[records.Line]:
    return records.lines(found, policy=policies.current())


def _due(asked: Asked, *, after: search.Place | None, limit: int = PAGE) -> search.Found:
    wanted = asked.wanted
    owners = () if wanted.owners is None else (search.Term(tuple(map(str, wanted.owners))),)
    tools = (search.Term((wanted.tool,)),) if wanted.tool else ()
    narrowed = search.Filter(owners=owners, tools=tools)
    return search.find(narrowed, owner_id=wanted.scope, sort=search.Sort.EXPIRES, after=after, limit=limit)


def _due_row(task: store.Snapshot, owner: str, principal: Principal, now: datetime) -> Due:
    return Due(
        task,
        chip=present.chip(task.status),
        owner=owner,
        expires=present.countdown(task.expires_at, now=now),
        ttl=records.period(task.expires_at - task.created_at),
        may_extend=principal.may_on(Action.EXTEND, task_owner_id=task.owner_id),
    )


def _oldest_pending(asked: Asked) -> datetime | None:
    tasks = _due(asked, after=None, limit=1).tasks
    return tasks[0].expires_at if tasks else None


def _number(
    request: HttpRequest, asked: Asked, kind: str, field: str, label: str, *, summary: expirations.Summary
) -> dict[str, Any]:
    chosen = asked.wanted.kind.value if asked.wanted.kind else ""
    return {
        "label": label,
        "count": _counted(getattr(summary, field), summary),
        "url": _link(request, kind=kind, after="", open=""),
        "is_on": kind == chosen,
    }


def _counted(count: int, summary: expirations.Summary) -> str:
    """A number as it is shown; of a part of them it is one of at least so many."""
    words = present.capped(count)
    return f"{words}+" if summary.is_capped and not words.endswith("+") else words


def _owners(request: HttpRequest, asked: Asked, summary: expirations.Summary) -> list[dict[str, Any]]:
    """Whose most of it is; of no use to somebody who sees one owner only."""
    if not asked.everyone or asked.owner or not summary.expired:
        return []
    found = expirations.by_owner(asked.wanted)
    names = search.owner_names([owner_id for owner_id, _ in found])
    return [
        {
            "name": names[owner_id],
            "count": _counted(count, summary),
            "url": _link(request, owner=names[owner_id], after="", open=""),
        }
        for owner_id, count in found
        if owner_id in names
    ]


def _following(request: HttpRequest, at: datetime, task_id: UUID) -> str:
    return _link(request, after=signing.dumps([at.isoformat(), str(task_id)], salt=SALT), open="")


def _link(request: HttpRequest, **changes: str) -> str:
    values = {**request.GET.dict(), **changes}
    return "?" + urlencode({name: value for name, value in values.items() if value})


def _place(cursor: str) -> search.Place | None:
    try:
        at, task_id = signing.loads(cursor, salt=SALT)
        return search.Place(datetime.fromisoformat(at), UUID(task_id))
    except (signing.BadSignature, TypeError, ValueError):
        return None


def _number_in(cursor: str) -> int | None:
    try:
        return int(signing.loads(cursor, salt=SALT))
    except (signing.BadSignature, TypeError, ValueError):
        return None


def times_of(request: HttpRequest, *, usual: str = USUAL) -> Times:
    """The times that an address asks for. Days count for more than a range, unless the range replaces them."""
    key = request.GET.get("range", "")
    first, last = _day(request.GET.get("from", "")), _day(request.GET.get("to", ""))
    is_replaced = key in RANGES and "dates" in request.GET
    if (first or last) and not is_replaced:
        since, until = None if first is None else zone.begin(first), None if last is None else zone.end(last)
        return Times("", _text(first), _text(last), since, until)
    known = key if key in RANGES else usual
    length = RANGES[known][1]
    return Times(known, "", "", None if length is None else queries.now() - length, None)


def _day(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None


def _text(day: date | None) -> str:
    return "" if day is None else day.isoformat()
