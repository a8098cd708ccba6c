"""Taking away what a page shows, as a file, and the manifest that proves what was taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TypeVar
from uuid import UUID

from django.contrib import messages
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from console import export, request_ids
from console.access import VIA, Action, Principal, require
from console.pages import audit as audit_page
from console.pages import expirations as expirations_page
from console.pages.addresses import back
from console.pages.bulk import MOST_PICKED, picked_ids
from console.pages.scope import is_everyone, owner_scope
from console.search import parse
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store import audit, search

T = TypeVar("T")


@require_POST
@require(Action.EXPORT)
def tasks(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """The tasks that the search on screen finds."""
    query = request.GET.get("q", "")
    wanted = parse(query, find_owners=search.owners_named, me=principal.owner_id)
    sort = search.Sort.EXPIRES if request.GET.get("sort") == "expires" else search.Sort.CREATED
    words = {"scope": "everyone" if is_everyone(request, principal) else "mine", "q": query, "sort": sort.value}
    source = export.tasks(wanted.filter, owner_id=owner_scope(request, principal), sort=sort, words=words)
    return _respond(request, principal, source)


@require_POST
@require(Action.EXPORT)
def picked(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """The tasks that somebody picked, as far as they may read them."""
    ids = picked_ids(request)
    if not ids or len(ids) > MOST_PICKED:
        messages.info(request, f"Select between one and {MOST_PICKED} tasks to export them.")
        return redirect(back(request, otherwise=reverse("tasks")))
    wanted = search.Filter(ids=(search.Term(tuple(map(str, ids))),))
    words = {"tasks": ",".join(map(str, ids))}
    scope = principal.scope(everyone=True, action=Action.EXPORT)
    return _respond(request, principal, export.tasks(wanted, owner_id=scope, sort=search.Sort.CREATED, words=words))


@require_POST
@require(Action.EXPORT)
def expired(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """The records of what expired."""
    asked = expirations_page.asked_of(request, principal)
    return _respond(request, principal, export.expired(asked.wanted, words=asked.words))


@require_POST
@require(Action.EXPORT)
def purged(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """The records of what was purged."""
    asked = expirations_page.asked_of(request, principal)
    return _respond(request, principal, export.purged(asked.wanted, words=asked.words))


@require_POST
@require(Action.EXPORT)
def log(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """The audit log, as far as the viewer may read it."""
    asked = audit_page.asked_of(request, principal)
    return _respond(request, principal, export.log(asked.wanted, words=asked.words))


@require_safe
@require(Action.EXPORT)
def manifest(request: HttpRequest, principal: Principal, export_id: UUID) -> HttpResponse:  # noqa: ARG001
    """What one export was: its filter, its rows, the SHA-256 of the file, who took it and when."""
    found = audit.export_of(export_id, scope=principal.scope(everyone=True, action=Action.AUDIT))
    if found is None:
        raise Http404
    begun, done = found
    owner_id = begun.owner_id
    exporter = search.owner_names([owner_id]).get(owner_id, "") if owner_id is not None else str(begun.actor.get("via"))
    response = JsonResponse(export.manifest(begun, done, exporter=exporter), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="taskdeck-export-{str(export_id)[:8]}.manifest.json"'
    return response


def _respond(request: HttpRequest, principal: Principal, source: export.Source) -> HttpResponseBase:
    known = {each.value for each in export.Format}
    chosen = request.POST.get("format", "")
    by = Actor(ActorKind.OWNER, id=principal.owner_id, via=VIA, request=request_ids.current())
    taken = export.Export(source, export.Format(chosen if chosen in known else "csv"), by, principal.owner_id)
    taken.begin()
    # Each server asks for the kind of iterator that it can send piece by piece.
    pieces = in_threads(taken.chunks()) if isinstance(request, ASGIRequest) else taken.chunks()
    response = StreamingHttpResponse(pieces, content_type=export.TYPES[taken.format])
    response["Content-Disposition"] = f'attachment; filename="{taken.name}"'
    response["Cache-Control"] = "no-store"
    response["X-Export-Id"] = str(taken.id)
    return response


async def in_threads(pieces: Generator[bytes, None, None]) -> AsyncGenerator[bytes, None]:
    """Each piece is made in a thread, which waits for the database while the server serves others."""
    try:
        while (piece := await asyncio.to_thread(_with_own_connection, lambda: next(pieces, None))) is not None:
            yield piece
    finally:
        # A download that was broken off is put on record as such.
        await asyncio.to_thread(_with_own_connection, pieces.close)


def _with_own_connection(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        # Threads come and go: a connection that stays behind would be one too many for the database.
        connections.close_all()
