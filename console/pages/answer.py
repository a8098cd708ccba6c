"""Answering a question. The first valid answer wins; a late one is told so, with the draft kept.

A form never accepts a dead prompt: the store decides, and whoever lost sees who was first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from console.access import Action, Principal, actor_for, require
from console.forms import QuestionForm, content_of, draft_of, form_for
from console.pages import inbox
from console.pages.asking import REASON_CHARACTERS, Asked, ended, find_asked, needs_reason
from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, InvalidAnswer, LimitExceeded, NotAllowed, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, QuestionKind, Via
from tasks_app.engine import hints

UNPROCESSABLE = 422
CONFLICT = 409


@require_http_methods(["POST"])
@require(Action.ANSWER)
def answer(request: HttpRequest, principal: Principal, task_id: UUID, key: str) -> HttpResponse:
    """Record an answer, or say why not: 422 for one that does not fit, 409 for one that came too late."""
    asked = find_asked(principal, task_id, key)
    try:
        by = _actor(request, principal, asked)
        given = {key: _given(request, asked.question)}
        done = store.answer(task_id, given, owner_id=principal.scope(everyone=True), by=by, via=Via.CONSOLE)
    except InvalidAnswer as wrong:
        return _refused(request, principal, asked, wrong.fields)
    except (NotAllowed, LimitExceeded) as refused:
        return _refused(request, principal, asked, {"": [str(refused)]})
    except ConcurrentModification as busy:
        return _refused(request, principal, asked, {"": [str(busy)]}, status=CONFLICT)
    except NotFound:
        return _not_found(request, principal, asked)
    if not done.recorded:
        return _refused(request, principal, asked, {}, status=CONFLICT)
    hints.send()
    messages.success(request, "Answer sent. The task goes on as soon as a worker picks it up.")
    return redirect(_following(request, principal, asked))


def _refused(
    request: HttpRequest,
    principal: Principal,
    asked: Asked,
    errors: Mapping[str, Sequence[str]],
    *,
    status: int = UNPROCESSABLE,
) -> HttpResponse:
    """The form again with what is wrong. One that is over is locked instead, and says what ended it."""
    late = find_asked(principal, asked.task.id, asked.question.key)
    if ended(late, {}) is None:
        return _again(request, principal, late, form_for(late.question, request.POST, errors), status=status)
    form = form_for(late.question, request.POST) if late.is_live else draft_of(late.question, request.POST)
    return _again(request, principal, late, form, status=CONFLICT)


def _not_found(request: HttpRequest, principal: Principal, asked: Asked) -> HttpResponse:
    """The task is another's or has expired; what was typed for one that expired is not lost."""
    late = find_asked(principal, asked.task.id, asked.question.key)
    if late.is_live or not principal.may_on(Action.ANSWER, task_owner_id=late.task.owner_id):
        raise Http404
    return _refused(request, principal, late, {})


def _given(request: HttpRequest, question: store.QuestionView) -> store.Answer:
    action = request.POST.get("action", "")
    if action not in set(AnswerAction):
        raise InvalidAnswer({"": ["Choose to send, decline or dismiss"]})
    if action != AnswerAction.ACCEPT:
        return store.Answer(AnswerAction(action))
    if question.kind is not QuestionKind.FORM:
        return store.Answer(AnswerAction.ACCEPT)
    try:
        content = content_of(question, request.POST, zone=timezone.get_current_timezone())
    except ValueError as unshowable:
        raise InvalidAnswer({"": [str(unshowable)]}) from None
    return store.Answer(AnswerAction.ACCEPT, content)


def _actor(request: HttpRequest, principal: Principal, asked: Asked) -> Actor:
    reason = request.POST.get("reason", "").strip()[:REASON_CHARACTERS] or None
    return actor_for(principal, task_owner_id=asked.task.owner_id, reason=reason, as_operator=asked.is_gate)


def _again(
    request: HttpRequest, principal: Principal, asked: Asked, form: QuestionForm, *, status: int
) -> HttpResponse:
    """The form with what was typed: in the inbox if it came from there, otherwise by itself."""
    said = {"form": form, "keeps_draft": True, "reason": request.POST.get("reason", "")[:REASON_CHARACTERS]}
    if request.POST.get("then") == "inbox":
        return inbox.show(request, principal, asked, said, status=status)
    context = {"asked": asked, "closed": ended(asked), "needs_reason": needs_reason(principal, asked), **said}
    return render(request, "question.html", context, status=status)


def _following(request: HttpRequest, principal: Principal, asked: Asked) -> str:
    # Only names of our own pages: an address from the form could lead anywhere.
    if request.POST.get("then") != "inbox":
        return reverse("task", args=[asked.task.id])
    if "next" in request.POST:
        return inbox.next_address(request, principal)
    return reverse("question", args=[asked.task.id, asked.question.key]) + inbox.suffix(request)
