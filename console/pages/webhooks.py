"""Webhooks: where an admin says which other systems hear of new questions, and sees whether they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import get_random_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import present, request_ids, store
from console.access import VIA, Action, Principal, require
from console.notice_models import DeliveryState
from console.webhooks import address, message
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.store import queries

SALT_CHARACTERS = 32
SHOWN_CHARACTERS = 4
UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Line:
    """A webhook as the page shows it: by its host and the end of its address, which is most systems' secret."""

    hook: store.WebhookView
    host: str
    ending: str
    words: str
    tone: str
    icon: str


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@require(Action.WEBHOOKS)
def webhooks(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The list; or a new one, whose secret is shown this once: so the answer is a page and no redirect."""
    if request.method != "POST":
        return render(request, "webhooks.html", _context())
    url = request.POST.get("url", "").strip()
    try:
        address.parse_url(url)
        salt = get_random_string(SALT_CHARACTERS)
        store.create_webhook(
            url=url,
            salt=salt,
            site=request.build_absolute_uri("/").rstrip("/"),
            names_tool="names_tool" in request.POST,
            by=_actor(principal),
        )
    except (address.Refused, NotAllowed) as refused:
        return render(request, "webhooks.html", _context(problem=str(refused), typed=url), status=UNPROCESSABLE)
    return render(request, "webhooks.html", _context(secret=message.secret_of(salt), host=address.host_of(url)))


@never_cache
@require_safe
@require(Action.WEBHOOKS)
def state(request: HttpRequest, principal: Principal) -> HttpResponse:  # noqa: ARG001
    """The list alone, for a page that waits for what becomes of a message."""
    return render(request, "parts/webhook_list.html", _context())


@require_POST
@require(Action.WEBHOOKS)
def send_test(request: HttpRequest, principal: Principal, webhook_id: int) -> HttpResponse:  # noqa: ARG001
    """Queue a test; the engine sends it within a second or two, and the list says what became of it."""
    try:
        store.queue_test(webhook_id)
    except NotFound:
        raise Http404 from None
    messages.success(request, "Test on its way. What became of it appears in the list.")
    return redirect("webhooks")


@require_POST
@require(Action.WEBHOOKS)
def delete(request: HttpRequest, principal: Principal, webhook_id: int) -> HttpResponse:
    """Forget one."""
    try:
        store.delete_webhook(webhook_id, by=_actor(principal))
    except NotFound:
        raise Http404 from None
    messages.success(request, "Webhook deleted. Nothing more is sent to it.")
    return redirect("webhooks")


def _actor(principal: Principal) -> Actor:
    return Actor(ActorKind.ADMIN, id=principal.owner_id, role="admin", via=VIA, request=request_ids.current())


def _context(**extra: Any) -> dict[str, Any]:
    now = queries.now()
    lines = [_line(hook, now) for hook in store.webhooks()]
    is_moving = any(line.hook.waiting for line in lines)
    return {"lines": lines, "is_moving": is_moving, "now": now, **extra}


def _line(hook: store.WebhookView, now: Any) -> Line:
    parts = urlsplit(hook.url)
    rest = hook.url[hook.url.index(parts.netloc) + len(parts.netloc) :]
    ending = f"/…{rest[-SHOWN_CHARACTERS:]}" if len(rest) > 2 * SHOWN_CHARACTERS else "/…" if rest.strip("/") else ""
    words, tone, icon = _said(hook.last, now)
    return Line(hook, f"{parts.scheme}://{parts.netloc}", ending, words, tone, icon)


def _said(last: store.DeliveryView | None, now: Any) -> tuple[str, str, str]:
    if last is None:
        return "Nothing sent yet", "", "hourglass"
    what = "Test" if last.is_test else "Message"
    tries = f"{last.attempts} tries" if last.attempts != 1 else "1 try"
    if last.state is DeliveryState.WAITING:
        if not last.error:
            return f"{what} on its way", "s-working", "working"
        again = f"next in {present.span(last.due_at - now)}" if last.due_at > now else "next now"
        return f"{what} failed, {tries}, {again}: {last.error}", "s-failed", "warn"
    ago = present.span(now - last.ended_at) if last.ended_at else ""
    if last.state is DeliveryState.SENT:
        return f"{what} taken {ago} ago", "s-completed", "completed"
    if last.state is DeliveryState.DROPPED:
        return f"{what} not sent {ago} ago: the question was over before", "", "cancelled"
    return f"{what} given up {ago} ago after {tries}: {last.error}", "s-failed", "failed"
