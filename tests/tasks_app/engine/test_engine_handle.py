"""Handing a task over: the handle carries the attempt on from any process, for as long as it holds the task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core import signing
from django.core.signing import BadSignature

from tasks_app import store
from tasks_app.domain.errors import LeaseLost, NotFound
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.questions import QuestionKind
from tasks_app.domain.status import Status
from tasks_app.engine import Context, Handle, IllegalOrder, tool
from tasks_app.engine.call import Ended, How, call_tool
from tasks_app.engine.handle import StoreHandle
from tasks_app.engine.registry import Registry, tool_of
from tasks_app.engine.store_journal import StoreJournal, answerable
from tasks_app.engine.watch import Watched
from tasks_app.store import queries
from tests.conftest import DatabaseClock, Person
from tests.processes import database_url
from tests.tasks_app.store.life import YES, again, answer, claimed, look, together

ROOT = Path(__file__).resolve().parents[3]
UNTIL = timedelta(minutes=30)
CARRY_ON = """
import django, sys
django.setup()
from tasks_app.engine.handle import StoreHandle
handle = StoreHandle.from_token(sys.argv[1])
handle.progress(3, 4, "Rendering elsewhere")
handle.log("frame 3")
handle.complete("rendered")
"""

pytestmark = pytest.mark.usefixtures("own_registry")


class Deferring:
    """A tool that hands its task over, step done before, and the handle that it got last."""

    def __init__(self) -> None:
        self.handle: Handle | None = None
        self.prepared = 0

        @tool(name="echo")
        def render(ctx: Context) -> None:
            ctx.step("prepare", self._prepare)
            self.handle = ctx.defer(until=UNTIL)

        self._tool = tool_of(render)

    def _prepare(self) -> int:
        self.prepared += 1
        return self.prepared

    def run(self, claim: store.Claim) -> Ended:
        """Run one attempt, as a worker does."""
        return call_tool(self._tool, {}, StoreJournal(Watched(claim, self._tool)))

    def token(self) -> str:
        """What the tool would send to another process."""
        assert isinstance(self.handle, StoreHandle)
        return self.handle.token()


@pytest.fixture
def deferring() -> Deferring:
    return Deferring()


@pytest.fixture
def claim(alice: Person, deferring: Deferring) -> store.Claim:
    """An attempt whose tool has handed its task over."""
    claim = claimed(alice)
    ended = deferring.run(claim)
    assert ended.how is How.DEFERRED
    return claim


@pytest.fixture
def handle(claim: store.Claim, deferring: Deferring) -> StoreHandle:
    """The handle as another process has it: made of its token."""
    return StoreHandle.from_token(deferring.token())


def elsewhere(action: Callable[[], None]) -> None:
    """Do something on another connection, as another process would."""
    [outcome] = together(action)
    if outcome is not None:
        raise outcome


@pytest.mark.django_db(transaction=True)
def test_deferred_task_is_completed_by_another_process(claim: store.Claim, deferring: Deferring) -> None:
    """Covers check 115: the work goes on in a process that knows nothing but the token."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings.test", "DATABASE_URL": database_url()}

    subprocess.run([sys.executable, "-c", CARRY_ON, deferring.token()], cwd=ROOT, env=environment, check=True)

    task = look(claim.task_id)
    assert (task.status, task.outcome) == (Status.COMPLETED, Outcome.RESULT)
    assert (task.progress_done, task.progress_total, task.status_message) == (3, 4, "Rendering elsewhere")
    assert [chunk.text for chunk in queries.output(claim.task_id)] == ["frame 3\n"]
    assert text_of(task) == "rendered"
    assert [attempt.outcome for attempt in queries.attempts(claim.task_id)] == ["completed"]


def text_of(task: store.Snapshot) -> str:
    assert task.result is not None
    [block] = json.loads(task.result)["content"]
    return str(block["text"])


@pytest.mark.django_db
def test_deferred_task_is_held_without_a_heartbeat_until_the_time_that_was_given(
    claim: store.Claim, clock: DatabaseClock, handle: StoreHandle
) -> None:
    """Covers check 115: past that time the attempt is lost, like any other."""
    clock.advance(UNTIL - timedelta(minutes=1))
    too_early = store.reap()
    is_still_held = store.holds(claim)
    clock.advance(timedelta(minutes=2))

    reaped = store.reap()

    assert (too_early, is_still_held, reaped) == (0, True, 1)
    with pytest.raises(LeaseLost):
        handle.complete("too late")


@pytest.mark.django_db(transaction=True)
def test_handle_fails_the_task_with_a_tool_error_from_another_connection(
    claim: store.Claim, handle: StoreHandle
) -> None:
    """Covers check 111 for a handle."""
    elsewhere(lambda: handle.fail("The farm is closed."))

    task = look(claim.task_id)
    assert (task.status, task.outcome, text_of(task)) == (
        Status.COMPLETED,
        Outcome.TOOL_ERROR,
        "The farm is closed.",
    )


