"""Mine or everyone's: the switch in the top bar, for those who may see more than their own."""

from __future__ import annotations

from django.http import HttpRequest

from console.access import Action, Principal

COOKIE = "scope"
EVERYONE = "all"


def asked_scope(request: HttpRequest) -> str:
    """What the page was asked to show, allowed or not: "all", or "mine" for anything else."""
    asked = request.GET.get("scope") or request.COOKIES.get(COOKIE)
    return EVERYONE if asked == EVERYONE else "mine"


def is_everyone(request: HttpRequest, principal: Principal) -> bool:
    """Whether the page shows everyone's: asked for, and allowed."""
    return asked_scope(request) == EVERYONE and principal.may(Action.VIEW, everyone=True)


def owner_scope(request: HttpRequest, principal: Principal) -> int | None:
    """Whose tasks the page shows: an owner's, or (None) everyone's."""
    return principal.scope(is_everyone(request, principal))
