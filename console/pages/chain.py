"""Is the audit log intact: what was verified and when, as one line for any page, and a button that verifies now."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console import request_ids
from console.access import VIA, Action, Principal, Role, principal_of, require
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store import chain

SECONDS = 10.0
"""So long a request may verify; what takes longer is for the command."""


@dataclass(frozen=True, slots=True)
class ChainLine:
    """How the chain stands, and whether who looks may have it verified."""

    state: chain.ChainState
    may_verify: bool


def chain_line(request: HttpRequest) -> ChainLine:
    """For a template: nothing is verified to show it."""
    may = principal_of(request).may(Action.AUDIT, everyone=True)
    return ChainLine(chain.chain_state(), may)


@require_POST
@require(Action.AUDIT, everyone=True)
def verify_chain(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Verify from the first batch on, and say how far it is in order; then back to the page that asked."""
    # Nobody but an auditor or an admin comes here, and the log knows no actor of the kind auditor.
    role = Role.ADMIN if Role.ADMIN in principal.roles else Role.AUDITOR
    kind = ActorKind.ADMIN if role is Role.ADMIN else ActorKind.OWNER
    by = Actor(kind, id=principal.owner_id, role=role.value, via=VIA, request=request_ids.current())
    verdict = chain.verify_now(by=by, seconds=SECONDS)
    if verdict.broken is not None:
        messages.error(request, f"The chain is broken: batch {verdict.broken.batch}, {verdict.broken.what}.")
    elif not verdict.is_complete:
        text = f"In order through event {verdict.event}. The rest takes longer: run manage.py verify_audit."
        messages.warning(request, text)
    else:
        messages.success(
            request, f"In order through event {verdict.event}." if verdict.batch else "Nothing is sealed yet."
        )
    return redirect(_back(request))


def _back(request: HttpRequest) -> str:
    """The page that asked, if it is one of ours."""
    here = urlsplit(request.META.get("HTTP_REFERER", ""))
    pages = (reverse("expirations"), reverse("audit"))
    if here.netloc != request.get_host() or not here.path.startswith(pages):
        return reverse("policy")
    return f"{here.path}?{here.query}" if here.query else str(here.path)
