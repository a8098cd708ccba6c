"""The pages that say why there is no page.

They are rendered without context processors, session and database: what is broken may be just that.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.template import loader

from console.pages.theme import theme_of


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong and what to do about it, in words for the person in front of the browser."""

    status: int
    title: str
    what: str
    advice: str


BAD_REQUEST = Problem(
    400,
    title="That request makes no sense here",
    what="The address or the form was not one that this server sends out.",
    advice="Nothing was changed.",
)
FORBIDDEN = Problem(
    403,
    title="Not allowed",
    what="Your account may not do this.",
    advice="Nothing was changed. An administrator of this server can give you the role it needs.",
)
FORM_OUT_OF_DATE = Problem(
    403,
    title="This form is out of date",
    what="The page was open while you signed in or out elsewhere, or your browser refuses cookies.",
    advice="Nothing was changed. Go back, load the page again and send the form once more.",
)
NOT_FOUND = Problem(
    404,
    title="No such page",
    what="There is nothing at this address, or it is not yours to see.",
    advice="Check the address, or start again from the start page.",
)
BROKEN = Problem(
    500,
    title="Something broke on the server",
    what="The page could not be made. The fault is recorded in the server log.",
    advice="Try again in a moment. Look before you repeat an action: it may have been done.",
)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer a malformed request."""
    return _page(request, problem=BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer a request that the account may not make."""
    return _page(request, problem=FORBIDDEN)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Answer a form without a valid token; the reason goes to the log, not to the page."""
    return _page(request, problem=FORM_OUT_OF_DATE)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer an unknown address, in the words that also hold for what belongs to somebody else."""
    return _page(request, problem=NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer after an unhandled exception."""
    return _page(request, problem=BROKEN)


def _page(request: HttpRequest, *, problem: Problem) -> HttpResponse:
    html = loader.render_to_string("error.html", {"problem": problem, "theme": theme_of(request)})
    return HttpResponse(html, status=problem.status)
