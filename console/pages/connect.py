"""Connecting a client: the endpoint, a token, what to paste, and a check that turns green on the first call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from console import request_ids
from console.access import VIA, Action, Principal, require
from console.pages.demo import may_remove
from console.snippets import snippets
from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, ActorKind, Scope
from tasks_app.domain.text import clean_text
from tasks_app.store import credentials, queries, workers

ENDPOINT = "/mcp"
TASKS = "io.modelcontextprotocol/tasks"
NAME_CHARACTERS = 60
UNPROCESSABLE = 422
KINDS = {"all": ("Run and answer", tuple(Scope)), "read": ("Only read", (Scope.READ,))}
LIFETIMES = {
    "30": ("in 30 days", timedelta(days=30)),
    "90": ("in 90 days", timedelta(days=90)),
    "365": ("in 1 year", timedelta(days=365)),
    "never": ("never", None),
}
USUAL = "90"


@dataclass(frozen=True, slots=True)
class Check:
    """What is known of the newest token: whether it was used, and what it called."""

    token: credentials.TokenView | None
    call: credentials.CallView | None
    asks: bool
    """Whether the page goes on asking."""

    @property
    def has_tasks(self) -> bool:
        """Whether the client takes tasks: it declared the extension or, in 2025-11-25, asked for a task."""
        return self.call is not None and _takes_tasks(self.call)


@require_safe
@require(Action.TOKENS)
def connect(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The whole page."""
    return render(request, "connect.html", _context(request, principal))


@never_cache
@require_safe
@require(Action.TOKENS)
def check(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The last step alone, for a page that waits for the first call."""
    return render(request, "parts/connect_check.html", {"check": _check(principal), "now": queries.now()})


@never_cache
@require_safe
@require(Action.TOKENS)
def first_steps(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The three cards of a console without tasks, which ask for themselves until the first call has come."""
    return render(request, "parts/first_steps.html", steps_context(principal))


@never_cache
@require_POST
@require(Action.TOKENS)
def create_token(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Make a token and show it, this once: so the answer is a page and no redirect."""
    name = clean_text(request.POST.get("name", ""), NAME_CHARACTERS).strip()
    problem = _problem(name)
    if problem:
        context = _context(request, principal) | {"problem": problem, "typed": name}
        return render(request, "connect.html", context, status=UNPROCESSABLE)
    _, scopes = KINDS.get(request.POST.get("kind", ""), KINDS["read"])
    _, lifetime = LIFETIMES.get(request.POST.get("days", ""), LIFETIMES[USUAL])
    by = _actor(principal)
    token, _ = store.create_token(principal.owner_id, name=name, by=by, scopes=scopes, lifetime=lifetime)
    return render(request, "connect.html", _context(request, principal) | {"token": token, "token_name": name})


@require_POST
@require(Action.REVOKE)
def revoke_token(request: HttpRequest, principal: Principal, credential_id: int) -> HttpResponse:
    """Make a token worthless; one of somebody else is only an admin's to revoke."""
    scope = principal.scope(everyone=True, action=Action.REVOKE)
    try:
        store.revoke_token(credential_id, owner_id=scope, by=_actor(principal))
    except NotFound:
        raise Http404 from None
    messages.success(request, "Token revoked. Clients that use it are refused from now on.")
    return redirect("connect")


def steps_context(principal: Principal) -> dict[str, Any]:
    """What the three cards show: whether the server can take work, and whether a client has called."""
    up = workers.live_workers()
    return {"check": _check(principal), "workers": len(up), "slots": sum(worker.slots for worker in up)}


def _problem(name: str) -> str:
    if not name:
        return "Give the token a name, such as the machine that it is for."
    return "This name is the demo's own. Choose another." if name == credentials.DEMO else ""


def _actor(principal: Principal) -> Actor:
    return Actor(ActorKind.OWNER, id=principal.owner_id, via=VIA, request=request_ids.current())


def _context(request: HttpRequest, principal: Principal) -> dict[str, Any]:
    endpoint = request.build_absolute_uri(ENDPOINT)
    offered = snippets(endpoint)
    chosen = next((each for each in offered if each.key == request.GET.get("client")), offered[0])
    tokens = credentials.tokens(principal.owner_id)
    return {
        "endpoint": endpoint,
        "snippets": offered,
        "chosen": chosen,
        "kinds": {key: name for key, (name, _) in KINDS.items()},
        "lifetimes": {key: words for key, (words, _) in LIFETIMES.items()},
        "usual": USUAL,
        "typed": "",
        "tokens": [(token, _may(token)) for token in tokens],
        "check": _check(principal, tokens),
        "now": queries.now(),
        "may_remove_demo": may_remove(principal),
    }


def _may(token: credentials.TokenView) -> str:
    named = {frozenset(scope.value for scope in scopes): name for name, scopes in KINDS.values()}
    return named.get(frozenset(token.scopes), ", ".join(token.scopes))


def _check(principal: Principal, tokens: list[credentials.TokenView] | None = None) -> Check:
    """The newest token that a person made: the demo's own would turn the page green by itself."""
    found = credentials.tokens(principal.owner_id) if tokens is None else tokens
    token = next((each for each in found if each.name != credentials.DEMO), None)
    if token is None or token.used_at is None:
        return Check(token, None, asks=token is not None)
    call = credentials.latest_call(principal.owner_id, token)
    is_done = call is not None and _takes_tasks(call)
    return Check(token, call, asks=not is_done and Scope.RUN in token.scopes)


def _takes_tasks(call: credentials.CallView) -> bool:
    extensions = call.capabilities.get("extensions")
    return not call.waits or (isinstance(extensions, dict) and TASKS in extensions)
