"""The overview: how the server does at a glance, every number a link to the tasks that it counts."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import numbers, summary
from console.access import Action, Principal, require
from console.pages.attention import attention
from console.pages.scope import COOKIE
from tasks_app.conf import conf
from tasks_app.store import loops, queries, tally, trends, workers

TOOLS_SHOWN = 8
WAITS_LONG_SECONDS = 5.0


@require_safe
@require(Action.VIEW)
def overview(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The whole page; its parts are read again when the socket says that numbers changed."""
    sees_all = principal.may(Action.VIEW, everyone=True)
    # Unlike the list, this page is of little use to an operator who sees only what is their own.
    everyone = sees_all and (request.GET.get("scope") or request.COOKIES.get(COOKIE)) != "mine"
    chosen = next((each for each in summary.RANGES if each.key == request.GET.get("range")), summary.RANGES[0])
    context = _numbers(principal, None if everyone else principal.owner_id, chosen)
    context |= {"ranges": summary.RANGES, "chosen": chosen, "sees_all": sees_all, "everyone": everyone}
    return render(request, "overview.html", context | (_machinery() if sees_all else {}))


def _numbers(principal: Principal, owner_id: int | None, chosen: summary.Range) -> dict[str, Any]:
    now = queries.now()
    since = chosen.since(now)
    moved = trends.movements(owner_id, since=since, step=chosen.step)
    sums = numbers.add_up(moved)
    live = trends.live(owner_id, silent_after=summary.SILENT, near=summary.NEAR)
    standing = tally.counts_by_tool(owner_id)
    link = partial(summary.tasks_link, everyone=owner_id is None)
    return {
        "now": now,
        "sums": sums,
        "tiles": summary.tiles(standing, sums, live, now=now, link=link),
        "throughput": summary.throughput(moved, chosen),
        "durations": summary.durations(moved, chosen),
        "ticks": summary.ticks(since, chosen),
        "tools": summary.by_tool(moved, standing, slots=chosen.slots)[:TOOLS_SHOWN],
        "attention": attention(principal, owner_id, live=live, moved=moved, now=now, link=link),
        "p50": numbers.words(sums.ran, 0.5),
        "p95": numbers.words(sums.ran, 0.95),
        "median_wait": numbers.words(sums.waited, 0.5),
        "long_wait": numbers.words(sums.waited, 0.95),
    }


def _machinery() -> dict[str, Any]:
    """The workers and how long work waits for them: of no interest to those who only own tasks."""
    due = workers.oldest_due_seconds()
    unseen = loops.unseen_seconds()
    live, lost = workers.known_workers()
    return {
        "unseen": unseen,
        "is_looping": unseen is not None and unseen < conf().worker_gone,
        "workers": live,
        "lost": lost,
        "due": due,
        "is_late": due is not None and due > WAITS_LONG_SECONDS,
    }
