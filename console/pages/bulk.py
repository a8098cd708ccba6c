"""Acting on the rows that somebody picked: asked once for all, then done one task at a time, and told row by row.

Every task goes through the same function of the store as if it had been acted on alone; one more event says that
they belong together. What is not there and what is not the actor's look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from console import present
from console.access import Action, Principal, actor_for, require
from console.pages.addresses import back
from console.pages.asking import REASON_CHARACTERS
from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, NotAllowed, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.store import search

MOST_PICKED = 200
MOST_NAMED = 5
UNPROCESSABLE = 422
EXTEND_BY = {
    "15m": ("15 minutes", timedelta(minutes=15)),
    "1h": ("1 hour", timedelta(hours=1)),
    "1d": ("1 day", timedelta(days=1)),
    "7d": ("7 days", timedelta(days=7)),
}
USUAL = "1h"


class Outcome(StrEnum):
    """What became of one picked task."""

    DONE = "done"
    """It was changed."""

    ENDED = "ended"
    """It had ended already, and is as it was."""

    REFUSED = "refused"
    """It cannot be kept any longer."""

    BUSY = "busy"
    """Somebody else was changing it at that moment."""

    MISSING = "missing"
    """There is no such task, or it is not this person's."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The tasks that somebody picked, as far as there are any for them; `ids` as they were picked, each once."""

    ids: tuple[UUID, ...]
    tasks: tuple[store.Snapshot, ...]

    @property
    def missing(self) -> int:
        """How many are not there, or not theirs."""
        return len(self.ids) - len(self.tasks)

    @property
    def ended(self) -> int:
        """How many have ended already."""
        return sum(task.finished_at is not None for task in self.tasks)


