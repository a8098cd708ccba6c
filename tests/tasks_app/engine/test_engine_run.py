"""The end of an attempt in the process that ran it: recorded through an outage, whatever the end is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, StorageUnavailable
from tasks_app.domain.outcome import Outcome
from tasks_app.engine import Context, Retryable, drain, run, tool
from tasks_app.engine.watch import Watch
from tasks_app.store import queries
from tests.conftest import Person
from tests.tasks_app.store.life import WORKER, again, claimed, created, look

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_registry")]


@pytest.fixture
def watch() -> Watch:
    """A watch that ends no process."""
    return Watch(leave=lambda: None)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SETTLE_PAUSE_SECONDS", 0.0)


def failing_at_first(verb: Callable[..., Any], error: Exception, *, times: int = 2) -> Callable[..., Any]:
    """The verb, but as on a database that is away the first times."""
    left = [error] * times

    def call(*args: Any, **kwargs: Any) -> Any:
        if left:
            raise left.pop()
        return verb(*args, **kwargs)

    return call


@pytest.mark.parametrize("error", [StorageUnavailable(), ConcurrentModification()])
@pytest.mark.parametrize("verb", ["give_up", "stopped"])
def test_cancel_by_the_tool_itself_outlives_an_outage(
    alice: Person, watch: Watch, monkeypatch: pytest.MonkeyPatch, verb: str, error: Exception
) -> None:
    """Whether it comes before the end of the task or between that and the end of the attempt."""

    @tool(name="echo")
    def changes_its_mind(ctx: Context) -> None:
        ctx.cancel()

    claim = claimed(alice)
    monkeypatch.setattr(store, verb, failing_at_first(getattr(store, verb), error))

    assert run.run_attempt(claim, watch) is None

    assert look(claim.task_id).outcome is Outcome.CANCELLED
    assert [attempt.outcome for attempt in queries.attempts(claim.task_id)] == ["stopped"]


def test_end_of_a_tool_that_was_told_to_stop_outlives_an_outage(
    alice: Person, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(alice)

    @tool(name="echo")
    def looks_up(ctx: Context) -> None:
        store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())
        ctx.log("a line")

    monkeypatch.setattr(store, "stopped", failing_at_first(store.stopped, StorageUnavailable()))

    assert run.run_attempt(claim, watch) is None

    assert [attempt.outcome for attempt in queries.attempts(claim.task_id)] == ["stopped"]


def test_drain_ends_without_a_word_to_celery_when_the_claim_meets_another(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(alice)
    monkeypatch.setattr(store, "claim_next", failing_at_first(store.claim_next, ConcurrentModification(), times=1))

    assert drain.drain("test") == 0

    assert again(WORKER).number == 1


def test_step_that_an_attempt_failed_at_is_kept_with_it(alice: Person, watch: Watch) -> None:
    """Covers check 131: what failed is told by the system, and the next attempt goes on from there."""

    def fail() -> None:
        raise Retryable("busy", delay=0)

    @tool(name="echo", steps=("look", "sort"))
    def workflow(ctx: Context) -> None:
        ctx.step("look", lambda: 1)
        if ctx.attempt == 1:
            ctx.step("sort", fail)
        ctx.step("sort", lambda: 2)

    first = claimed(alice)
    for claim in (first, None):
        ending = run.run_attempt(claim or again(), watch)
        assert ending is not None
        run.settle(ending, None)

    [failed, done] = queries.attempts(first.task_id)
    assert (failed.outcome, failed.failed_step) == ("failed", "sort")
    assert (done.outcome, done.failed_step) == ("completed", None)
