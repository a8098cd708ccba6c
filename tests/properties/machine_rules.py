"""The rules of callers and of time: what owners, clients, operators and the engine loop may do, in any order."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tasks_app import store
from tasks_app.domain.questions import AnswerAction, QuestionState, Via
from tests.properties.machine import PICK, both, only_when, pick
from tests.properties.machine_verbs import SharedVerbs
from tests.properties.model_rows import Given

DAY = 86_400_000
ACTIONS = st.sampled_from([AnswerAction.ACCEPT, *AnswerAction])


class CallerRules(SharedVerbs):
    """What owners, clients and operators do."""

    @initialize()
    def first_call(self) -> None:
        self.made(owner=self.owners[0])

    @rule(which=PICK, tool=st.sampled_from(["plain", "capped"]), ttl=st.sampled_from([None, None, 90_000]),
          approval=st.booleans(), waiting=st.booleans())  # fmt: skip
    def create(self, which: int, tool: str, ttl: int | None, approval: bool, waiting: bool) -> None:
        self.count("create with approval" if approval else "create")
        self.made(owner=pick([*self.owners], which), tool=tool, ttl=ttl, approval=approval, waiting=waiting)

    @rule(which=PICK, key=st.sampled_from(["k1", "k2"]), tool=st.sampled_from(["plain", "plain", "capped"]))
    def create_with_key(self, which: int, key: str, tool: str) -> None:
        self.count("create with key")
        self.made(owner=pick([*self.owners], which), tool=tool, key=key)

    @rule(which=PICK, action=ACTIONS, fits=st.booleans(), several=st.booleans(), by=PICK)
    @only_when(lambda self: self.can_work())
    def answer(self, which: int, action: AnswerAction, fits: bool, several: bool, by: int) -> None:
        task_id = self.waited_for(which)
        names = list(self.model.tasks[task_id].open_questions())
        given = {pick(names, which): Given(action, fits)}
        if several:
            given = {name: Given() for name in names} | given
        self.count("answer several" if len(given) > 1 else "answer" if fits else "answer that does not fit")
        self.answered(task_id, given, operator=by % 2 == 1, via=pick([Via.CONSOLE, Via.CONSOLE, Via.MCP], by))

    @rule(which=PICK, operator=st.booleans(), via=st.sampled_from([Via.CONSOLE, Via.MCP]))
    @only_when(lambda self: self.where(lambda task: bool(task.questions)))
    def answer_again_or_nothing(self, which: int, operator: bool, via: Via) -> None:
        self.count("answer repeated or unknown")
        task_id = pick(self.where(lambda task: bool(task.questions)), which)
        closed = [n for n, q in self.model.tasks[task_id].questions.items() if q.state is not QuestionState.OPEN]
        self.answered(task_id, {name: Given() for name in [*closed, "unknown"]}, operator=operator, via=via)

    @rule(which=PICK, owner=PICK)
    @only_when(lambda self: self.model.tasks)
    def cancel(self, which: int, owner: int) -> None:
        self.count("cancel")
        task_id = pick(list(self.model.tasks), which)
        whose = pick([self.model.tasks[task_id].owner, None, *self.owners], owner)
        by = self.operator if whose is None else self.acts(task_id)
        both(
            lambda: store.cancel(task_id, owner_id=whose, by=by).happened,
            lambda: self.model.cancel(task_id, owner=whose),
        )

    @rule(which=PICK, what=st.sampled_from(["extend", "hold", "unhold"]), days=st.sampled_from([1, 20, 40]))
    @only_when(lambda self: self.model.tasks)
    def keep(self, which: int, what: str, days: int) -> None:
        self.count(what)
        task_id = pick(list(self.model.tasks), which)

        def real() -> None:
            if what == "extend":
                store.extend(task_id, more=timedelta(days=days), owner_id=None, by=self.operator)
            else:
                store.hold(task_id, held=what == "hold", owner_id=None, by=self.operator)

        def modelled() -> None:
            if what == "extend":
                self.model.extend(task_id, days * DAY, owner=None)
            else:
                self.model.hold(task_id, held=what == "hold", owner=None)

        both(real, modelled)


class LoopRules(SharedVerbs):
    """What time does, and the engine loop about it. Each sweep may come at the edge of a moment, before or after it."""

    @rule(ms=st.sampled_from([1, 400, 1_500]))
    def moments_pass(self, ms: int) -> None:
        self.count("time")
        self.at(self.model.now + ms)

    @rule(which=PICK, late=st.sampled_from([0, 1]))
    @only_when(lambda self: self.where(lambda task: task.running() is not None))
    def let_lease_lapse(self, which: int, late: int) -> None:
        self.count("let lease lapse")
        leases = [attempt.lease for task in self.model.tasks.values() if (attempt := task.running())]
        self.at(pick(sorted(leases), which) + late)

    @rule()
    @only_when(lambda self: self.where(lambda t: t.wake is not None and t.wake > self.model.now))
    def reach_a_retry(self) -> None:
        self.count("reach a retry")
        self.at(min(t.wake for t in self.model.tasks.values() if t.wake is not None and t.wake > self.model.now))

    @rule(early=st.sampled_from([0, 1]))
    @only_when(lambda self: self.where(lambda task: bool(task.open_questions())))
    def expire_questions(self, early: int) -> None:
        self.count("expire questions")
        self.at(min(q.deadline for task in self.model.tasks.values() for q in task.open_questions().values()) - early)
        both(store.expire_questions, self.model.lapse)

    @rule(early=st.sampled_from([0, 1]), is_swept=st.booleans())
    @only_when(lambda self: self.where(lambda task: task.expired is None))
    def reach_an_expiry(self, early: int, is_swept: bool) -> None:
        self.count("expire" if is_swept else "reach an expiry")
        self.at(min(task.expires for task in self.model.tasks.values() if task.expired is None) - early)
        if is_swept:
            both(store.expire, self.model.expire)

    @rule(which=st.sampled_from(["reap", "reap", "expire", "expire", "expire questions", "fold", "purge"]))
    def sweep(self, which: str) -> None:
        self.count(which)
        verbs = {
            "reap": (store.reap, self.model.reap),
            "expire": (store.expire, self.model.expire),
            "expire questions": (store.expire_questions, self.model.lapse),
            "purge": (store.purge, self.model.purge),
        }
        if which in verbs:
            both(*verbs[which])
            return
        store.fold()
        assert store.counts(None) == self.model.counts()

    @rule(early=st.sampled_from([0, 1]))
    @only_when(lambda self: self.where(lambda task: task.expired is not None))
    def purge_what_is_over(self, early: int) -> None:
        self.count("purge")
        expired = min(task.expired for task in self.model.tasks.values() if task.expired is not None)
        self.at(expired + self.model.knobs.purge_after + 1 - early)
        both(store.purge, self.model.purge)
