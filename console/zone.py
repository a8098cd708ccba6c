"""The time zone of whoever looks: kept with the account, carried in the session, in force while a page is made.

The session is read for every page anyway, so a zone costs no question to the database. A day that somebody asks for is
the day that the page shows: it begins and ends at midnight in that zone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
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
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(9000, 1, 1)
"""Nothing of ours lies outside, and inside every calculation with a time has room."""


@cache
def zones() -> tuple[str, ...]:
    """Every zone that has the name of a place, and UTC."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))


def remember(request: HttpRequest, zone: str) -> None:
    """Let the session know the zone; an empty one is the server's."""
    request.session[KEY] = zone


def begin(day: date) -> datetime:
    """When this day begins for whoever looks."""
    return datetime.combine(min(max(day, FIRST_DAY), LAST_DAY), time(), timezone.get_current_timezone())


def end(day: date) -> datetime:
    """When it is over; there are days of 23 and of 25 hours."""
    return begin(min(day, LAST_DAY) + timedelta(days=1))


def moment(text: str) -> datetime:
    """A time as it is typed, in the zone of whoever looks unless it names one. Raises ValueError."""
    found = datetime.fromisoformat(text)
    if not FIRST_DAY <= found.date() < LAST_DAY:
        return begin(found.date())
    return found if found.tzinfo else found.replace(tzinfo=timezone.get_current_timezone())


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
