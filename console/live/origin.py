"""From where a socket may be opened: only from pages of this site.

A browser sends the cookies of the site with a socket that any page opens; the Origin header is what tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

HeaderList = Iterable[tuple[bytes, bytes]]


def is_from_our_pages(headers: HeaderList) -> bool:
    """Whether the Origin is the host that was asked, or one that the settings trust; without one it is not."""
    found = {name.lower(): value.decode("latin-1") for name, value in headers}
    origin, host = found.get(b"origin", ""), found.get(b"host", "")
    if not origin or not _is_allowed(host):
        return False
    return _netloc(origin) == host.lower() or origin in settings.CSRF_TRUSTED_ORIGINS


def _is_allowed(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def _netloc(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in {"http", "https"} else ""
