"""One task: what it is doing, what it asks, how it came here, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console import present, records, request_ids
from console.access import VIA, Action, Principal, actor_for, require
from console.forms import QuestionForm, form_for
from console.headline import headline
from console.jsontree import tree
from console.pages.asking import REASON_CHARACTERS, closed, holdings
from console.pages.bulk import EXTEND_BY, USUAL
from console.story import Show, attempt_end, split, timeline
from tasks_app import store
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import Audience, QuestionState
from tasks_app.store import expirations, queries, search
from tasks_app.store import policy as policies

LOG_CHUNKS = 200
SAID = 300


@require_safe
@require(Action.VIEW)
def task(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:
    """The page of a task; one that is not the viewer's looks like one that never was."""
    try:
        found = queries.get(task_id, owner_id=principal.scope(everyone=True))
    except NotFound:
        return _what_remains(request, principal, task_id)
    return render(request, "task.html", _context(principal, found, _wanted(request)))


def _what_remains(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:
    """The page of a task that has expired, or is gone: its record and its timeline outlive it."""
    record = expirations.record_of(task_id, owner_id=principal.scope(everyone=True))
    if record is None:
        # Past its time, but the loop has not seen it yet.
        return render(request, "task.html", _context(principal, _find(principal, task_id), _wanted(request)))
    policy = policies.current()
    [line] = records.lines([record], policy=policy)
    events = queries.timeline(task_id)
    names = search.owner_names(list({record.owner_id, *_people(events, ())}))
    context = {
        "record": record,
        "line": line,
        "timeline": timeline(events, names=names, said={}, show=Show.ALL),
        "may_hold": record.is_kept and principal.may(Action.HOLD, everyone=True),
        "purge_at": records.purge_at(record, policy.terms(record.tool, record.owner_id)),
    }
    return render(request, "task_record.html", context)


@require_safe
@require(Action.VIEW)
def raw(request: HttpRequest, principal: Principal, task_id: UUID, part: str) -> HttpResponse:  # noqa: ARG001
    """Arguments or outcome as a file: the value exactly as it is stored."""
    found = _find(principal, task_id, even_expired=False)
    text = found.arguments if part == "arguments" else found.result or found.error
    if text is None:
        raise Http404
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{found.id}-{part}.json"'
    return response


@require_safe
@require(Action.VIEW)
def log(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:  # noqa: ARG001
    """Everything that a task wrote, as a file."""
    found = _find(principal, task_id, even_expired=False)
    text, after = [], 0
    while chunks := queries.output(found.id, after=after):
        text += [chunk.text for chunk in chunks]
        after = chunks[-1].offset + chunks[-1].size
    response = HttpResponse("".join(text), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{found.id}.log"'
    return response


@require_http_methods(["POST"])
@require(Action.CANCEL)
def cancel(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:
    """End a task now; its worker is told."""
    found = _find(principal, task_id)
    try:
        actor = actor_for(principal, task_owner_id=found.owner_id, reason=_reason(request))
        done = store.cancel(task_id, owner_id=principal.scope(everyone=True, action=Action.CANCEL), by=actor)
    except NotAllowed as refused:
        messages.error(request, str(refused))
        return redirect("task", task_id)
    except NotFound:
        raise Http404 from None
    if done.happened:
        messages.success(request, "Task cancelled. Its worker stops now.")
    else:
        messages.info(request, "The task had already ended. Nothing was changed.")
    return redirect("task", task_id)


@require_http_methods(["POST"])
@require(Action.EXTEND)
def extend(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:
    """Keep a task for longer."""
    found = _find(principal, task_id)
    _, more = EXTEND_BY.get(request.POST.get("by", ""), EXTEND_BY[USUAL])
    try:
        actor = actor_for(principal, task_owner_id=found.owner_id, reason=_reason(request))
        store.extend(task_id, more=more, owner_id=principal.scope(everyone=True, action=Action.EXTEND), by=actor)
    except NotAllowed as refused:
        messages.error(request, str(refused))
    except NotFound:
        raise Http404 from None
    else:
        messages.success(request, "The task is kept for longer.")
    return redirect("expirations") if request.POST.get("then") == "expirations" else redirect("task", task_id)


@require_http_methods(["POST"])
@require(Action.HOLD)
def hold(request: HttpRequest, principal: Principal, task_id: UUID) -> HttpResponse:
    """Put a legal hold on a task, or lift it; either needs a reason."""
    reason = (_reason(request) or "").strip()
    if not reason:
        messages.error(request, "Give a reason for a legal hold.")
        return redirect("task", task_id)
    is_held = request.POST.get("held") == "1"
    role = ActorKind.ADMIN.value
    by = Actor(ActorKind.ADMIN, id=principal.owner_id, role=role, via=VIA, reason=reason, request=request_ids.current())
    try:
        _hold(task_id, held=is_held, by=by)
    except NotFound:
        raise Http404 from None
    said = "The task is held: it neither expires nor is it purged." if is_held else "The hold is lifted."
    messages.success(request, said)
    return redirect("task", task_id)


def _hold(task_id: UUID, *, held: bool, by: Actor) -> None:
    try:
        store.hold(task_id, held=held, owner_id=None, by=by)
    except NotFound:
        store.hold_expired(task_id, held=held, by=by)


def _wanted(request: HttpRequest) -> Show:
    asked = request.GET.get("show", "")
    return Show(asked) if asked in set(Show) else Show.ALL


def _find(principal: Principal, task_id: UUID, *, even_expired: bool = True) -> store.Snapshot:
    find = queries.look if even_expired else queries.get
    try:
        return find(task_id, owner_id=principal.scope(everyone=True))
    except NotFound:
        raise Http404 from None


def _reason(request: HttpRequest) -> str | None:
    return request.POST.get("reason", "").strip()[:REASON_CHARACTERS] or None


def _context(principal: Principal, found: store.Snapshot, show: Show) -> dict[str, Any]:
    now = queries.now()
    asked = queries.questions(found.id)
    events = queries.timeline(found.id)
    attempts = queries.attempts(found.id)
    names = search.owner_names(list({found.owner_id, *_people(events, asked)}))
    is_own = found.owner_id == principal.owner_id
    is_expired = found.expires_at <= now and not found.held
    said = {} if is_expired else {each.key: str(each.request.get("message", ""))[:SAID] for each in asked}
    return {
        "task": found,
        "now": now,
        "owner": names.get(found.owner_id, ""),
        "is_own": is_own,
        "is_expired": is_expired,
        "chip": present.chip(found.status),
        "badges": present.badges(found, now=now, is_stopping=_is_stopping(found, attempts)),
        "headline": headline(found, events=events, attempts=attempts, names=names, now=now),
        "expires": present.countdown(found.expires_at, now=now),
        "ttl": present.length(found.expires_at - found.created_at),
        "since": present.length(now - found.status_at),
        "took": present.length((found.finished_at or now) - found.created_at),
        "forms": [] if is_expired else _forms(principal, asked, is_own),
        "asked": len(asked),
        "held": holdings(principal, [each.id for each in asked if each.state is QuestionState.OPEN]),
        "questions": [
            (each, closed(each, found, names, now=now)) for each in asked if each.state is not QuestionState.OPEN
        ],
        "timeline": timeline(events, names=names, said=said, show=show),
        "shows": list(Show),
        "show": show.value,
        "split": split(found, events, now=now),
        "attempts": [(each, _ran(each, now), attempt_end(each)) for each in reversed(attempts)],
        "steps": queries.steps(found.id),
        "reads": queries.reads(found.id),
        "may_cancel": found.finished_at is None and principal.may_on(Action.CANCEL, task_owner_id=found.owner_id),
        "may_extend": not is_expired and principal.may_on(Action.EXTEND, task_owner_id=found.owner_id),
        "may_hold": principal.may(Action.HOLD, everyone=True),
        "lengths": {key: words for key, (words, _) in EXTEND_BY.items()},
        "usual": USUAL,
        **({} if is_expired else _payload(found)),
    }


def _payload(found: store.Snapshot) -> dict[str, Any]:
    """What a task was given, keeps and returned, and the end of what it wrote."""
    outcome = found.result or found.error
    return {
        "arguments": tree(found.arguments),
        "arguments_size": present.size(len(found.arguments.encode(errors="replace"))),
        "outcome": None if outcome is None else tree(outcome),
        "outcome_size": present.size(len((outcome or "").encode(errors="replace"))),
        "variables": tree(found.variables),
        "log": queries.output_tail(found.id, limit=LOG_CHUNKS),
        "log_size": present.size(found.output_bytes),
    }


def _forms(principal: Principal, asked: Sequence[store.QuestionView], is_own: bool) -> list[QuestionForm]:
    is_open = (each for each in asked if each.state is QuestionState.OPEN)
    return [form_for(each) for each in is_open if _may_answer(principal, each, is_own)]


def _may_answer(principal: Principal, asked: store.QuestionView, is_own: bool) -> bool:
    if asked.audience is Audience.OPERATOR:
        return principal.may(Action.APPROVE, everyone=True)
    return is_own or principal.may(Action.ANSWER, everyone=True)


def _is_stopping(found: store.Snapshot, attempts: Sequence[queries.AttemptView]) -> bool:
    return found.finished_at is not None and any(each.ended_at is None for each in attempts)


def _ran(attempt: queries.AttemptView, now: datetime) -> str:
    return present.length((attempt.ended_at or now) - attempt.started_at)


def _people(events: Sequence[queries.EventView], asked: Sequence[store.QuestionView]) -> set[int]:
    actors = [event.actor for event in events] + [each.answered_by or {} for each in asked]
    return {actor["id"] for actor in actors if isinstance(actor.get("id"), int)}
