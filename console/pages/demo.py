"""Taking the demo away: its tasks go, what is on record about them stays."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from console import request_ids
from console.access import VIA, Action, Principal, require
from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store import credentials, demo

REASON = "Demo data removed"


def may_remove(principal: Principal) -> bool:
    """Whether somebody may take the demo away, and there is one."""
    return principal.may(Action.POLICY) and (conf().demo or demo.has_live())


@require_POST
@require(Action.POLICY)
def remove(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Cancel, expire and purge every task that a demo client made, and let it make no more until the next start."""
    request_id = request_ids.current()
    by = Actor(ActorKind.ADMIN, id=principal.owner_id, role="admin", via=VIA, reason=REASON, request=request_id)
    for credential_id in credentials.demo_tokens():
        # The demo that ends may be quicker.
        with suppress(NotFound):
            store.revoke_token(credential_id, owner_id=None, by=by)
    removed = demo.remove(by=by)
    if removed.stopping:
        said = f"{removed.gone} demo tasks removed. {removed.stopping} wait for their worker to stop: try again soon."
        messages.info(request, said)
    else:
        messages.success(request, f"{removed.gone} demo tasks removed. Their events and records stay.")
    return redirect("connect")
