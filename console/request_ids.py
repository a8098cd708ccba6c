"""Which request something was done by: one id for each, in the audit log and in the answer, to find it again elsewhere.

A proxy in front may have given one, which is kept; its own log, with addresses and sessions, can be searched by it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "X-Request-Id"
_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}")
_current: ContextVar[str | None] = ContextVar("request_id", default=None)


def current() -> str | None:
    """The id of the request that is being answered; None outside of one."""
    return _current.get()


class RequestIdMiddleware:
    """Gives each request its id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer as the rest of the site does, under an id."""
        given = request.headers.get(HEADER, "")
        request_id = given if _FORM.fullmatch(given) else secrets.token_hex(8)
        token = _current.set(request_id)
        try:
            response = self.get_response(request)
        finally:
            _current.reset(token)
        response[HEADER] = request_id
        return response
