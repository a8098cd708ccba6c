"""Links that sign somebody in once: signed, good for a quarter of an hour, and void after the next sign-in.

Nothing is stored. A link carries what the account looked like when it was made (its last sign-in and its password's
hash, both only as part of a digest), so the first use, any other sign-in and a change of password end it.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "console.login_link"
LIFETIME_SECONDS = 15 * 60
STATE_CHARACTERS = 24
"""Enough to tell two states apart; what keeps a link from being made up is the signature around it."""


def link_for(user: User, *, site: str) -> str:
    """A link to this site (its address, with the slash at the end) that signs the account in once."""
    return site.rstrip("/") + reverse("login_link", args=[token_for(user)])


def token_for(user: User) -> str:
    """The part of the link that is secret."""
    return _signer().sign(f"{user.pk}-{_state(user)}")


def account_of(token: str) -> User | None:
    """The active account that a link signs in, locked until the transaction ends; None when the link is void.

    Locked, because of two that use one link at once only the first may get in.
    """
    try:
        pk, _, state = _signer().unsign(token, max_age=LIFETIME_SECONDS).partition("-")
    except signing.BadSignature:
        return None
    user = User.objects.select_for_update().filter(pk=pk, is_active=True).first()
    if user is None or not constant_time_compare(state, _state(user)):
        return None
    return user


def _signer() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=SALT)


def _state(user: User) -> str:
    # As text, to the microsecond: an account that was just made has its time not yet rounded by the database.
    seen = "" if user.last_login is None else user.last_login.isoformat(timespec="microseconds")
    return salted_hmac(SALT, f"{user.pk} {seen} {user.password}", algorithm="sha256").hexdigest()[:STATE_CHARACTERS]
