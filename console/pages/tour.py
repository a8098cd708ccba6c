"""The strip that leads a newcomer through the demo: one line, one next step, and a way to be rid of it.

What it says follows from what they have done, so it never asks for what is done already. It appears where the demo
runs, on the pages of tasks and questions, until a client of their own has called or they have closed it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console.access import Action, Principal, require
from tasks_app.conf import conf
from tasks_app.store import demo

COOKIE = "tour"
CLOSED = "closed"
COOKIE_SECONDS = 365 * 24 * 60 * 60
ROUTES = frozenset({"tasks", "task", "inbox", "question"})


@dataclass(frozen=True, slots=True)
class Step:
    """Where somebody is: which step of how many, what to know, and the one thing to do next."""

    number: int
    title: str
    text: str
    action: str = ""
    url: str = ""
    more: str = ""
    more_url: str = ""
    may_remove: bool = False


def tour_for(request: HttpRequest, owner_id: Callable[[], int | None]) -> Step | None:
    """The step to show on this page; None where there is no demo, or nothing left to say."""
    match = request.resolver_match
    if not conf().demo or match is None or match.url_name not in ROUTES or request.COOKIES.get(COOKIE) == CLOSED:
        return None
    owner = owner_id()
    if owner is None:
        return None
    far = demo.how_far(owner)
    if not far.has_begun or far.has_connected:
        return None
    principal = getattr(request, "principal", None)
    may_remove = isinstance(principal, Principal) and principal.may(Action.POLICY)
    return _step(far, may_remove=may_remove, here=match.kwargs.get("task_id"))


def _step(far: demo.HowFar, *, may_remove: bool, here: object) -> Step:
    if far.has_answered:
        return _answered(far, may_remove=may_remove)
    if far.waiting is None:
        return Step(1, "Tools are at work.", "One of them asks you something in a moment.", may_remove=may_remove)
    if far.waiting == here:
        text = "It holds no worker while it waits, for days if need be. Send the answer."
        return Step(2, "This task waits for you.", text, may_remove=may_remove)
    url = reverse("task", args=[far.waiting]) + "#questions"
    return Step(2, "A task waits for you.", "Press Answer.", "Answer", url, may_remove=may_remove)


def _answered(far: demo.HowFar, *, may_remove: bool) -> Step:
    text = "The task went on with your answer. Now connect a client of your own."
    more, more_url = (
        ("One question ran out: see the record", reverse("expirations_expired")) if far.has_missed else ("", "")
    )
    return Step(3, "Answered.", text, "Connect a client", reverse("connect"), more, more_url, may_remove)


@require_POST
@require(Action.VIEW)
def close(request: HttpRequest, principal: Principal) -> HttpResponse:  # noqa: ARG001
    """Be rid of the strip in this browser."""
    response = redirect("tasks")
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(COOKIE, CLOSED, max_age=COOKIE_SECONDS, secure=secure, httponly=True, samesite="Lax")
    return response
