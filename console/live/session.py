"""Whose socket it is: the session behind its cookie, looked up anew at every question.

A socket lives for days, so nothing is remembered: an ended session, a new password, a disabled account or a role that
was taken away count from the next look on.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils.crypto import constant_time_compare

from console.access import Principal, principal_of
from console.live.origin import HeaderList


def session_key_of(headers: HeaderList) -> str:
    """The session that the browser's cookie names; empty without one."""
    cookies: SimpleCookie = SimpleCookie()
    for name, value in headers:
        if name.lower() == b"cookie":
            try:
                cookies.load(value.decode("latin-1"))
            except CookieError:
                return ""
    found = cookies.get(settings.SESSION_COOKIE_NAME)
    return "" if found is None else found.value


def principal_in(session_key: str) -> Principal:
    """Who is signed in with this session, with the roles of this moment. Raises PermissionDenied when nobody is."""
    stored = import_module(settings.SESSION_ENGINE).SessionStore(session_key or None)
    user = User.objects.filter(pk=stored.get(SESSION_KEY)).first()
    if user is None or not _is_of(user, stored.get(HASH_SESSION_KEY, "")):
        raise PermissionDenied("Sign in first.")
    return principal_of(user)


def _is_of(user: User, session_hash: str) -> bool:
    """Whether the session began with the password that the account has now."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(session_hash, each) for each in hashes)
