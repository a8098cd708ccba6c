"""What a tab asks to hear, and the groups of the bus that its account may hear for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from console.access import Action, Principal, Role
from console.live.session import principal_in
from tasks_app import bus
from tasks_app.store import search

MOST_WATCHED = 200
TASK = "task:"

Topic = Annotated[str, Field(pattern=r"^(tasks|inbox|stats|task:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$")]


class Wanted(BaseModel):
    """A message of the browser: what its page shows, of whom."""

    model_config = ConfigDict(extra="forbid", strict=True)

    watch: Annotated[list[Topic], Field(max_length=MOST_WATCHED)]
    scope: Literal["mine", "all"] = "mine"

    @property
    def task_ids(self) -> list[UUID]:
        """The single tasks that are named."""
        return [UUID(topic.removeprefix(TASK)) for topic in self.watch if topic.startswith(TASK)]


@dataclass(frozen=True, slots=True)
class Watching:
    """What a socket hears: each topic that was granted with its group, and the roles that granted it."""

    groups: dict[str, str]
    roles: frozenset[Role]
    is_everyones: bool


def resolve(session_key: str, wanted: Wanted) -> Watching:
    """What of this the account may hear now; the rest is left out, be it another's or nothing at all."""
    principal = principal_in(session_key)
    owner_id = principal.scope(everyone=wanted.scope == "all")
    known = {"stats": bus.STATS}
    if owner_id is None:
        known |= {"tasks": bus.EVERYONE, "inbox": bus.EVERYONE_INBOX}
    else:
        known |= {"tasks": bus.owner_group(owner_id), "inbox": bus.inbox_group(owner_id)}
    if principal.may(Action.APPROVE, everyone=True):
        # What only an operator may decide is asked by others' tasks; this group says no more than "look again".
        known["inbox"] = bus.EVERYONE_INBOX
    groups = {topic: known[topic] for topic in wanted.watch if topic in known}
    return Watching(groups | _tasks(principal, wanted.task_ids), principal.roles, owner_id is None)


def _tasks(principal: Principal, task_ids: list[UUID]) -> dict[str, str]:
    if not task_ids:
        return {}
    named = search.Filter(ids=(search.Term(tuple(map(str, task_ids))),))
    seen = search.find(named, owner_id=principal.scope(everyone=True), limit=MOST_WATCHED)
    return {f"{TASK}{task.id}": bus.task_group(task.id) for task in seen.tasks}
