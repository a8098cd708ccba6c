"""The verbs that several rules share, done in the store and in the model: create, claim, ask, answer.

`worked` and `waited_for` bring a task to where a rule needs one, so that most sequences get beyond the first steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tasks_app import store
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.domain.ttl import NOT_ASKED
from tests.properties.machine import ComparedMachine, both, pick
from tests.properties.model_rows import Given
from tests.properties.observing import keys_of, observed

FORM = {
    "message": "Really?",
    "requestedSchema": {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]},
}
FITTING = {"why": "because"}
CAPS = {"capped": 1}


class SharedVerbs(ComparedMachine):
    """Each verb compares what the store and the model say of it."""

    def made(self, *, owner: int, tool: str = "plain", key: str | None = None, ttl: int | None = None,
             approval: bool = False, waiting: bool = False) -> None:  # fmt: skip
        """Create, or find by its key, or be refused."""
        new = store.NewTask(
            owner_id=owner,
            tool=tool,
            key=key,
            ttl_ms=NOT_ASKED if ttl is None else ttl,
            waiting=waiting,
            approval=FORM if approval else None,
        )
        born: list[UUID] = []

        def real() -> UUID | None:
            created = store.create(new)
            born.extend([created.task.id] if created.is_new else [])
            return None if created.is_new else created.task.id

        def modelled() -> Any:
            swept = {task_id for task_id, row in observed().items() if row["expired"] is not None}
            self.model.swept_for_room(owner, swept & set(self.where(lambda task: task.expired is None)), key)
            return self.model.before_create(owner, key, tool)

        both(real, modelled)
        for task_id in born:
            self.model.create(task_id, owner=owner, tool=tool, key=key, digest=tool if key else None, ttl=ttl,
                              approval=approval, waiting=waiting)  # fmt: skip

    def claimed(self, claim: store.Claim | None, claimable: set[Any]) -> None:
        """What a claim took is one of what it could take."""
        assert (claim is None) == (not claimable)
        if claim is None:
            return
        assert claim.task_id in claimable
        assert claim.number == self.model.claim(claim.task_id)
        self.claims.append(claim)

    def can_work(self) -> bool:
        """Whether there is a lease, or one can be had."""
        return bool(self.holding() or self.model.claimable(CAPS) or self._has_room())

    def _has_room(self) -> bool:
        mine = self.where(lambda task: task.is_live and task.owner == self.owners[0])
        return len(mine) < self.model.knobs.live_tasks

    def worked(self, which: int) -> store.Claim:
        """A claim that holds its task: one that is there, or a new one."""
        if not self.holding():
            if not self.model.claimable(CAPS):
                self.made(owner=self.owners[0])
            self.claimed(store.claim_next(store.Claimant("w1", CAPS)), self.model.claimable(CAPS))
        return pick(self.holding(), which)

    def asked(self, claim: store.Claim, asked: Mapping[str, tuple[int, AnswerAction | None]]) -> None:
        """Suspend with these questions: name to how long it stays open, and its default."""
        questions = [
            store.NewQuestion(name=name, request=FORM, position=place, seconds=stay / 1000, default=_as_json(default))
            for place, (name, (stay, default)) in enumerate(asked.items())
        ]

        def real() -> None:
            store.suspend(claim, questions)

        both(real, lambda: self.model.suspend(claim.task_id, claim.number, asked))

    def waited_for(self, which: int) -> UUID:
        """A task with open questions: one that is there, or a new one."""
        if not self.where(lambda task: bool(task.open_questions())):
            names = [f"q{self.fresh()}", f"q{self.fresh()}"]
            self.asked(self.worked(which), dict.fromkeys(names, (7_200_000, None)))
        return pick(self.where(lambda task: bool(task.open_questions())), which)

    def answered(self, task_id: UUID, given: Mapping[str, Given], *, operator: bool, via: Via) -> None:
        """Answer, by name; what was not recorded is told."""
        keys = keys_of(task_id)
        owner = None if operator else self.model.tasks[task_id].owner
        answers = {
            keys.get(name, name): store.Answer(each.action, FITTING if each.fits else {"why": 1})
            for name, each in given.items()
        }

        def real() -> set[str]:
            by = self.operator if operator else self.acts(task_id)
            done = store.answer(task_id, answers, owner_id=owner, by=by, via=via)
            assert {each.key for each in done.ignored} == answers.keys() - set(done.recorded)
            return {name for name, key in keys.items() if key in done.recorded}

        wire = via is Via.MCP
        both(real, lambda: self.model.answer(task_id, given, owner=owner, operator=operator, wire=wire))


def _as_json(default: AnswerAction | None) -> dict[str, Any] | None:
    return None if default is None else {"action": default.value, "content": FITTING}
