"""The time zone of whoever looks: kept with the account, carried in the session, in force while a page is made.

The session is read for every page anyway, so a zone costs no question to the database.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from console import store

KEY = "time_zone"


@cache
def zones() -> tuple[str, ...]:
    """Every zone that has the name of a place, and UTC."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))


def remember(request: HttpRequest, zone: str) -> None:
    """Let the session know the zone; an empty one is the server's."""
    request.session[KEY] = zone


class ZoneMiddleware:
    """Makes each page in the zone of the session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as the rest of the site does, with the zone in force meanwhile."""
        zone = request.session.get(KEY, "")
        # A name that this machine's tables no longer know must not cost the page.
        with timezone.override(ZoneInfo(zone) if zone in zones() else None):
            return self.get_response(request)


@receiver(user_logged_in)
def _take_along(request: HttpRequest | None, user: User, **_: Any) -> None:
    zone = store.preference_of(user).time_zone
    if request is not None and zone:
        remember(request, zone)
