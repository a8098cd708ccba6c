"""Saying that one is answering a question, so that others see it; and taking over, or giving it back."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from console import store
from console.access import Action, Principal, require
from console.pages.asking import find_asked, holdings, why_not

TAKE = "take"
OVER = "over"
RELEASE = "release"


@require_POST
@require(Action.ANSWER)
def claim(request: HttpRequest, principal: Principal, task_id: UUID, key: str) -> HttpResponse:
    """Claim, renew, take over or release; gives what the form now says, or for a plain form its page again."""
    asked = find_asked(principal, task_id, key)
    if refused := why_not(principal, asked):
        if not principal.may_on(Action.ANSWER, task_owner_id=asked.task.owner_id):
            raise Http404
        raise PermissionDenied(refused)
    how = request.POST.get("how", "")
    if how not in {TAKE, OVER, RELEASE}:
        raise BadRequest("Claim, take over or release?")
    if not asked.is_live:
        # A form that is still open in a browser lets go of what went with its task.
        return HttpResponse(status=204)
    question_id = asked.question.id
    if how == RELEASE:
        store.release(asked.task, question_id, owner_id=principal.owner_id)
    else:
        store.claim(asked.task, question_id, owner_id=principal.owner_id, take_over=how == OVER)
    if "quiet" in request.POST:
        return HttpResponse(status=204)
    if "X-Live" not in request.headers:
        return redirect("question", task_id, key)
    holding = holdings(principal, [question_id]).get(question_id)
    return render(request, "parts/claim.html", {"question": asked.question, "holding": holding})
