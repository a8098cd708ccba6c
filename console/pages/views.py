"""Saved views: a search with a name, kept for oneself or shown to everybody, and its end."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console import store
from console.access import Action, Principal, require
from console.pages.addresses import back
from tasks_app.store.search import Sort


@require_POST
@require(Action.VIEW)
def save(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Save the search under a name; only those who may share one can show it to everybody."""
    sort = request.POST.get("sort", "")
    try:
        view = store.save_view(
            principal.user,
            name=request.POST.get("name", ""),
            query=request.POST.get("q", ""),
            sort=sort if sort in set(Sort) else Sort.CREATED.value,
            shared="shared" in request.POST and principal.may(Action.SHARE_VIEWS),
        )
    except store.ViewRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Saved as “{view.name}”" + (", for everybody." if view.shared else "."))
    return redirect(back(request, otherwise=reverse("tasks")))


@require_POST
@require(Action.VIEW)
def delete(request: HttpRequest, principal: Principal, view_id: int) -> HttpResponse:
    """Delete a view of one's own, or a shared one if one may share; another's looks as if it were not there."""
    if not store.delete_view(principal.user, view_id, anyones=principal.may(Action.SHARE_VIEWS)):
        raise Http404
    messages.success(request, "View deleted.")
    return redirect(back(request, otherwise=reverse("tasks")))
