"""The four string formats that a form may ask for, checked strictly and in linear time.

The checks of the jsonschema package are not used: its e-mail check is a search for an at sign, and others depend on
which optional packages happen to be installed.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from urllib.parse import urlsplit

from jsonschema import FormatChecker

FORMATS = FormatChecker(formats=())
"""What jsonschema is given to check formats with."""

_EMAIL = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f.]+(\.[^@\s\x00-\x1f.]+)*")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(r"[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")


def is_email(text: str) -> bool:
    """Say whether the text has the form of an e-mail address."""
    return len(text) <= 254 and _EMAIL.fullmatch(text) is not None


def is_uri(text: str) -> bool:
    """Say whether the text is an absolute address; one for the web needs a host."""
    if _URI.fullmatch(text) is None:
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme not in ("http", "https") or bool(parts.hostname)


def is_date(text: str) -> bool:
    """Say whether the text is a day that exists, written as 2026-01-31."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Say whether the text is a moment that exists, with its offset (RFC 3339)."""
    upper = text.upper()
    if _DATE_TIME.fullmatch(upper) is None or not is_date(upper[:10]):
        return False
    try:
        datetime.fromisoformat(upper)
    except ValueError:
        return False
    return True


@FORMATS.checks("email")
def _email(value: object) -> bool:
    return not isinstance(value, str) or is_email(value)


@FORMATS.checks("uri")
def _uri(value: object) -> bool:
    return not isinstance(value, str) or is_uri(value)


@FORMATS.checks("date")
def _date(value: object) -> bool:
    return not isinstance(value, str) or is_date(value)


@FORMATS.checks("date-time")
def _date_time(value: object) -> bool:
    return not isinstance(value, str) or is_date_time(value)
