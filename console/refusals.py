"""What the console refuses is put on record: an action that the role does not allow, and a task that is not there or is
not the viewer's, which look the same to them and are recorded the same."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils.deprecation import MiddlewareMixin

from console import request_ids
from console.access import VIA
from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store.refusals import ledger

NAMED = ("task_id", "credential_id", "export_id")
"""What an address may name that can be somebody else's."""


class RefusalsMiddleware(MiddlewareMixin):
    """Notes what views refuse; what they answer stays theirs to decide."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """Look at what a view raised."""
        match = request.resolver_match
        if match is None:
            return
        is_missing = isinstance(exception, Http404) and any(name in match.kwargs for name in NAMED)
        if not is_missing and not isinstance(exception, PermissionDenied):
            return
        action = getattr(match.func, "action", None)
        note(
            request,
            action=f"{match.url_name} ({action})" if action else str(match.url_name),
            why="not there, or another's" if is_missing else "not allowed",
            task=str(match.kwargs.get("task_id", "")),
        )


def note(request: HttpRequest, *, action: str, why: str, task: str = "") -> None:
    """Count a refusal of whoever sent this request."""
    user = getattr(request, "user", None)
    owner_id = store.owner_of(user) if isinstance(user, User) else None
    by = Actor(ActorKind.OWNER, id=owner_id, via=VIA, request=request_ids.current())
    address = request.META.get("REMOTE_ADDR", "")
    ledger.note(action, by=by, owner_id=owner_id, address=address, why=why, task=task)
