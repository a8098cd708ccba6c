"""One question as somebody sees it: whether they may see it, may answer it, who is at it, and how it ended.

What the pages of the inbox and of a task share. Nothing here takes a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import Http404

from console import present
from console import store as console_store
from console.access import Action, Principal
from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind, QuestionState, Via
from tasks_app.store import queries, search

REASON_CHARACTERS = 500
_KINDS = {QuestionKind.URL: "link", QuestionKind.SAMPLING: "for a model", QuestionKind.ROOTS: "for the client"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its task, as somebody who may see it sees it."""

    task: store.Snapshot
    question: store.QuestionView

    @property
    def is_gate(self) -> bool:
        """Whether it is an operator's approval."""
        return self.question.audience is Audience.OPERATOR


def find_asked(principal: Principal, task_id: UUID, key: str) -> Asked:
    """The question, if the task is one that the principal may see; otherwise there is no such page."""
    try:
        task = queries.get(task_id, owner_id=principal.scope(everyone=True))
    except NotFound:
        raise Http404 from None
    for question in queries.questions(task_id):
        if question.key == key:
            return Asked(task, question)
    raise Http404


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


_ENDS = {
    QuestionState.EXPIRED: "Nobody answered in time.",
    QuestionState.WITHDRAWN: "The task ended before this was answered.",
}
_DID = {AnswerAction.ACCEPT: "answered", AnswerAction.DECLINE: "declined", AnswerAction.CANCEL: "dismissed"}


def closed(
    question: store.QuestionView, names: Mapping[int, str] | None = None, *, now: datetime | None = None
) -> Closed | None:
    """Who or what ended a question; None while it is open. Past its deadline it is over, swept already or not.

    `names` are those of owners, if they are known already.
    """
    if question.state is QuestionState.OPEN:
        is_late = now is not None and question.expires_at <= now
        return Closed(_ENDS[QuestionState.EXPIRED], question.expires_at) if is_late else None
    if question.action is None:
        return Closed(_ENDS.get(question.state, "This question is closed."), question.closed_at)
    by = question.answered_by or {}
    is_owner = isinstance(by.get("id"), int)
    name = (search.owner_names([by["id"]]) if names is None else names).get(by["id"], "") if is_owner else ""
    who = name or {"engine": "The deadline", "worker": "The worker"}.get(str(by.get("kind")), "A client")
    through = " through a client" if question.answered_via == Via.MCP else ""
    return Closed(f"{who} {_DID[question.action]} this{through}.", question.closed_at, str(by.get("reason") or ""))
