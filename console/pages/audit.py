"""The audit log: everything that was done, refused things too. An owner sees their own rows, an auditor all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from console import log, present, records
from console.access import Action, Principal, require
from console.pages.expirations import LONGEST, RANGES, USUAL, Times, times_of
from console.pages.scope import COOKIE
from tasks_app.domain.text import clean_text
from tasks_app.store import audit, queries, search

PAGE = 100
SALT = "console.audit"


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter as the address has it, and as the store takes it."""

    wanted: audit.Wanted
    times: Times
    task: str
    by: str
    everyone: bool
    problems: tuple[str, ...]
    words: dict[str, str]
    """What an export says of its filter."""


@dataclass(frozen=True, slots=True)
class Row:
    """An event as the log shows it."""

    entry: audit.Entry
    title: str
    who: str
    owner: str
    detail: str
    is_flagged: bool
    export: str


@require_safe
@require(Action.AUDIT)
def log_page(request: HttpRequest, principal: Principal) -> HttpResponse:
    """One page of the log, the newest first."""
    asked = asked_of(request, principal)
    after = _place(request.GET.get("after", ""))
    found, following = audit.page(asked.wanted, after=after, limit=PAGE)
    values = request.GET.dict()
    context = {
        "rows": rows_for(found),
        "asked": asked,
        "actions": sorted(log.ACTIONS.items(), key=lambda each: each[1]),
        "ranges": {key: name for key, (name, _) in RANGES.items()},
        "sees_all": principal.may(Action.AUDIT, everyone=True),
        "everyone": asked.everyone,
        "live_scope": "all" if asked.everyone else "mine",
        "query": urlencode({k: v for k, v in values.items() if k not in {"scope", "after"}} | {"": ""})[:-1],
        "newest": _link(values, after="") if after else "",
        "older": _link(values, after=signing.dumps(following, salt=SALT)) if following else "",
        "may_export": principal.may(Action.EXPORT),
        "export_url": "export/" + _link(values, after=""),
        "now": queries.now(),
    }
    return render(request, "audit.html", context)


def asked_of(request: HttpRequest, principal: Principal) -> Asked:
    """The filter that an address asks for; what it does not say is the last week of everything that may be seen."""
    given = {name: clean_text(request.GET.get(name, ""), LONGEST).strip() for name in ("task", "by", "action")}
    sees_all = principal.may(Action.AUDIT, everyone=True)
    everyone = sees_all and (request.GET.get("scope") or request.COOKIES.get(COOKIE)) != "mine"
    # A task is looked at as a whole unless a time is asked for.
    with timezone.override(UTC):  # the log is in UTC, whoever reads it, and so are its days
        times = times_of(request, usual="all" if given["task"] else USUAL)
    task_id, people = _uuid(given["task"]), _people(given["by"])
    wanted = audit.Wanted(
        scope=None if everyone else principal.owner_id,
        task_id=task_id or (UUID(int=0) if given["task"] else None),
        people=people,
        kind=given["action"],
        since=times.since,
        until=times.until,
    )
    wrong = (
        f"“{given['task']}” is no task id." if given["task"] and task_id is None else "",
        f"There is no owner “{given['by']}”." if people == () else "",
    )
    problems = tuple(each for each in wrong if each)
    words = _words(wanted, given, everyone)
    return Asked(wanted, times, given["task"], given["by"], everyone, problems, words)


def rows_for(found: list[audit.Entry]) -> list[Row]:
    """Rows with the names that they need, in two statements for a whole page."""
    owners = {entry.owner_id for entry in found if entry.owner_id is not None}
    names = records.names_for([[entry.actor for entry in found]], owners=owners, tokens=())
    return [_row(entry, names) for entry in found]


def _row(entry: audit.Entry, names: records.Names) -> Row:
    return Row(
        entry,
        title=log.title(entry),
        who=records.who(entry.actor, names, owner_id=entry.owner_id),
        owner=names.owner(entry.owner_id),
        detail=log.detail(entry),
        is_flagged=entry.kind in log.CAUTION,
        export=str(entry.detail.get("export", "")) if entry.kind == audit.EXPORT_DONE else "",
    )


def _words(wanted: audit.Wanted, given: dict[str, str], everyone: bool) -> dict[str, str]:
    said = {
        "scope": "everyone" if everyone else "mine",
        **given,
        "since": "" if wanted.since is None else present.iso(wanted.since),
        "until": "" if wanted.until is None else present.iso(wanted.until),
    }
    return {name: value for name, value in said.items() if value}


def _people(name: str) -> tuple[int, ...] | None:
    return tuple(search.owners_named([name])[name]) if name else None


def _link(values: dict[str, Any], **changes: str) -> str:
    return "?" + urlencode({name: value for name, value in {**values, **changes}.items() if value})


def _place(cursor: str) -> int | None:
    try:
        return int(signing.loads(cursor, salt=SALT))
    except (signing.BadSignature, TypeError, ValueError):
        return None


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