@require_POST
@require(Action.CANCEL)
def cancel(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Ask, then cancel what was picked."""

    def act(task: store.Snapshot, by: Actor, scope: int | None) -> Outcome:
        return Outcome.DONE if store.cancel(task.id, owner_id=scope, by=by).happened else Outcome.ENDED

    return _respond(request, principal, Action.CANCEL, act)


@require_POST
@require(Action.EXTEND)
def extend(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Ask, then keep what was picked for longer."""
    _, more = EXTEND_BY.get(request.POST.get("by", ""), EXTEND_BY[USUAL])

    def act(task: store.Snapshot, by: Actor, scope: int | None) -> Outcome:
        store.extend(task.id, more=more, owner_id=scope, by=by)
        return Outcome.DONE

    return _respond(request, principal, Action.EXTEND, act)


Act = Callable[[store.Snapshot, Actor, int | None], Outcome]


def _respond(request: HttpRequest, principal: Principal, action: Action, act: Act) -> HttpResponse:
    picked = _picked(request, principal, action)
    if not picked.ids:
        messages.info(request, "No task was selected.")
        return redirect(back(request, otherwise=reverse("tasks")))
    problem = _problem(request, principal, picked)
    if "confirmed" not in request.POST or problem:
        return _ask(request, principal, action, picked, problem=problem if "confirmed" in request.POST else "")
    outcomes = _do(request, principal, action, picked, act)
    messages.info(request, _told(action, outcomes))
    return redirect(back(request, otherwise=reverse("tasks")))


def picked_ids(request: HttpRequest) -> tuple[UUID, ...]:
    """The ids that were sent, each once."""
    return tuple(dict.fromkeys(each for each in map(_uuid, request.POST.getlist("task")) if each is not None))


def _picked(request: HttpRequest, principal: Principal, action: Action) -> Picked:
    """What was picked, each once and no more than the limit, in two statements at most."""
    ids = picked_ids(request)
    if not ids or len(ids) > MOST_PICKED:
        return Picked(ids, ())
    wanted = search.Filter(ids=(search.Term(tuple(map(str, ids))),))
    scope = principal.scope(everyone=True, action=action)
    return Picked(ids, search.find(wanted, owner_id=scope, limit=MOST_PICKED).tasks)


def _problem(request: HttpRequest, principal: Principal, picked: Picked) -> str:
    """Why nothing is done at all; nothing is done by halves."""
    if len(picked.ids) > MOST_PICKED:
        return f"At most {MOST_PICKED} tasks at a time. {len(picked.ids)} were selected."
    if _strangers(principal, picked) and not _reason(request):
        return "Give a reason when you act on another owner's task."
    return ""


def _has_ended(task: store.Snapshot) -> bool:
    return task.finished_at is not None


def _strangers(principal: Principal, picked: Picked) -> int:
    return sum(task.owner_id != principal.owner_id for task in picked.tasks)


def _ask(
    request: HttpRequest, principal: Principal, action: Action, picked: Picked, *, problem: str = ""
) -> HttpResponse:
    context: dict[str, Any] = {
        "action": action.value,
        "picked": picked,
        "acting_on": len(picked.tasks) - (picked.ended if action is Action.CANCEL else 0),
        "rows": [(task, present.chip(task.status)) for task in sorted(picked.tasks, key=_has_ended)],
        "strangers": _strangers(principal, picked),
        "is_too_many": len(picked.ids) > MOST_PICKED,
        "limit": MOST_PICKED,
        "problem": problem,
        "reason": _reason(request) or "",
        "lengths": {key: words for key, (words, _) in EXTEND_BY.items()},
        "usual": request.POST.get("by", USUAL),
        "back": back(request, otherwise=reverse("tasks")),
    }
    template = "parts/bulk_confirm.html" if request.htmx else "bulk.html"  # type: ignore[attr-defined]
    return render(request, template, context, status=UNPROCESSABLE if problem else 200)


def _do(request: HttpRequest, principal: Principal, action: Action, picked: Picked, act: Act) -> dict[UUID, Outcome]:
    scope = principal.scope(everyone=True, action=action)
    reason = _reason(request)
    outcomes = dict.fromkeys(picked.ids, Outcome.MISSING)
    for task in picked.tasks:
        try:
            by = actor_for(principal, task_owner_id=task.owner_id, reason=reason)
            outcomes[task.id] = act(task, by, scope)
        except NotAllowed:
            outcomes[task.id] = Outcome.REFUSED
        except ConcurrentModification:
            outcomes[task.id] = Outcome.BUSY
        except NotFound:
            # It expired, or its owner changed, since it was looked up.
            outcomes[task.id] = Outcome.MISSING
    _record(principal, action, picked, outcomes, reason)
    return outcomes


def _record(
    principal: Principal, action: Action, picked: Picked, outcomes: dict[UUID, Outcome], reason: str | None
) -> None:
    """One event for all of them, beside the one that each task has: how many, and what became of them."""
    foreign = next((task.owner_id for task in picked.tasks if task.owner_id != principal.owner_id), None)
    by = actor_for(principal, task_owner_id=principal.owner_id if foreign is None else foreign, reason=reason)
    counts = {outcome.value: number for outcome in Outcome if (number := _count(outcomes, outcome))}
    detail = {"action": action.value, "tasks": len(picked.ids), "outcomes": counts}
    store.record_event("bulk", by=by, owner_id=principal.owner_id, detail=detail)


def _count(outcomes: dict[UUID, Outcome], outcome: Outcome) -> int:
    return sum(each is outcome for each in outcomes.values())


_DONE = {Action.CANCEL: "cancelled", Action.EXTEND: "extended"}
_NOT_DONE = {
    Outcome.ENDED: "had ended already",
    Outcome.REFUSED: "cannot be kept longer",
    Outcome.BUSY: "busy, try again",
    Outcome.MISSING: "not there",
}


def _told(action: Action, outcomes: dict[UUID, Outcome]) -> str:
    """What became of them: how many were changed, and which were not and why."""
    parts = [f"{_count(outcomes, Outcome.DONE)} {_DONE[action]}"]
    for outcome, words in _NOT_DONE.items():
        ids = [task_id for task_id, each in outcomes.items() if each is outcome]
        if ids:
            parts.append(f"{len(ids)} {words} ({_named(ids)})")
    return ", ".join(parts) + "."


def _named(ids: Sequence[UUID]) -> str:
    shown = ", ".join(present.short_id(task_id) for task_id in ids[:MOST_NAMED])
    return shown + (", …" if len(ids) > MOST_NAMED else "")


def _reason(request: HttpRequest) -> str | None:
    return request.POST.get("reason", "").strip()[:REASON_CHARACTERS] or None


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
