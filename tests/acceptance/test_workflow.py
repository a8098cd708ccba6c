"""A workflow is the recorded steps of a task: planned, done once each, and gone on with after a failure."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection

from tasks_app.domain.outcome import Outcome
from tasks_app.engine.plan import workflow
from tasks_app.engine.registry import tool_of
from tasks_app.models.step import Step
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, ended, look, text
from tests.conftest import Person
from tests.ledger import read
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]


def test_workflow_fails_at_its_second_step_stays_working_and_completes_from_there(alice: Person, ledger: str) -> None:
    """Covers check 130, check 131 and check 133: a plan, a value for each step, and completion by itself."""
    task_id = call(alice, tools.pipeline, ledger=ledger)

    until(lambda: attempts(task_id) == ["failed"])
    paused, planned = look(task_id), _states(task_id)
    task = ended(task_id)

    assert paused.status == "working"
    assert planned == [("fetch", "done"), ("sort", "failed"), ("store", "pending")]
    assert (task.outcome, text(task)) == (Outcome.RESULT, "3")
    assert attempts(task_id) == ["failed", "completed"]
    assert _values(task_id) == {"fetch": "[3,1,2]", "sort": "[1,2,3]", "store": "3"}
    assert {state for _, state in _states(task_id)} == {"done"}
    assert [(line.what, line.attempt) for line in read(ledger)] == [("fetch", 1), ("sort", 1), ("sort", 2)]


def test_workflow_has_its_plain_result_though_the_store_failed_meanwhile(
    alice: Person, ledger: str, gate: Path
) -> None:
    """Covers check 136: an outage of the store is waited for, it does not become the end of the task."""
    task_id = call(alice, tools.writes, ledger=ledger, gate=str(gate))
    until(lambda: (look(task_id).progress_done or 0) > 2)

    for _ in range(3):
        before = look(task_id).progress_done or 0
        _cut_all_other_connections()
        until(lambda before=before: (look(task_id).progress_done or 0) > before)  # type: ignore[misc]
    gate.unlink()
    task = ended(task_id)

    assert task.outcome is Outcome.RESULT
    assert (task.losses, attempts(task_id)) == (0, ["completed"])
    assert [line.what for line in read(ledger)] == ["begun", "last"]


def _states(task_id: UUID) -> list[tuple[str, str]]:
    made = tool_of(tools.pipeline)
    done = [step.name for step in queries.steps(task_id)]
    failed = queries.attempts(task_id)[-1].failed_step
    return [(step.name, step.state.value) for step in workflow(made.steps, done, failed=failed)]


def _values(task_id: UUID) -> dict[str, str]:
    return dict(Step.objects.filter(task_id=task_id).values_list("name", "value"))


def _cut_all_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
