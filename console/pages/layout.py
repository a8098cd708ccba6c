"""How somebody likes the console: density, columns, single keys, time zone. Each is a plain form that leads back."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console import store, zone
from console.access import Action, Principal, require
from console.models import COLUMNS, Density, Preference
from console.pages.addresses import back


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be shown or left out."""

    name: str
    label: str


LABELS = {
    "owner": "Owner",
    "client": "Client",
    "attempts": "Attempts",
    "age": "Age",
    "updated": "Updated",
    "expires": "Expires",
}
CHOICES = tuple(Column(name, LABELS[name]) for name in COLUMNS)


def preference_at(request: HttpRequest) -> Preference:
    """What whoever asks prefers; read once a request, because the frame of a page asks too."""
    known = getattr(request, "known_preference", None)
    if isinstance(known, Preference):
        return known
    user = getattr(request, "user", None)
    found = store.preference_of(user) if isinstance(user, User) else Preference()
    request.known_preference = found  # type: ignore[attr-defined]
    return found


@require_POST
@require(Action.VIEW)
def choose_density(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Remember how much room a row takes."""
    chosen = request.POST.get("density", "")
    if chosen not in Density.values:
        raise BadRequest("Unknown density.")
    store.set_density(principal.user, Density(chosen))
    return redirect(back(request, otherwise=reverse("tasks")))


@require_POST
@require(Action.VIEW)
def choose_columns(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Remember which columns are shown."""
    store.set_columns(principal.user, request.POST.getlist("column"))
    return redirect(back(request, otherwise=reverse("tasks")))


@require_POST
@require(Action.VIEW)
def choose_keys(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Remember whether single characters are shortcuts; the sheet of keys is told nothing, because it knows already."""
    store.set_single_keys(principal.user, request.POST.get("single_keys") == "on")
    if "back" not in request.POST:
        return HttpResponse(status=204)
    messages.success(request, "Settings saved.")
    return redirect(back(request, otherwise=reverse("settings")))


@require_POST
@require(Action.VIEW)
def choose_zone(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Remember in which time zone times are shown; an empty name is the server's."""
    chosen = request.POST.get("time_zone", "")
    if chosen and chosen not in zone.zones():
        raise BadRequest("Unknown time zone.")
    store.set_time_zone(principal.user, chosen)
    zone.remember(request, chosen)
    messages.success(request, f"Times are shown in {chosen or 'the zone of the server'}.")
    return redirect(back(request, otherwise=reverse("settings")))
