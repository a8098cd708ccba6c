"""The list of tasks: search, pages, and one row by itself for what changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import present
from console.access import Action, Principal, require
from console.pages.asking import is_live
from console.pages.connect import steps_context
from console.pages.facets import facets, link, without_last
from console.pages.layout import CHOICES, preference_at
from console.pages.scope import is_everyone, owner_scope
from console.search import Search, parse, widened
from tasks_app import store
from tasks_app.domain.status import Status
from tasks_app.store import codec, queries, search

PAGE = 50
QUESTIONS_FIRST = 10
MOST_ROWS = 100
SALT = "console.place"
EXPIRED = search.Term((search.Flag.EXPIRED.value,))


@dataclass(frozen=True, slots=True)
class Row:
    """A task as the list shows it."""

    task: store.Snapshot
    chip: present.Chip
    badges: tuple[present.Chip, ...]
    owner: str
    said: str
    is_quoted: bool
    error_code: str
    answered: int
    expires: present.Countdown
    now: datetime

    @property
    def percent(self) -> int | None:
        """How far it is, when it says so."""
        return present.percent(self.task)


@require_safe
@require(Action.VIEW)
def tasks(request: HttpRequest, principal: Principal) -> HttpResponse:
    """One page of the tasks that match what was typed."""
    owner_id = owner_scope(request, principal)
    query = request.GET.get("q", "")
    wanted = parse(query, find_owners=search.owners_named, me=principal.owner_id)
    sort = search.Sort.EXPIRES if request.GET.get("sort") == "expires" else search.Sort.CREATED
    page = _page(request, wanted.filter, owner_id, sort)
    shown = page.tasks
    if page.is_first and sort is search.Sort.CREATED:
        shown = _questions_first(wanted, owner_id, shown)
    context = {
        "rows": rows_for(shown),
        "query": query,
        "errors": wanted.errors,
        "sort": sort.value,
        "shows_expired": any(search.Flag.EXPIRED in each.values and not each.negated for each in wanted.filter.flags),
        "by_age": link(request, sort=""),
        "by_expiry": link(request, sort="expires"),
        "older": link(request, after=_cursor(page.older)) if page.older else "",
        "newer": link(request, before=_cursor(page.newer)) if page.newer else "",
        "newest": "" if page.is_first else link(request),
        **({} if shown else _nothing(request, query, owner_id)),
        "is_empty": not query and page.is_first and not shown,
        "may_export": principal.may(Action.EXPORT),
        "export_url": "/tasks/export/" + link(request),
        **_table(request, principal),
        **facets(request, principal, owner_id, query),
    }
    if context["is_empty"]:
        context |= steps_context(principal)
    return render(request, "tasks.html", context)


def _nothing(request: HttpRequest, query: str, owner_id: int | None) -> dict[str, Any]:
    """What a list without tasks offers: less of a search, a longer time, and when something last happened."""
    newest = search.find(search.Filter(), owner_id=owner_id, limit=PAGE).tasks
    week = widened(query)
    return {
        "with_less": without_last(request, query) if query else "",
        "over_a_week": link(request, q=week) if week else "",
        "last_end": max((task.finished_at for task in newest if task.finished_at), default=None),
        "now": queries.now(),
    }


def _table(request: HttpRequest, principal: Principal) -> dict[str, Any]:
    """How the list looks to this person, and what can be done from it."""
    prefers = preference_at(request)
    return {
        "columns": prefers.columns,
        "column_choices": CHOICES,
        "density": prefers.density,
        "sees_all": principal.may(Action.VIEW, everyone=True),
        "everyone": is_everyone(request, principal),
        "scope_query": link(request, scope="")[1:] + "&" if request.GET.keys() - {"scope"} else "",
        "may_share": principal.may(Action.SHARE_VIEWS),
    }


@require_safe
@require(Action.VIEW)
def changed_rows(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The rows of some tasks, for a page that was told that they changed. What is not the viewer's is not there.

    Nor is what has expired, unless the page is one that lists that too.
    """
    ids = [each for each in map(_uuid, request.GET.get("ids", "").split(",")[:MOST_ROWS]) if each is not None]
    named = search.Filter(ids=(search.Term(tuple(map(str, ids))),))
    lists = [named, replace(named, flags=(EXPIRED,))] if "expired" in request.GET else [named]
    scope = principal.scope(everyone=True)
    found = [task for each in lists for task in search.find(each, owner_id=scope, limit=MOST_ROWS).tasks] if ids else []
    rows = rows_for(tuple(found))
    return render(request, "parts/task_rows.html", {"rows": rows, "columns": preference_at(request).columns})


