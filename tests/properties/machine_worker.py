"""The rules of workers: everything that an attempt may write, with the lease and without it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tasks_app import store
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.outcome import AttemptEnd, Outcome
from tasks_app.domain.questions import AnswerAction
from tests.properties.machine import PICK, both, only_when, pick
from tests.properties.machine_verbs import CAPS, FORM, SharedVerbs

ERROR = {"code": -32000, "message": "no"}
WORKERS = st.sampled_from(["w1", "w2", "w3"])
STAYS = st.sampled_from([500, 60_000, 7_200_000, 604_800_000])
DEFAULTS = st.sampled_from([None, None, AnswerAction.ACCEPT, AnswerAction.DECLINE])
CHANGES = st.dictionaries(st.sampled_from("abc"), st.sampled_from([None, 1, {"x": [2]}]))
MESSAGES = st.sampled_from([None, "so far"])
TOTALS = st.sampled_from([None, 9.0, 10.0])
ENDINGS = st.sampled_from([Outcome.RESULT, Outcome.TOOL_ERROR, Outcome.RPC_ERROR])

WRITES: dict[str, Callable[[store.Claim], object]] = {
    "step": lambda claim: store.save_step(claim, name="zombie", position=99, value=1),
    "output": lambda claim: store.write_output(claim, "zombie"),
    "progress": lambda claim: store.set_progress(claim, done=99),
    "message": lambda claim: store.set_message(claim, "zombie"),
    "variables": lambda claim: store.set_variables(claim, {"zombie": 1}),
    "suspend": lambda claim: store.suspend(claim, [store.NewQuestion(name="zombie", request=FORM)]),
    "complete": lambda claim: store.complete(claim, result={"zombie": True}),
    "fail": lambda claim: store.fail(claim, error=ERROR),
    "retry": lambda claim: store.retry(claim, delay=0),
    "release": store.release,
}
"""Every write that the lease guards."""


class LeaseRules(SharedVerbs):
    """What a worker writes while it holds a task."""

    @rule(worker=WORKERS)
    def claim(self, worker: str) -> None:
        claimable = self.model.claimable(CAPS)
        self.count("claim" if claimable else "claim nothing")
        self.claimed(store.claim_next(store.Claimant(worker, CAPS)), claimable)

    @rule(which=PICK, name=st.integers(0, 3))
    @only_when(lambda self: self.can_work())
    def step(self, which: int, name: int) -> None:
        self.count("step")
        claim, value = self.worked(which), self.fresh()
        store.save_step(claim, name=f"s{name}", position=name, value=value)
        self.model.step(claim.task_id, claim.number, f"s{name}", value)

    @rule(which=PICK, text=st.sampled_from(["a", "läng€r", ""]))
    @only_when(lambda self: self.can_work())
    def output(self, which: int, text: str) -> None:
        self.count("output")
        claim = self.worked(which)
        store.write_output(claim, f"{text}\n")
        self.model.output(claim.task_id, claim.number, f"{text}\n")

    @rule(which=PICK, done=st.integers(0, 9), total=TOTALS, message=MESSAGES)
    @only_when(lambda self: self.can_work())
    def progress(self, which: int, done: int, total: float | None, message: str | None) -> None:
        self.count("progress")
        claim = self.worked(which)
        store.set_progress(claim, done=done, total=total, message=message)
        self.model.progress(claim.task_id, claim.number, done, total, message)

    @rule(which=PICK, changes=CHANGES)
    @only_when(lambda self: self.can_work())
    def variables(self, which: int, changes: dict[str, Any]) -> None:
        self.count("variables")
        claim = self.worked(which)
        both(
            lambda: store.set_variables(claim, changes),
            lambda: self.model.variables(claim.task_id, claim.number, changes),
        )

    @rule(which=PICK, ms=st.sampled_from([1_000, 600_000]))
    @only_when(lambda self: self.can_work())
    def hand_over(self, which: int, ms: int) -> None:
        self.count("hand over")
        claim, time = self.worked(which), timedelta(milliseconds=ms)
        both(lambda: store.lease_for(claim, time), lambda: self.model.lease_for(claim.task_id, claim.number, ms))

    @rule(which=PICK, many=st.integers(1, 3), stay=STAYS, default=DEFAULTS, old_name=st.booleans())
    @only_when(lambda self: self.can_work())
    def ask(self, which: int, many: int, stay: int, default: AnswerAction | None, old_name: bool) -> None:
        claim = self.worked(which)
        used = list(self.model.tasks[claim.task_id].questions) if old_name else []
        self.count(f"ask {many}")
        names = [f"q{self.fresh()}" for _ in range(many)] + used[:1]
        first, *others = names
        self.asked(claim, {first: (stay, default)} | dict.fromkeys(others, (stay + 1_000, None)))

    @rule(which=PICK, outcome=ENDINGS)
    @only_when(lambda self: self.can_work())
    def finish(self, which: int, outcome: Outcome) -> None:
        self.count(outcome.value)
        claim, result = self.worked(which), {"n": self.fresh()}
        if outcome is Outcome.RPC_ERROR:
            store.fail(claim, error=ERROR)
        else:
            store.complete(claim, result=result, is_error=outcome is Outcome.TOOL_ERROR)
        self.model.finish(claim.task_id, claim.number, outcome, None if outcome is Outcome.RPC_ERROR else result)

    @rule(which=PICK, delay=st.sampled_from([None, 0, 800, 5_000]))
    @only_when(lambda self: self.can_work())
    def put_back(self, which: int, delay: int | None) -> None:
        self.count("release" if delay is None else "retryable error")
        claim = self.worked(which)
        if delay is None:
            store.release(claim)
            self.model.put_back(claim.task_id, claim.number, delay=0, end=AttemptEnd.RELEASED)
        else:
            store.retry(claim, delay=delay / 1000)
            self.model.put_back(claim.task_id, claim.number, delay=delay, end=AttemptEnd.FAILED)


class TokenRules(SharedVerbs):
    """What a worker does with any token it was ever given."""

    @rule(which=PICK)
    @only_when(lambda self: self.claims)
    def heartbeat(self, which: int) -> None:
        self.count("heartbeat")
        claim = pick(self.claims[::-1], which)
        both(lambda: store.heartbeat(claim).value, lambda: self.model.heartbeat(claim.task_id, claim.number))

    @rule(which=PICK, killed=st.booleans())
    @only_when(lambda self: self.claims)
    def stop(self, which: int, killed: bool) -> None:
        self.count("killed" if killed else "stopped")
        claim = pick(self.claims[::-1], which)
        real, end = (store.killed, AttemptEnd.KILLED) if killed else (store.stopped, AttemptEnd.STOPPED)
        both(lambda: real(claim), lambda: self.model.stop(claim.task_id, claim.number, end))

    @rule(which=PICK, worker=WORKERS, retries=st.booleans())
    @only_when(lambda self: self.claims)
    def turn(self, which: int, worker: str, retries: bool) -> None:
        claim, result = pick(self.claims[::-1], which), {"n": self.fresh()}
        is_held = self.is_holding(claim)
        self.count("turn" if is_held else "turn without the lease")
        claimable = self.model.claimable(CAPS, settling=claim.task_id)
        ending = store.retrying(claim, delay=0) if retries else store.completion(claim, result=result)
        done = store.turn(ending, store.Claimant(worker, CAPS))
        assert (done.settled is not None) == is_held
        if is_held and retries:
            self.model.put_back(claim.task_id, claim.number, delay=0, end=AttemptEnd.FAILED)
        elif is_held:
            self.model.finish(claim.task_id, claim.number, Outcome.RESULT, result)
        self.claimed(done.following, claimable)

    @rule(which=PICK)
    @only_when(lambda self: [claim for claim in self.claims if not self.is_holding(claim)])
    def zombie_write(self, which: int) -> None:
        self.count("zombie write")
        claim = pick([claim for claim in self.claims if not self.is_holding(claim)], which)
        for write in WRITES.values():
            with pytest.raises(LeaseLost):
                write(claim)
        assert not store.holds(claim)
