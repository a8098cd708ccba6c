"""Where a form leads back to: only ever an address of this site."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def back(request: HttpRequest, *, otherwise: str) -> str:
    """The address that the form named in `back`, if it is one of ours."""
    asked = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure())
    return asked if is_ours else otherwise
