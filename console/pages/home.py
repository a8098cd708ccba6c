"""The start page: where somebody looks first depends on what they may see."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from console.access import Action, Principal, require


@require_safe
@require(Action.VIEW)
def home(request: HttpRequest, principal: Principal) -> HttpResponse:  # noqa: ARG001
    """Lead those who see everyone's tasks to the overview, and the others to their own tasks."""
    return redirect("overview" if principal.may(Action.VIEW, everyone=True) else "tasks")