@pytest.mark.django_db(transaction=True)
def test_handle_waits_for_someone_and_resumes_the_tool_from_the_top(
    claim: store.Claim, handle: StoreHandle, deferring: Deferring
) -> None:
    """Covers check 108 and check 109 for a handle."""
    elsewhere(lambda: handle.require_input("Plug the farm in."))
    waiting = look(claim.task_id)
    [question] = queries.open_questions(claim.task_id)
    elsewhere(handle.resume)
    resumed = look(claim.task_id)

    second = again()
    ended = deferring.run(second)

    assert (waiting.status, waiting.active_attempt) == (Status.INPUT_REQUIRED, None)
    assert (question.request["message"], question.kind) == ("Plug the farm in.", QuestionKind.FORM)
    assert (resumed.status, resumed.wake_at is not None) == (Status.WORKING, True)
    assert (second.number, ended.how, deferring.prepared) == (2, How.DEFERRED, 1)
    assert [attempt.outcome for attempt in queries.attempts(claim.task_id)] == ["suspended", None]


@pytest.mark.django_db
def test_what_a_handle_waits_for_is_answered_by_the_owner_too(
    alice: Person, claim: store.Claim, handle: StoreHandle, deferring: Deferring
) -> None:
    handle.require_input("Plug the farm in.")
    [question] = queries.open_questions(claim.task_id)

    answer(claim.task_id, alice, {question.key: YES})

    assert deferring.run(again()).how is How.DEFERRED
    with pytest.raises(IllegalOrder):
        handle.resume()


