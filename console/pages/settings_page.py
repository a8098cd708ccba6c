"""One's own settings: how one is told, what happens after an answer, and where the rest is found.

Each section is a form of its own, so that one can be added or saved without the others.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from console import store
from console.access import Action, Principal, require
from console.models import Density
from console.pages.demo import may_remove
from console.zone import zones


@require_http_methods(["GET", "HEAD", "POST"])
@require(Action.VIEW)
def settings_page(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Show the settings, or keep those of the section that was sent."""
    if request.method == "POST":
        store.set_notice(principal.user.pk, notify="notify" in request.POST, advance="advance" in request.POST)
        messages.success(request, "Settings saved.")
        return redirect("settings")
    context = {
        "notice": store.notice_of(principal.user.pk),
        "zones": zones(),
        "densities": Density.values,
        "may_remove_demo": may_remove(principal),
        "may_webhooks": principal.may(Action.WEBHOOKS, everyone=True),
    }
    return render(request, "settings.html", context)


@require_POST
@require(Action.VIEW)
def notify(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Turn notifications on from the inbox, once the browser has been asked."""
    store.set_notice(principal.user.pk, notify=request.POST.get("notify") == "on")
    messages.success(request, "Notifications are on. They are shown while this tab is not in view.")
    return redirect("inbox")
