"""A worker that dies, freezes or comes back too late: the task goes on elsewhere, with one result and no step twice."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tasks_app.conf import conf
from tasks_app.domain.outcome import Outcome
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, ended, line_of, look, payload, text
from tests.conftest import Person
from tests.ledger import read

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]

SOME_SECONDS = 5.0


def test_killed_worker_process_costs_one_attempt_and_no_recorded_step(alice: Person, ledger: str, gate: Path) -> None:
    """section 2 item 4, section 2 item 13: kill -9 in a step; the attempts show it, the ledger proves it."""
    task_id = call(alice, tools.three_steps, ledger=ledger, gate=str(gate))
    begun = line_of(ledger, "two-begun")

    os.kill(begun.pid, signal.SIGKILL)
    killed = time.monotonic()
    again = line_of(ledger, "two-begun", attempt=2)
    gate.unlink()
    task = ended(task_id)

    print(f"the second attempt began {again.at - killed:.2f} s after the kill")
    assert again.at - killed < conf().lease + conf().reap_every + SOME_SECONDS
    assert payload(task)["content"][0]["text"] == '["one", "two", "three"]'
    assert (task.losses, attempts(task_id)) == (1, ["lost", "completed"])
    did = [(line.what, line.attempt) for line in read(ledger)]
    assert did == [("one", 1), ("two-begun", 1), ("two-begun", 2), ("two", 2), ("three", 2)]


def test_tool_that_takes_its_process_down_fails_after_three_losses_and_its_neighbour_does_not_notice(
    alice: Person, bo: Person, ledger: str, tmp_path: Path, gate: Path
) -> None:
    neighbour = call(bo, tools.until_gate, ledger=str(tmp_path / "neighbour"), gate=str(gate))
    line_of(str(tmp_path / "neighbour"), "begun")

    task = ended(call(alice, tools.poison, ledger=ledger), 40)
    is_running = look(neighbour).active_attempt
    gate.unlink()

    assert task.outcome is Outcome.RPC_ERROR
    assert (payload(task)["code"], payload(task)["data"]) == (-32603, {"reason": "lost"})
    assert attempts(task.id) == ["lost", "lost", "lost"]
    assert [line.attempt for line in read(ledger)] == [1, 2, 3]
    assert is_running == 1
    assert text(ended(neighbour)) == "through the gate"
    assert attempts(neighbour) == ["completed"]


def test_new_work_runs_at_once_after_a_process_was_lost(alice: Person, ledger: str) -> None:
    ended(call(alice, tools.poison, ledger=ledger), 40)

    assert [text(ended(call(alice, tools.nothing), 5)) for _ in range(4)] == ["done"] * 4
