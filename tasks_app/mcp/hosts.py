"""Which Host and which Origin a request may name. Django's own check is bypassed here, so this is it.

A page of a stranger must not reach a server on the visitor's machine: its name resolves to us, but it stays in Host and
Origin. Programs send no Origin, and need none.
"""

from __future__ import annotations

import re
from functools import lru_cache

from django.conf import settings
from django.core.signals import setting_changed
from django.http.request import split_domain_port, validate_host

from tasks_app.mcp.errors import BAD_REQUEST, Refused
from tasks_app.mcp.exchange import Headers

FORBIDDEN = 403
LOCAL_HOSTS = [".localhost", "127.0.0.1", "[::1]"]

_ORIGIN = re.compile(r"(https?)://((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)")


def check_host(headers: Headers, *, server: str) -> None:
    """Raises Refused (400) unless the Host is one of ours; `server` stands in where an old client sends none."""
    named = headers.all("x-forwarded-host") if settings.USE_X_FORWARDED_HOST else ()
    named = named or headers.all("host") or [server]
    if len(named) > 1 or not _is_our_host(named[0]):
        raise Refused(BAD_REQUEST, "This server has no such name.", error="bad_host")


def check_origin(headers: Headers) -> None:
    """Raises Refused (403) for a page that is neither ours nor trusted; without an Origin there is no page."""
    for origin in headers.all("origin"):
        if not _is_our_origin(origin):
            raise Refused(FORBIDDEN, "Pages of this origin may not use this server.", error="bad_origin")


def _allowed_hosts() -> list[str]:
    if settings.DEBUG and not settings.ALLOWED_HOSTS:
        return LOCAL_HOSTS
    return list(settings.ALLOWED_HOSTS)


@lru_cache(maxsize=256)
def _is_our_host(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, _allowed_hosts())


@lru_cache(maxsize=256)
def _is_our_origin(origin: str) -> bool:
    parts = _ORIGIN.fullmatch(origin.lower())
    if parts is None:
        return False
    trusted = [each.lower().rstrip("/") for each in settings.CSRF_TRUSTED_ORIGINS]
    if origin.lower() in trusted:
        return True
    domain, _ = split_domain_port(parts[2])
    wildcards = [each.partition("://*") for each in trusted if "://*." in each]
    if any(scheme == parts[1] and validate_host(domain, [suffix]) for scheme, _, suffix in wildcards):
        return True
    # A server that takes any Host takes it from its proxy; that is no leave for every page of the world.
    return validate_host(domain, [each for each in _allowed_hosts() if each != "*"])


def _forget(*, setting: str, **_: object) -> None:
    if setting in {"ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG"}:
        _is_our_host.cache_clear()
        _is_our_origin.cache_clear()


setting_changed.connect(_forget)
