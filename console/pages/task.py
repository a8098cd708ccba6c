"""One task: what it is doing, what it asks, how it came here, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from console.pages.asking import (
    REASON_CHARACTERS,
    Asked,
    closed,
    content,
    holdings,
    is_live,
    needs_reason,
    people,
    why_not,
)
from console.pages.bulk import EXTEND_BY, USUAL
from console.story import Show, attempt_end, split, timeline
from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, LimitExceeded, NotAllowed, NotFound, TaskdeckError
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import QuestionState
from tasks_app.engine.plan import workflow
from tasks_app.engine.registry import registry
from tasks_app.store import expirations, queries, search
from tasks_app.store import policy as policies

LOG_CHUNKS = 200
SAID = 300
UNPROCESSABLE = 422
CONFLICT = 409
REFUSED = (NotAllowed, LimitExceeded, ConcurrentModification)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question that is open, as somebody who sees its task may answer it, or why they may not."""

    form: QuestionForm
    why_not: str
    needs_reason: bool


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
    except REFUSED as refused:
        return _again(request, principal, found, refused, form="cancel")
    except NotFound:
        return _gone(request, principal, found, Action.CANCEL)
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
    except REFUSED as refused:
        return _again(request, principal, found, refused, form="extend")
    except NotFound:
        return _gone(request, principal, found, Action.EXTEND)
    messages.success(request, "The task is kept for longer.")
    return redirect("expirations") if request.POST.get("then") == "expirations" else redirect("task", task_id)


def _again(
    request: HttpRequest, principal: Principal, found: store.Snapshot, refused: TaskdeckError, *, form: str
) -> HttpResponse:
    """The page with the form that was sent, what is wrong with it and everything that was typed."""
    typed = {"wrong": form, "problem": str(refused), "reason": _reason(request) or "", "by": request.POST.get("by", "")}
    status = CONFLICT if isinstance(refused, ConcurrentModification) else UNPROCESSABLE
    return render(request, "task.html", _context(principal, found, Show.ALL) | typed, status=status)


def _gone(request: HttpRequest, principal: Principal, found: store.Snapshot, action: Action) -> HttpResponse:
    """Nothing can be done to a task that has expired, which its page says; to another's there is nothing to say."""
    if is_live(found, queries.now()) or not principal.may_on(action, task_owner_id=found.owner_id):
        raise Http404
    messages.info(request, "The task had already expired. Nothing was changed.")
    return redirect("task", found.id)


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
    is_expired = not is_live(found, now)
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
        "percent": None if is_expired else present.percent(found),
        "prompts": [] if is_expired else _prompts(principal, found, asked, now),
        "asked": len(asked),
        "held": holdings(principal, [each.id for each in asked if each.state is QuestionState.OPEN]),
        "questions": [
            (each, closed(each, found, names, now=now), None if is_expired else content(each))
            for each in asked
            if each.state is not QuestionState.OPEN
        ],
        "timeline": timeline(events, names=names, said=said, show=show),
        "shows": list(Show),
        "show": show.value,
        "split": split(found, events, now=now),
        "attempts": [(each, _ran(each, now), attempt_end(each)) for each in reversed(attempts)],
        **_steps(found, attempts),
        "reads": queries.reads(found.id),
        "may_cancel": found.finished_at is None and principal.may_on(Action.CANCEL, task_owner_id=found.owner_id),
        "may_extend": not is_expired and principal.may_on(Action.EXTEND, task_owner_id=found.owner_id),
        "may_hold": principal.may(Action.HOLD, everyone=True),
        "lengths": {key: words for key, (words, _) in EXTEND_BY.items()},
        "usual": USUAL,
        **({} if is_expired else _payload(found)),
    }


def _steps(found: store.Snapshot, attempts: Sequence[queries.AttemptView]) -> dict[str, Any]:
    """What the tool planned and what it did, each with where it stands, and how many are done."""
    tool = registry.get(found.tool)
    done = {step.name: step for step in queries.steps(found.id)}
    failed = attempts[-1].failed_step if attempts else None
    steps = workflow(tool.steps if tool else (), list(done), failed=failed)
    return {"steps": [(step, done.get(step.name)) for step in steps], "steps_done": len(done)}


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


def _prompts(
    principal: Principal, found: store.Snapshot, asked: Sequence[store.QuestionView], now: datetime
) -> list[Prompt]:
    is_open = (Asked(found, each, (), now) for each in asked if each.state is QuestionState.OPEN)
    return [
        Prompt(form_for(each.question), why_not(principal, each), needs_reason(principal, each)) for each in is_open
    ]


def _is_stopping(found: store.Snapshot, attempts: Sequence[queries.AttemptView]) -> bool:
    return found.finished_at is not None and any(each.ended_at is None for each in attempts)


def _ran(attempt: queries.AttemptView, now: datetime) -> str:
    return present.length((attempt.ended_at or now) - attempt.started_at)


def _people(events: Sequence[queries.EventView], asked: Sequence[store.QuestionView]) -> set[int]:
    return people(asked) | {event.actor["id"] for event in events if isinstance(event.actor.get("id"), int)}