@pytest.mark.django_db
def test_handle_is_told_that_somebody_answered_before_it_resumed(
    alice: Person, claim: store.Claim, handle: StoreHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covers check 109 for a handle: two at once, and the second must not believe that it resumed the task."""
    handle.require_input("Plug the farm in.")
    read = queries.open_questions

    def read_and_lose(task_id: UUID) -> list[store.QuestionView]:
        found = read(task_id)
        answer(task_id, alice, {found[0].key: YES})
        return found

    monkeypatch.setattr(queries, "open_questions", read_and_lose)

    with pytest.raises(IllegalOrder, match="too late"):
        handle.resume()
    assert queries.questions(claim.task_id)[0].answered_via == "console"


@pytest.mark.django_db
def test_new_attempt_gets_a_handle_of_its_own_that_completes_the_task(
    claim: store.Claim, handle: StoreHandle, deferring: Deferring
) -> None:
    handle.require_input("Plug the farm in.")
    handle.resume()
    deferring.run(again())

    with pytest.raises(LeaseLost):
        handle.complete("from the first attempt")
    StoreHandle.from_token(deferring.token()).complete("from the second attempt")

    assert text_of(look(claim.task_id)) == "from the second attempt"


@pytest.mark.django_db
def test_handle_that_waits_can_do_nothing_but_resume_and_cancel(claim: store.Claim, handle: StoreHandle) -> None:
    """Covers check 107, check 110 and check 111 for a handle, the illegal order of each."""
    handle.require_input("Plug the farm in.")

    for verb in (
        lambda: handle.complete("early"),
        lambda: handle.fail("early"),
        lambda: handle.progress(1),
        lambda: handle.log("early"),
        lambda: handle.require_input("again"),
    ):
        with pytest.raises(LeaseLost):
            verb()  # type: ignore[no-untyped-call]
    assert look(claim.task_id).status is Status.INPUT_REQUIRED
    assert len(queries.questions(claim.task_id)) == 1


@pytest.mark.django_db
def test_handle_cannot_resume_what_does_not_wait(handle: StoreHandle, claim: store.Claim) -> None:
    """Covers check 109 for a handle, the illegal order."""
    with pytest.raises(IllegalOrder, match="only while the task waits"):
        handle.resume()
    assert look(claim.task_id).status is Status.WORKING


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waits", [False, True], ids=["running", "waiting"])
def test_handle_cancels_the_task_from_another_connection(claim: store.Claim, handle: StoreHandle, waits: bool) -> None:
    """Covers check 112 for a handle."""
    if waits:
        handle.require_input("Plug the farm in.")

    elsewhere(handle.cancel)

    assert look(claim.task_id).status is Status.CANCELLED
    assert queries.open_questions(claim.task_id) == []
    assert [attempt.outcome for attempt in queries.attempts(claim.task_id)] == ["suspended" if waits else "stopped"]
    with pytest.raises(LeaseLost):
        handle.cancel()


@pytest.mark.django_db
def test_handle_of_a_task_that_somebody_cancelled_records_nothing(
    alice: Person, claim: store.Claim, handle: StoreHandle
) -> None:
    store.cancel(claim.task_id, owner_id=alice.id, by=alice.acts())

    with pytest.raises(LeaseLost):
        handle.complete("too late")

    assert (look(claim.task_id).outcome, look(claim.task_id).result) == (Outcome.CANCELLED, None)


@pytest.mark.django_db
def test_handle_records_who_carried_the_task(claim: store.Claim, handle: StoreHandle) -> None:
    handle.complete("rendered")

    [ended] = [event for event in queries.timeline(claim.task_id) if event.to_status == "completed"]
    assert (ended.actor["kind"], ended.actor["id"]) == ("worker", f"handed over by {claim.worker}")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "tamper",
    [
        lambda token: f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}",
        lambda token: f"x{token}",
        lambda token: token.rpartition(":")[0],
        lambda _: "",
        lambda _: "not-a-token",
    ],
    ids=["signature", "content", "unsigned", "empty", "anything"],
)
def test_token_that_was_tampered_with_is_refused(
    deferring: Deferring, claim: store.Claim, tamper: Callable[[str], str]
) -> None:
    with pytest.raises(BadSignature):
        StoreHandle.from_token(tamper(deferring.token()))
    assert store.holds(claim)


@pytest.mark.django_db
def test_token_signed_for_another_purpose_is_refused(claim: store.Claim) -> None:
    values = {"task": str(claim.task_id), "number": claim.number, "owner": claim.owner_id}

    with pytest.raises(BadSignature):
        StoreHandle.from_token(signing.dumps(values, salt="another.purpose"))


@pytest.mark.django_db
def test_token_of_a_task_that_is_gone_finds_nothing(
    claim: store.Claim, clock: DatabaseClock, handle: StoreHandle
) -> None:
    handle.complete("rendered")
    token = handle.token()
    for sweep in (store.expire, store.purge):
        clock.advance(timedelta(days=10))
        sweep()

    with pytest.raises(NotFound):
        StoreHandle.from_token(token)


FORM, URL, SAMPLING, ROOTS = QuestionKind.FORM, QuestionKind.URL, QuestionKind.SAMPLING, QuestionKind.ROOTS


@pytest.mark.parametrize(
    ("capabilities", "kinds"),
    [
        ({}, set()),
        ({"tools": {}, "experimental": {"elicitation": {}}}, set()),
        ({"elicitation": {}}, {FORM}),
        ({"elicitation": {"form": {}}}, {FORM}),
        ({"elicitation": {"url": {}}}, {URL}),
        ({"elicitation": {"form": {}, "url": {}}}, {FORM, URL}),
        ({"sampling": {}}, {SAMPLING}),
        ({"sampling": {"tools": {}}, "roots": {"listChanged": True}}, {SAMPLING, ROOTS}),
        ({"elicitation": None, "sampling": False, "roots": "yes"}, set()),
        ({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}, {FORM, URL, SAMPLING, ROOTS}),
    ],
)
def test_answerable_kinds_are_those_that_the_client_declared(
    capabilities: Mapping[str, Any], kinds: set[QuestionKind]
) -> None:
    assert answerable(capabilities) == kinds


@pytest.fixture
def succession(alice: Person, own_registry: Registry) -> tuple[StoreHandle, StoreHandle, store.Claim]:
    """A handle that was resumed, and the handle of the attempt that came after it."""
    deferring, claim = Deferring(), claimed(alice)
    deferring.run(claim)
    old = StoreHandle.from_token(deferring.token())
    old.require_input("first")
    old.resume()
    deferring.run(again())
    return old, StoreHandle.from_token(deferring.token()), claim


@pytest.mark.django_db
def test_stale_handle_cannot_resume_what_its_successor_waits_for(
    succession: tuple[StoreHandle, StoreHandle, store.Claim],
) -> None:
    old, new, claim = succession
    new.require_input("second")

    with pytest.raises(IllegalOrder):
        old.resume()

    assert look(claim.task_id).status is Status.INPUT_REQUIRED


@pytest.mark.django_db
def test_stale_handle_cannot_cancel_the_task_of_its_successor(
    succession: tuple[StoreHandle, StoreHandle, store.Claim],
) -> None:
    old, _, claim = succession

    with pytest.raises(LeaseLost):
        old.cancel()

    assert look(claim.task_id).status is Status.WORKING


@pytest.mark.django_db
def test_handle_keeps_that_a_result_is_an_error(claim: store.Claim, handle: StoreHandle) -> None:
    handle.complete({"content": [{"type": "text", "text": "no paper"}], "isError": True})

    assert look(claim.task_id).outcome is Outcome.TOOL_ERROR


@pytest.mark.django_db
def test_handle_refuses_progress_that_is_no_number(handle: StoreHandle) -> None:
    with pytest.raises(ValueError, match="from 0 up"):
        handle.progress(float("nan"), 3)


@pytest.mark.django_db
def test_attempt_that_lost_its_lease_cannot_cancel_its_successor(alice: Person, clock: DatabaseClock) -> None:
    """check 112: the verb is fenced like every other write of an attempt."""
    lost = claimed(alice)
    clock.advance(timedelta(seconds=60))
    assert store.reap() == 1
    again()

    with pytest.raises(LeaseLost):
        store.give_up(lost)

    assert look(lost.task_id).status is Status.WORKING
    clock.release()
