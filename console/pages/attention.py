"""What somebody should look at now: questions that run out, tools that fail, tasks that say nothing, no worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from console import numbers, present
from console.access import Action, Principal
from console.summary import NEAR, SILENT, Link
from tasks_app.domain.questions import QuestionState
from tasks_app.store import inbox
from tasks_app.store.trends import Live, Movement

QUESTIONS = 3
FAILING_TOOLS = 2


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to look at, and the button that leads there."""

    icon: str
    tone: str
    title: str
    detail: str
    action: str
    url: str
    due: present.Countdown | None = None


def attention(
    principal: Principal,
    owner_id: int | None,
    *,
    live: Live,
    moved: Sequence[Movement],
    now: datetime,
    link: Link,
) -> list[Item]:
    """What needs somebody, the most urgent first."""
    return [*_questions(principal, owner_id, now), *_failures(moved, link), *_others(live, link)]


def _questions(principal: Principal, owner_id: int | None, now: datetime) -> list[Item]:
    sees_approvals = principal.may(Action.APPROVE, everyone=True)
    found = inbox.page(QuestionState.OPEN, owner_id=owner_id, sees_approvals=sees_approvals, limit=QUESTIONS)
    return [
        Item(
            "input",
            "s-input",
            f"{each.tool} waits {present.span(now - each.question.created_at)}",
            "expires in ",
            "Answer",
            reverse("question", args=[each.question.task_id, each.question.key]),
            due=present.countdown(each.question.expires_at, now=now),
        )
        for each in found
    ]


def _failures(moved: Sequence[Movement], link: Link) -> list[Item]:
    failed: Counter[str] = Counter()
    for each in moved:
        # What ran out while it waited for a person did not fail by itself.
        if each.entered == numbers.FAILED and each.left != numbers.WAITING:
            failed[each.tool] += each.tasks
    return [
        Item(
            "failed",
            "s-failed",
            f"{tool} failed {_times(count)}",
            "in this range",
            "View",
            link(f"status:failed tool:{tool}"),
        )
        for tool, count in failed.most_common(FAILING_TOOLS)
    ]


def _others(live: Live, link: Link) -> list[Item]:
    items = []
    if live.silent:
        minutes = SILENT.total_seconds() // 60
        title = f"{live.silent} working, silent for {minutes:.0f} min"
        items.append(Item("working", "s-working", title, "no progress, no message", "View", link("status:working")))
    if live.expiring:
        query = "expires:<10m status:working,input_required"
        what = "live task expires" if live.expiring == 1 else "live tasks expire"
        title = f"{live.expiring} {what} within {NEAR.total_seconds() // 60:.0f} min"
        items.append(Item("hourglass", "", title, "extend what is still needed", "View", link(query)))
    return items


def _times(count: int) -> str:
    return "once" if count == 1 else f"{present.capped(count)} times"
