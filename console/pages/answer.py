"""Answering a question. The first valid answer wins; a late one is told so, with the draft kept.

A form never accepts a dead prompt: the store decides, and whoever lost sees who was first.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from console.access import Action, Principal, actor_for, require
from console.forms import QuestionForm, content_of, form_for
from console.pages import inbox
from console.pages.asking import REASON_CHARACTERS, Asked, closed, find_asked, needs_reason
from tasks_app import store
from tasks_app.domain.errors import InvalidAnswer, NotAllowed, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, QuestionKind, Via
from tasks_app.engine import hints
from tasks_app.store import queries

UNPROCESSABLE = 422
CONFLICT = 409


@require_http_methods(["POST"])
@require(Action.ANSWER)
def answer(request: HttpRequest, principal: Principal, task_id: UUID, key: str) -> HttpResponse:
    """Record an answer, or say why not: 422 for one that does not fit, 409 for one that came too late."""
    asked = find_asked(principal, task_id, key)
    try:
        given = _given(request, asked.question)
        done = store.answer(
            task_id,
            {key: given},
            owner_id=principal.scope(everyone=True),
            by=_actor(request, principal, asked),
            via=Via.CONSOLE,
        )
    except InvalidAnswer as wrong:
        form = form_for(asked.question, request.POST, wrong.fields)
        return _again(request, principal, asked, form, status=UNPROCESSABLE)
    except NotAllowed as refused:
        form = form_for(asked.question, request.POST, {"": [str(refused)]})
        return _again(request, principal, asked, form, status=UNPROCESSABLE)
    except NotFound:
        raise Http404 from None
    if not done.recorded:
        late = find_asked(principal, task_id, key)
        return _again(request, principal, late, form_for(late.question, request.POST), status=CONFLICT)
    hints.send()
    messages.success(request, "Answer sent. The task goes on as soon as a worker picks it up.")
    return redirect(_following(request, principal, asked))


def _given(request: HttpRequest, question: store.QuestionView) -> store.Answer:
    action = request.POST.get("action", "")
    if action not in set(AnswerAction):
        raise InvalidAnswer({"": ["Choose to send, decline or dismiss"]})
    if action != AnswerAction.ACCEPT:
        return store.Answer(AnswerAction(action))
    if question.kind is not QuestionKind.FORM:
        return store.Answer(AnswerAction.ACCEPT)
    return store.Answer(AnswerAction.ACCEPT, content_of(question, request.POST, zone=timezone.get_current_timezone()))


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
    ended = closed(asked.question, now=queries.now())
    context = {"asked": asked, "closed": ended, "needs_reason": needs_reason(principal, asked), **said}
    return render(request, "question.html", context, status=status)


def _following(request: HttpRequest, principal: Principal, asked: Asked) -> str:
    # Only names of our own pages: an address from the form could lead anywhere.
    if request.POST.get("then") != "inbox":
        return reverse("task", args=[asked.task.id])
    if "next" in request.POST:
        return inbox.next_address(request, principal)
    return reverse("question", args=[asked.task.id, asked.question.key])
