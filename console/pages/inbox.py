"""What waits for a person: questions, the soonest expiry first, each with its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console import present, store
from console.access import Action, Principal, require
from console.forms import QuestionForm, answered_form, draft_of, form_for
from console.jsontree import tree
from console.pages.asking import (
    Asked,
    Holding,
    closed,
    content,
    ended,
    find_asked,
    holdings,
    kind_words,
    needs_reason,
    people,
    subject,
    why_not,
)
from console.pages.scope import asked_scope, owner_scope
from tasks_app.conf import conf
from tasks_app.domain.questions import QuestionState
from tasks_app.domain.text import is_storable
from tasks_app.store import inbox, queries, search, tally

TABS = {"open": QuestionState.OPEN, "answered": QuestionState.ANSWERED, "expired": QuestionState.EXPIRED}
PAGE = 50
LAST_LINES = 3
SALT = "console.inbox.place"


@dataclass(frozen=True, slots=True)
class Filters:
    """What the address asks for: a tab, a tool, an owner, a place in the list."""

    tab: str
    tool: str
    of_owner_id: int | None
    after: inbox.Place | None
    scope: str = ""

    @property
    def state(self) -> QuestionState:
        """The state that the tab stands for."""
        return TABS[self.tab]

    @property
    def is_narrowed(self) -> bool:
        """Whether the list leaves something out."""
        return bool(self.tool) or self.of_owner_id is not None

    def query(self, **changes: object) -> str:
        """The same list as the end of an address, with some things changed; a place is not kept."""
        now: dict[str, object] = {
            "tab": self.tab,
            "tool": self.tool,
            "owner": self.of_owner_id or "",
            "scope": self.scope,
        }
        now |= changes
        if now["tab"] == "open":
            del now["tab"]
        kept = {name: value for name, value in now.items() if value not in {"", None}}
        return f"?{urlencode(kept)}" if kept else ""


@dataclass(frozen=True, slots=True)
class Row:
    """A question as the list shows it."""

    item: inbox.Item
    due: present.Countdown
    owner: str
    kind: str
    subject: str
    holding: Holding | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a menu that narrows the list."""

    label: str
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """By what the list can be narrowed."""

    name: str
    label: str
    choices: list[Choice]


