"""The retention policy: what counts for which tasks, its versions, and a change that is tried out before it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from console import request_ids
from console.access import VIA, Action, Principal, require
from console.policy_form import RuleForm, form_of, read_form
from tasks_app.conf import conf
from tasks_app.domain.durations import duration_words
from tasks_app.domain.errors import NotAllowed
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.policy import TIMES, Policy, Rule, diff, settings_terms
from tasks_app.store import policy as policies
from tasks_app.store import queries, search

VERSIONS = 20
UNPROCESSABLE = 422
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Line:
    """A rule as a row: its times in words, those of its own marked."""

    rule: Rule | None
    label: str
    owner: str
    times: list[tuple[str, bool]]
    hold: bool


@dataclass(frozen=True, slots=True)
class VersionLine:
    """A version as a row."""

    version: policies.Version
    author: str
    is_shown: bool


@require_safe
@require(Action.VIEW, everyone=True)
def policy(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The policy in force, or the version that was asked for with what it changed."""
    before = policies.newest()
    shown, changes = _asked_version(request, before)
    edited = _asked_rule(request, before)
    context = _context(principal, before, shown=shown, form=form_of(edited))
    return render(request, "policy.html", context | {"changes": changes, "edited": edited})


@require_POST
@require(Action.POLICY)
def change_policy(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Try a change out and show what it would do or, when that was seen, save it as a new version."""
    before = policies.newest()
    form = read_form({name: request.POST.get(name, "") for name in request.POST}, before)
    context = _context(principal, before, shown=before, form=form)
    if form.rules is None:
        return render(request, "policy.html", context, status=UNPROCESSABLE)
    if request.POST.get("do") == "save":
        return _save(request, principal, form.rules, context)
    changes = diff(before.rules, form.rules)
    preview = {"changes": changes, "dry": policies.dry_run(form.rules), "next": before.version + 1}
    return render(request, "policy.html", context | {"preview": preview})


def _save(request: HttpRequest, principal: Principal, rules: Sequence[Rule], context: dict[str, Any]) -> HttpResponse:
    reason = context["form"].values["reason"] or None
    request_id = request_ids.current()
    by = Actor(ActorKind.ADMIN, id=principal.owner_id, role="admin", via=VIA, reason=reason, request=request_id)
    base = request.POST.get("base", "")
    try:
        saved = policies.save(rules, base=int(base) if base.isdecimal() else -1, by=by)
    except NotAllowed as refused:
        context["form"].errors[""] = str(refused)
        return render(request, "policy.html", context, status=CONFLICT)
    messages.success(request, f"Saved as version {saved.version}. Every process follows within seconds.")
    return redirect("policy")


def _asked_version(request: HttpRequest, newest: Policy) -> tuple[Policy, list[Any] | None]:
    text = request.GET.get("version", "")
    if not text:
        return newest, None
    found = policies.version(int(text)) if text.isdecimal() and len(text) < 10 else None
    if found is None:
        raise Http404
    before = policies.version(found.policy.version - 1)
    return found.policy, diff(before.policy.rules if before else (), found.policy.rules)


def _asked_rule(request: HttpRequest, before: Policy) -> Rule | None:
    """The rule to edit: named by whom it is for."""
    owner = request.GET.get("owner", "")
    place = (int(owner) if owner.isdecimal() else None, request.GET.get("tool", ""))
    return next((rule for rule in before.rules if rule.place == place), None)


def _context(principal: Principal, before: Policy, *, shown: Policy, form: RuleForm) -> dict[str, Any]:
    found = policies.versions(limit=VERSIONS)
    named = {each.author.get("id") for each in found} | {rule.owner_id for rule in shown.rules}
    names = search.owner_names([id_ for id_ in named if isinstance(id_, int)])
    return {
        "tab": "policy",
        "sees_all": True,
        "policy_version": before.version,
        "now": queries.now(),
        "in_force": before,
        "shown": shown,
        "lines": _lines(shown, names),
        "titles": list(TIMES.values()),
        "versions": [VersionLine(each, _author(each, names), each.policy.version == shown.version) for each in found],
        "may_change": principal.may(Action.POLICY),
        "form": form,
        "fields": form.times(before),
        "is_settings": settings_terms(conf().limits) == shown.settings and not shown.version,
    }


def _lines(shown: Policy, names: Any) -> list[Line]:
    rules: list[Rule | None] = [*shown.ordered, None]
    return [
        Line(
            rule,
            "Everything else" if rule is None else "Every tool" if rule.tool == "*" else rule.tool,
            "" if rule is None or rule.owner_id is None else names.get(rule.owner_id, rule.owner),
            [(duration_words(getattr(shown.terms_of(rule), name)), _is_own(rule, name)) for name in TIMES],
            rule is not None and rule.hold,
        )
        for rule in rules
    ]


def _is_own(rule: Rule | None, name: str) -> bool:
    return rule is not None and getattr(rule, name) is not None


def _author(each: policies.Version, names: Any) -> str:
    author = each.author
    if isinstance(author.get("id"), int):
        return str(names.get(author["id"], f"owner {author['id']}"))
    return f"manage.py {author['via']}" if author.get("via") else str(author.get("kind", ""))
