"""Cancel: the task ends at once; its tool is told, and is gone soon, whether it listens or not."""

from __future__ import annotations

import time
from pathlib import Path
from uuid import UUID

import pytest

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.outcome import Outcome
from tasks_app.engine.schema import Function
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, cancel, ended, line_of, look, text, waits
from tests.conftest import Person
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def test_tool_that_looks_up_stops_by_itself_soon_after_a_cancel(alice: Person, ledger: str) -> None:
    """section 2 item 5: requested, acknowledged and stopped, each with its time."""
    task_id, seconds = _cancelled(alice, tools.cooperative, ledger)
    [attempt] = queries.attempts(task_id)

    assert look(task_id).outcome is Outcome.CANCELLED
    assert attempt.outcome == "stopped"
    assert seconds < 2
    assert attempt.stop_requested_at is not None
    assert attempt.stop_acknowledged_at is not None
    assert attempt.ended_at is not None
    assert attempt.stop_requested_at <= attempt.stop_acknowledged_at <= attempt.ended_at


def test_tool_that_never_looks_up_is_killed_after_the_grace_and_its_neighbour_goes_on(
    alice: Person, bo: Person, ledger: str, tmp_path: Path, gate: Path
) -> None:
    """section 2 item 5: `time.sleep(600)` ends with its process; the other slot of the worker does not notice."""
    neighbour = call(bo, tools.until_gate, ledger=str(tmp_path / "neighbour"), gate=str(gate))
    line_of(str(tmp_path / "neighbour"), "begun")

    task_id, seconds = _cancelled(alice, tools.deaf, ledger)
    until(lambda: not Path(f"/proc/{line_of(ledger, 'begun').pid}/exe").exists())
    neighbours_attempt = look(neighbour).active_attempt
    gate.unlink()

    assert attempts(task_id) == ["killed"]
    assert seconds < conf().grace + 5
    assert neighbours_attempt == 1
    assert text(ended(neighbour)) == "through the gate"
    assert attempts(neighbour) == ["completed"]


def test_tool_that_holds_the_interpreter_lock_is_killed_by_the_parent_and_its_neighbour_goes_on(
    alice: Person, bo: Person, ledger: str, tmp_path: Path, gate: Path
) -> None:
    """section 2 item 5: not even the watch of its process can run, so the parent ends it once the lease is over."""
    neighbour = call(bo, tools.until_gate, ledger=str(tmp_path / "neighbour"), gate=str(gate))
    line_of(str(tmp_path / "neighbour"), "begun")
    task_id = call(alice, tools.holds_the_lock, ledger=ledger)
    pid = line_of(ledger, "begun").pid

    cancel(alice, task_id)
    cancelled = time.monotonic()
    until(lambda: not Path(f"/proc/{pid}/exe").exists())
    seconds = time.monotonic() - cancelled
    until(lambda: attempts(task_id) == ["lost"])
    gate.unlink()

    print(f"the process was gone {seconds:.2f} s after the cancel")
    assert seconds < conf().lease + conf().grace
    assert look(task_id).outcome is Outcome.CANCELLED
    assert look(task_id).losses == 0, "the task had ended before"
    assert text(ended(neighbour)) == "through the gate"
    assert attempts(neighbour) == ["completed"]


def test_task_that_waits_is_cancelled_without_a_worker(alice: Person) -> None:
    task_id = call(alice, tools.sure)
    waits(task_id)

    cancel(alice, task_id)

    assert look(task_id).outcome is Outcome.CANCELLED
    assert attempts(task_id) == ["suspended"]
    assert [asked.state for asked in queries.questions(task_id)] == ["withdrawn"]


def test_cancel_of_a_finished_task_changes_nothing(alice: Person) -> None:
    """section 2 item 5: a completed task is unaffected."""
    task = ended(call(alice, tools.nothing))

    done = store.cancel(task.id, owner_id=alice.id, by=alice.acts())

    assert not done.happened
    assert (look(task.id).outcome, look(task.id).version) == (Outcome.RESULT, task.version)


def _cancelled(owner: Person, tool: Function, ledger: str) -> tuple[UUID, float]:
    """Run a tool until it has begun, cancel it, and give how long its attempt went on after that."""
    task_id = call(owner, tool, ledger=ledger)
    line_of(ledger, "begun")
    cancel(owner, task_id)
    cancelled = time.monotonic()
    assert look(task_id).outcome is Outcome.CANCELLED, "the task itself ends at once"
    until(lambda: attempts(task_id) != [None])
    seconds = time.monotonic() - cancelled
    print(f"the attempt ended {seconds:.2f} s after the cancel")
    return task_id, seconds
