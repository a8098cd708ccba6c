"""One question as somebody sees it: whether they may see it, may answer it, who is at it, and how it ended.

What the pages of the inbox and of a task share. Nothing here takes a request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.http import Http404

from console import present
from console import store as console_store
from console.access import Action, Principal
from console.jsontree import Node, tree
from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState, Via
from tasks_app.store import queries, search

REASON_CHARACTERS = 500
_KINDS = {QuestionKind.URL: "link", QuestionKind.SAMPLING: "for a model", QuestionKind.ROOTS: "for the client"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its task and what else that asked, as somebody who may see it sees it at one moment.

    Once the task has expired nothing of what it asked or was told is left in it, only that it asked.
    """

    task: store.Snapshot
    question: store.QuestionView
    others: tuple[store.QuestionView, ...]
    now: datetime

    @property
    def is_gate(self) -> bool:
        """Whether it is an operator's approval."""
        return self.question.audience is Audience.OPERATOR

    @property
    def is_live(self) -> bool:
        """Whether its task can still be read, and so the question too."""
        return is_live(self.task, self.now)


def is_live(task: store.Snapshot, now: datetime) -> bool:
    """Whether a task has not expired, seen by the loop already or not."""
    return task.expired_at is None and (task.held or task.expires_at > now)


def find_asked(principal: Principal, task_id: UUID, key: str) -> Asked:
    """The question, if the task is one that the principal may see, expired or not; otherwise there is no such page."""
    try:
        task = queries.look(task_id, owner_id=principal.scope(everyone=True))
    except NotFound:
        raise Http404 from None
    now = queries.now()
    read = queries.questions(task_id)
    asked = read if is_live(task, now) else [bare(each) for each in read]
    for question in asked:
        if question.key == key:
            return Asked(task, question, tuple(each for each in asked if each is not question), now)
    raise Http404


def bare(question: store.QuestionView) -> store.QuestionView:
    """A question without what it asked and what was answered: all that may be shown once its task has expired."""
    return replace(question, request={}, answer=None)


def why_not(principal: Principal, asked: Asked) -> str:
    """Why somebody who sees a question may not answer it; empty when they may. The store decides in the end."""
    is_own = asked.task.owner_id == principal.owner_id
    if asked.is_gate:
        if not principal.may(Action.APPROVE, everyone=True):
            return "Only an operator may decide this."
        return "" if not is_own or conf().self_approval else "Somebody else than the task's owner has to approve it."
    if is_own:
        return ""
    if not principal.may(Action.ANSWER, everyone=True):
        return "Your role reads only."
    return "" if conf().operators_answer else "On this server only the owner answers what a task asks."


def needs_reason(principal: Principal, asked: Asked) -> bool:
    """Whether an answer has to say why this person gives it."""
    return asked.is_gate or asked.task.owner_id != principal.owner_id


def kind_words(question: store.QuestionView) -> str:
    """What sort of answer a question wants, for a list."""
    if question.kind is not QuestionKind.FORM:
        return _KINDS.get(question.kind, str(question.kind))
    schema = question.request.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    count = len(properties) if isinstance(properties, Mapping) else 0
    kind = "approval" if question.audience is Audience.OPERATOR else "form"
    return kind if count == 0 else f"{kind}, {count} field" if count == 1 else f"{kind}, {count} fields"


def subject(question: store.QuestionView) -> str:
    """What a question says in one line of a list."""
    message = question.request.get("message")
    return message if isinstance(message, str) and message else "Needs a model client, not a person"


@dataclass(frozen=True, slots=True)
class Holding:
    """Who is answering a question just now, as one person sees it."""

    name: str
    is_me: bool
    until: str

    @property
    def words(self) -> str:
        """For the line of a list."""
        return "claimed by you" if self.is_me else f"{self.name} is answering"


def holdings(principal: Principal, question_ids: list[int]) -> dict[int, Holding]:
    """Who is answering which of these questions."""
    held = console_store.holders(question_ids)
    names = search.owner_names(list({each.owner_id for each in held.values()})) if held else {}
    return {
        question_id: Holding(
            names.get(each.owner_id) or "Somebody", each.owner_id == principal.owner_id, present.iso(each.until)
        )
        for question_id, each in held.items()
    }


@dataclass(frozen=True, slots=True)
class Closed:
    """How a question ended, in words."""

    what: str
    at: datetime | None
    reason: str = ""
    is_answered: bool = False


WITH_ITS_TASK = "Expired with its task."
_ENDS = {
    QuestionState.EXPIRED: "Nobody answered in time.",
    QuestionState.WITHDRAWN: "The task ended before this was answered.",
}
_DID = {AnswerAction.ACCEPT: "answered", AnswerAction.DECLINE: "declined", AnswerAction.CANCEL: "dismissed"}


def closed(
    question: store.QuestionView, task: store.Snapshot, names: Mapping[int, str], *, now: datetime
) -> Closed | None:
    """Who or what ended a question of this task; None while it is open. `names` are those of the people in it.

    Past its own deadline or that of its task it is over, swept already or not.
    """
    if question.state is QuestionState.OPEN:
        return _over(question, task, now)
    if question.action is None:
        is_with_task = question.state is QuestionState.WITHDRAWN and task.outcome is Outcome.EXPIRED
        said = WITH_ITS_TASK if is_with_task else _ENDS.get(question.state, "This question is closed.")
        return Closed(said, question.closed_at)
    by = question.answered_by or {}
    name = names.get(by["id"], "") if isinstance(by.get("id"), int) else ""
    who = name or {"engine": "The deadline", "worker": "The worker"}.get(str(by.get("kind")), "A client")
    through = " through a client" if question.answered_via == Via.MCP else ""
    reason = str(by.get("reason") or "")
    return Closed(f"{who} {_DID[question.action]} this{through}.", question.closed_at, reason, is_answered=True)


def _over(question: store.QuestionView, task: store.Snapshot, now: datetime) -> Closed | None:
    if not is_live(task, now):
        return Closed(WITH_ITS_TASK, task.expires_at)
    return Closed(_ENDS[QuestionState.EXPIRED], question.expires_at) if question.expires_at <= now else None


def ended(asked: Asked, names: Mapping[int, str] | None = None) -> Closed | None:
    """The same of a question with its task; the name of who answered is read unless it is known."""
    if names is None:
        who = list(people([asked.question]))
        names = search.owner_names(who) if who else {}
    return closed(asked.question, asked.task, names, now=asked.now)


def content(question: store.QuestionView) -> Node | None:
    """What was answered, as a tree; None where nothing was said with the answer."""
    said = (question.answer or {}).get("content")
    return None if said is None else tree(json.dumps(said))


def people(asked: Iterable[store.QuestionView]) -> set[int]:
    """Who answered these questions."""
    return {
        each.answered_by["id"] for each in asked if each.answered_by and isinstance(each.answered_by.get("id"), int)
    }
