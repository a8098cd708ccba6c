"""The colour theme: which one a browser chose, and the form that changes it.

The choice lives in a cookie, so the server renders it and no page flashes in the wrong colours.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

THEMES = ("system", "light", "dark")
COOKIE = "theme"
COOKIE_SECONDS = 365 * 24 * 60 * 60


def theme_of(request: HttpRequest) -> str:
    """The theme that this browser chose; "system" when it chose none that we know."""
    chosen = request.COOKIES.get(COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]


def theme_context(theme: str, *, here: str) -> dict[str, Any]:
    """What the theme controls show on the page whose address is `here`."""
    following = THEMES[(THEMES.index(theme) + 1) % len(THEMES)]
    return {"theme": theme, "themes": THEMES, "next_theme": following, "here": here}


# Not behind the login: a session that ended meanwhile must not turn this POST into a sign-in that leads nowhere.
@login_not_required
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember the chosen theme, then go back to the page, or with htmx only redraw the controls."""
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        raise BadRequest("Unknown theme.")
    here = _safe_path(request)
    response = _redrawn(request, theme=theme, here=here) if "HX-Request" in request.headers else redirect(here)
    response.set_cookie(
        COOKIE,
        theme,
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _redrawn(request: HttpRequest, *, theme: str, here: str) -> HttpResponse:
    response = render(request, "parts/theme_swap.html", theme_context(theme, here=here))
    return trigger_client_event(response, "theme", {"theme": theme})


def _safe_path(request: HttpRequest) -> str:
    path = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(path, {request.get_host()}, require_https=request.is_secure())
    return path if is_ours else "/"