@require_safe
@require(Action.VIEW)
def questions(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The list, and beside it the first question that is open."""
    return show(request, principal, None)


@require_safe
@require(Action.VIEW)
def question(request: HttpRequest, principal: Principal, task_id: UUID, key: str) -> HttpResponse:
    """One question: where every notification leads to."""
    return show(request, principal, find_asked(principal, task_id, key))


@never_cache
@require_safe
@require(Action.VIEW)
def count(request: HttpRequest, principal: Principal) -> HttpResponse:  # noqa: ARG001
    """How many questions wait for the viewer, and the newest: for the navigation, the title and a notification."""
    waits = waiting_for(principal)
    newest, address = 0, ""
    if waits.newest is not None:
        newest, task_id, key = waits.newest
        address = reverse("question", args=[task_id, key])
    notify = store.notice_of(principal.user.pk).notify
    return JsonResponse({"open": waits.count, "newest": newest, "url": address, "notify": notify})


@require_safe
@require(Action.VIEW)
def state(request: HttpRequest, principal: Principal, task_id: UUID, key: str) -> HttpResponse:
    """What a form that is open in a browser has to say above it: nothing (204), or who or what ended the question."""
    said = ended(find_asked(principal, task_id, key))
    if said is None:
        return HttpResponse(status=204)
    context = {"closed": said, "keeps_draft": True, "offers_next": True}
    return render(request, "parts/question_closed.html", context)


def waiting_for(principal: Principal) -> inbox.Waiting:
    """What waits for this person: what their tasks ask and, for operators, what only they may decide."""
    decides = principal.may(Action.APPROVE, everyone=True)
    return inbox.waiting(principal.owner_id, approvals=decides, own_approvals=conf().self_approval)


def next_address(request: HttpRequest, principal: Principal) -> str:
    """Where to go after an answer: to the question of the same list that expires next, or to that list, empty."""
    wanted = replace(_filters(request), tab="open", after=None)
    found = _find(request, principal, wanted, limit=1)
    if not found:
        return reverse("inbox") + wanted.query()
    return reverse("question", args=[found[0].question.task_id, found[0].question.key]) + wanted.query()


def suffix(request: HttpRequest) -> str:
    """The list that a page was opened from, as the end of an address."""
    return _filters(request).query()


def show(
    request: HttpRequest,
    principal: Principal,
    asked: Asked | None,
    said: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """The page: the list, and the question that was asked for or the first. `said` is what was typed into its form."""
    wanted = _filters(request)
    found = _find(request, principal, wanted, limit=PAGE + 1)
    is_chosen = asked is not None
    if asked is None and found and wanted.state is QuestionState.OPEN:
        first = found[0].question
        asked = find_asked(principal, first.task_id, first.key)
    now = queries.now() if asked is None else asked.now
    context: dict[str, Any] = _list(request, principal, wanted, found, now) | {"is_chosen": is_chosen}
    if asked is not None:
        context |= _chosen(principal, asked) | (said or {})
    return render(request, "inbox.html", context, status=status)


def _filters(request: HttpRequest) -> Filters:
    tab, tool, owner = (request.GET.get(name, "") for name in ("tab", "tool", "owner"))
    return Filters(
        tab if tab in TABS else "open",
        tool if is_storable(tool) else "",
        int(owner) if owner.isascii() and owner.isdigit() and len(owner) < 19 else None,
        _place(request.GET.get("after", "")),
        asked_scope(request) if "scope" in request.GET else "",
    )


def _place(text: str) -> inbox.Place | None:
    try:
        at, question_id = signing.loads(text, salt=SALT)
        return inbox.Place(datetime.fromisoformat(at), int(question_id))
    except (signing.BadSignature, ValueError, TypeError):
        return None


def _find(request: HttpRequest, principal: Principal, wanted: Filters, *, limit: int) -> list[inbox.Item]:
    """What stands in the list; one more than a page holds says that there is another."""
    return inbox.page(
        wanted.state,
        owner_id=owner_scope(request, principal),
        sees_approvals=principal.may(Action.APPROVE, everyone=True),
        limit=limit,
        tool=wanted.tool,
        of_owner_id=wanted.of_owner_id,
        after=wanted.after,
    )


def _list(
    request: HttpRequest, principal: Principal, wanted: Filters, found: list[inbox.Item], now: datetime
) -> dict[str, Any]:
    shown = found[:PAGE]
    owner_id = owner_scope(request, principal)
    names = search.owner_names(list({each.owner_id for each in shown}))
    held = holdings(principal, [each.question.id for each in shown])
    kept = wanted.query(scope="", owner="")
    return {
        "tab": wanted.tab,
        "open_count": _open_count(wanted, found),
        "tabs": [(name, wanted.query(tab=name)) for name in TABS],
        "now": now,
        "rows": [_row(each, names, held, now) for each in shown],
        "suffix": wanted.query(),
        "more": wanted.query(after=_signed(shown[-1].place)) if len(found) > PAGE else "",
        "first": wanted.query() if wanted.after else None,
        "sees_all": principal.may(Action.VIEW, everyone=True),
        "everyone": owner_id is None,
        "query": f"{kept[1:]}&" if kept else "",
        "is_narrowed": wanted.is_narrowed,
        **_menus(principal, wanted, owner_id),
        **({} if shown else _nothing(principal, owner_id)),
    }


def _open_count(wanted: Filters, found: list[inbox.Item]) -> str:
    """How much is open, where the list says it: on its first page, with nothing left out."""
    if wanted.state is not QuestionState.OPEN or wanted.is_narrowed or wanted.after:
        return ""
    return f"{PAGE}+" if len(found) > PAGE else str(len(found) or "")


def _row(each: inbox.Item, names: Mapping[int, str], held: Mapping[int, Holding], now: datetime) -> Row:
    due = present.countdown(each.question.expires_at, now=now)
    owner = names.get(each.owner_id, "")
    asked = each.question
    said = subject(asked) if each.is_live else "Its task has expired"
    return Row(each, due, owner, kind_words(asked), said, held.get(asked.id))


def _nothing(principal: Principal, owner_id: int | None) -> dict[str, Any]:
    """What an empty inbox says: that something is going on all the same, and how one is told."""
    notifies = store.notice_of(principal.user.pk).notify
    return {"working": tally.counts(owner_id).get("working", 0), "notifies": notifies}


def _menus(principal: Principal, wanted: Filters, owner_id: int | None) -> dict[str, Any]:
    """The two menus that narrow the list; one with nothing to choose from is left out."""
    decides = principal.may(Action.APPROVE, everyone=True)
    facets = inbox.facets(wanted.state, owner_id=owner_id, sees_approvals=decides)
    # What is chosen stays in the menu, even if nothing has it any more.
    tools = sorted({*facets.tools, *filter(None, [wanted.tool])})
    owners = search.owner_names([*facets.owner_ids, *filter(None, [wanted.of_owner_id])])
    by_tool = [Choice(tool, wanted.query(tool=tool), tool == wanted.tool) for tool in tools]
    by_owner = [Choice(name, wanted.query(owner=id_), id_ == wanted.of_owner_id) for id_, name in owners.items()]
    menus = [
        Menu("tool", wanted.tool or "Tool", [Choice("All tools", wanted.query(tool=""), not wanted.tool), *by_tool]),
        Menu(
            "owner",
            owners.get(wanted.of_owner_id or 0, "Owner"),
            [Choice("All owners", wanted.query(owner=""), wanted.of_owner_id is None), *by_owner],
        ),
    ]
    return {"menus": [menu for menu in menus if len(menu.choices) > 2 or not menu.choices[0].is_chosen]}


def _signed(place: inbox.Place) -> str:
    return signing.dumps([place.at.isoformat(), place.id], salt=SALT)


def _chosen(principal: Principal, asked: Asked) -> dict[str, Any]:
    question, task = asked.question, asked.task
    refused = why_not(principal, asked)
    names = search.owner_names(list({task.owner_id, *people([question, *asked.others])}))
    end = ended(asked, names)
    return {
        "asked": asked,
        "question": question,
        "form": _form(asked, is_over=end is not None),
        "closed": end,
        "may_answer": not refused,
        "why_not": refused,
        "needs_reason": needs_reason(principal, asked),
        "holding": holdings(principal, [question.id]).get(question.id),
        "advance": store.notice_of(principal.user.pk).advance,
        "due": present.countdown(min(question.expires_at, task.expires_at), now=asked.now),
        "is_with_task": question.expires_at >= task.expires_at,
        "owner": names.get(task.owner_id, ""),
        "chip": present.chip(task.status),
        "earlier": [
            (each, closed(each, task, names, now=asked.now))
            for each in asked.others
            if each.state is not QuestionState.OPEN
        ],
        **(_payload(asked) if asked.is_live else {}),
    }


def _form(asked: Asked, *, is_over: bool) -> QuestionForm:
    if not asked.is_live:
        return draft_of(asked.question)
    return answered_form(asked.question) if is_over else form_for(asked.question)


def _payload(asked: Asked) -> dict[str, Any]:
    """What its task was given and wrote, and what was answered: for as long as the task is there."""
    return {
        "lines": inbox.last_lines(asked.task.id, limit=LAST_LINES),
        "arguments": tree(asked.task.arguments),
        "sent": content(asked.question),
    }