def rows_for(found: tuple[store.Snapshot, ...]) -> list[Row]:
    """Rows with everything that they say, in two statements for a whole page."""
    if not found:
        return []
    names = search.owner_names(list({task.owner_id for task in found}))
    lines = search.lines([task.id for task in found])
    now = queries.now()
    return [_row(task, lines[task.id], names.get(task.owner_id, ""), now) for task in found if task.id in lines]


def _row(task: store.Snapshot, line: search.Line, owner: str, now: datetime) -> Row:
    said, is_quoted, error_code = _said(task, line) if is_live(task, now) else ("", False, "")
    return Row(
        task,
        chip=present.chip(task.status),
        badges=present.badges(task, now=now, is_stopping=line.is_stopping),
        owner=owner,
        said=said,
        is_quoted=is_quoted,
        error_code=error_code,
        answered=line.answered,
        expires=present.countdown(task.expires_at, now=now),
        now=now,
    )


def _said(task: store.Snapshot, line: search.Line) -> tuple[str, bool, str]:
    """What a live task asks or says, whether that is a quotation, and the code of its error."""
    question = None if line.question is None else _question(codec.decode(line.question))
    error = {} if line.error is None else codec.decode(line.error)
    said = question or error.get("message") or _tool_error(line) or task.status_message
    return said, question is not None, str(error.get("code", ""))


def _question(request: dict[str, Any]) -> str:
    if request.get("mode") == "url":
        return f"Asks to open {request.get('url', 'a page')}"
    return str(request.get("message") or "Needs a model client, not a person")


def _tool_error(line: search.Line) -> str:
    if line.tool_error is None:
        return ""
    blocks = codec.decode(line.tool_error).get("content", [])
    return next((block["text"] for block in blocks if block.get("type") == "text"), "")


def _questions_first(
    wanted: Search, owner_id: int | None, newest: tuple[store.Snapshot, ...]
) -> tuple[store.Snapshot, ...]:
    """What waits for a person stands on top of the first page, soonest expiry first."""
    waiting = search.Term((Status.INPUT_REQUIRED.value,))
    filter_ = search.narrowed(wanted.filter, statuses=waiting)
    asking = search.find(filter_, owner_id=owner_id, sort=search.Sort.EXPIRES, limit=QUESTIONS_FIRST).tasks
    ids = {task.id for task in asking}
    return asking + tuple(task for task in newest if task.id not in ids)


@dataclass(frozen=True, slots=True)
class Page:
    """Some tasks in order, and from where the pages beside them are read."""

    tasks: tuple[store.Snapshot, ...]
    newer: search.Place | None = None
    older: search.Place | None = None

    @property
    def is_first(self) -> bool:
        """Whether nothing comes before it."""
        return self.newer is None


def _page(request: HttpRequest, wanted: search.Filter, owner_id: int | None, sort: search.Sort) -> Page:
    after, before = _place(request.GET.get("after", "")), _place(request.GET.get("before", ""))
    if before is not None:
        found = search.find_before(wanted, owner_id=owner_id, sort=sort, before=before, limit=PAGE)
        if found.following is not None:
            return Page(found.tasks, newer=found.following, older=search.place_of(found.tasks[-1], sort))
        # Nothing more before it: that is the first page, which has grown meanwhile, perhaps.
        after = None
    found = search.find(wanted, owner_id=owner_id, sort=sort, after=after, limit=PAGE)
    first = search.place_of(found.tasks[0], sort) if found.tasks else after
    return Page(found.tasks, newer=None if after is None else first, older=found.following)


def _cursor(place: search.Place) -> str:
    return signing.dumps([place.at.isoformat(), str(place.id)], salt=SALT)


def _place(cursor: str) -> search.Place | None:
    if not cursor:
        return None
    try:
        at, task_id = signing.loads(cursor, salt=SALT)
    except signing.BadSignature:
        return None
    return search.Place(datetime.fromisoformat(at), UUID(task_id))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
