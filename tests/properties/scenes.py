"""Tasks in the states that races begin from, and what is compared after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from tasks_app import store
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.store.db import rows
from tests.properties.observing import empty_tables, keys_of, observed, set_clock

FORM = {
    "message": "Really?",
    "requestedSchema": {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]},
}
QUESTION = "sure"
TTL = 600_000
LEASE_LAPSED = 20_000
"""A moment at which the lease of a running task has run out, and nothing else."""


@dataclass(frozen=True)
class Scene:
    """One task, its last claim, and the owner who acts."""

    task_id: UUID
    claim: store.Claim
    key: str
    owner: Actor

    @property
    def owner_id(self) -> int:
        """Whose task it is."""
        assert isinstance(self.owner.id, int)
        return self.owner.id


def running(owner_id: int) -> Scene:
    """A task that has asked, was answered, and runs again."""
    scene = waiting(owner_id)
    store.answer(scene.task_id, {scene.key: answer_of("first")}, owner_id=owner_id, by=scene.owner, via=Via.CONSOLE)
    claim = store.claim_next(store.Claimant("w2"))
    assert claim is not None
    return Scene(scene.task_id, claim, scene.key, scene.owner)


def waiting(owner_id: int, *, stay: int = TTL, names: tuple[str, ...] = (QUESTION,)) -> Scene:
    """A task with an open question, or several; its claim is one that it no longer honours."""
    task = store.create(store.NewTask(owner_id=owner_id, tool="plain", ttl_ms=TTL)).task
    claim = store.claim_next(store.Claimant("w1"))
    assert claim is not None
    assert claim.task_id == task.id
    store.suspend(claim, [store.NewQuestion(name=name, request=FORM, seconds=stay / 1000) for name in names])
    return Scene(task.id, claim, keys_of(task.id)[names[0]], Actor(ActorKind.OWNER, id=owner_id, via="console"))


def answer_of(text: str) -> store.Answer:
    """An answer that fits the form."""
    return store.Answer(AnswerAction.ACCEPT, {"why": text})


def _answer(scene: Scene) -> object:
    given = {scene.key: answer_of("again")}
    done = store.answer(scene.task_id, given, owner_id=scene.owner_id, by=scene.owner, via=Via.CONSOLE)
    return [len(done.recorded), [str(each.question and each.question.state) for each in done.ignored]]


def _extend(scene: Scene) -> object:
    by = scene.owner
    task = store.extend(scene.task_id, more=timedelta(minutes=1), owner_id=scene.owner_id, by=by)
    return task.expires_at - task.created_at


VERBS: dict[str, Callable[[Scene], object]] = {
    "answer": _answer,
    "cancel": lambda scene: store.cancel(scene.task_id, owner_id=scene.owner_id, by=scene.owner).happened,
    "complete": lambda scene: store.complete(scene.claim, result={"n": 1}).status.value,
    "expire": lambda _: store.expire(),
    "reap": lambda _: store.reap(),
    "heartbeat": lambda scene: store.heartbeat(scene.claim).value,
    "extend": _extend,
    "step": lambda scene: store.save_step(scene.claim, name="s", position=0, value=1),
    "output": lambda scene: store.write_output(scene.claim, "line\n").output_bytes,
}
"""Each verb, and a word for what it said."""

_EVENTS = """
SELECT kind, from_status, to_status, attempt, actor ->> 'kind', detail - 'key' - 'digest' FROM tasks_event ORDER BY id
"""


def prepared(build: Callable[[int], Scene], owner_id: int, *, at: int) -> Scene:
    """A fresh scene, alone in the tables, built at zero and left at this moment."""
    empty_tables()
    set_clock(0)
    scene = build(owner_id)
    set_clock(at)
    return scene


def projection() -> tuple[Any, ...]:
    """The one task with its children and its history; ids and keys, which differ from task to task, are left out."""
    (task,) = observed().values()
    answers = rows("SELECT answer, answered_by ->> 'kind', answered_via FROM tasks_question ORDER BY id")
    return task, rows(_EVENTS), answers
