"""What every full page needs around its own content: navigation, theme, and how many questions wait.

A template context processor. It runs for every page and every fragment, so it asks the database only when the template
shows what it asks for.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from console.access import Principal
from console.pages.alarms import alarms
from console.pages.chain import chain_line
from console.pages.inbox import waiting_for
from console.pages.layout import preference_at
from console.pages.navigation import navigation_at
from console.pages.scope import asked_scope
from console.pages.theme import theme_context, theme_of
from console.pages.tour import Step, tour_for
from console.pages.trouble import watch
from tasks_app import store
from tasks_app.store import inbox


def shell(request: HttpRequest) -> dict[str, Any]:
    """The variables of the frame: navigation, counts, what the account prefers, what is wrong, the tour, the theme."""

    @cache
    def owner_id() -> int | None:
        principal = getattr(request, "principal", None)
        if isinstance(principal, Principal):
            return principal.owner_id
        user = getattr(request, "user", None)
        return store.owner_of(user) if isinstance(user, User) else None

    @cache
    def open_questions() -> int:
        principal = getattr(request, "principal", None)
        if isinstance(principal, Principal):
            return waiting_for(principal).count
        owner = owner_id()
        return 0 if owner is None else inbox.open_count(owner)

    @cache
    def tour() -> Step | None:
        return tour_for(request, owner_id)

    return {
        "navigation": navigation_at(request.path),
        "open_questions": open_questions,
        "preference": lambda: preference_at(request),
        "live_scope": asked_scope(request),
        "troubles": watch.troubles,
        "tour": tour,
        "alarms": partial(alarms, request),
        "chain_line": partial(chain_line, request),
        **theme_context(theme_of(request), here=request.get_full_path()),
    }
