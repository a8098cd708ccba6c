"""Mine or everyone's: the switch in the top bar, for those who may see more than their own."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from console.access import Action, Principal

COOKIE = "scope"
COOKIE_SECONDS = 365 * 24 * 60 * 60
MINE = "mine"
EVERYONE = "all"


class ScopeMiddleware(MiddlewareMixin):
    """Remembers what the switch was set to, for pages that are opened without saying it."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Keep a scope that was asked for by somebody who has the switch."""
        asked, principal = request.GET.get("scope", ""), getattr(request, "principal", None)
        is_new = asked in {MINE, EVERYONE} and asked != request.COOKIES.get(COOKIE)
        if is_new and isinstance(principal, Principal) and principal.may(Action.VIEW, everyone=True):
            secure = settings.SESSION_COOKIE_SECURE
            response.set_cookie(COOKIE, asked, max_age=COOKIE_SECONDS, secure=secure, httponly=True, samesite="Lax")
        return response


def asked_scope(request: HttpRequest) -> str:
    """What the page was asked to show, allowed or not: "all", or "mine" for anything else."""
    asked = request.GET.get("scope") or request.COOKIES.get(COOKIE)
    return EVERYONE if asked == EVERYONE else MINE


def is_everyone(request: HttpRequest, principal: Principal) -> bool:
    """Whether the page shows everyone's: asked for, and allowed."""
    return asked_scope(request) == EVERYONE and principal.may(Action.VIEW, everyone=True)


def owner_scope(request: HttpRequest, principal: Principal) -> int | None:
    """Whose tasks the page shows: an owner's, or (None) everyone's."""
    return principal.scope(is_everyone(request, principal))
