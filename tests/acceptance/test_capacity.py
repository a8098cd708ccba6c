"""Slots, connections and hints: what waits costs none, a task costs one attempt, an owner gets a fair share."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from celery import current_app
from django.db import connection
from pytest_django import Settings

from tasks_app.conf import conf
from tasks_app.domain.status import Status
from tasks_app.engine import hints
from tasks_app.store import queries, workers
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import answer, attempts, call, ended, line_of, look, text, waits
from tests.conftest import Person
from tests.ledger import read
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("world")]

PARKED = 1_000
ANSWERED = 50


@pytest.mark.timeout(180)
def test_thousand_tasks_that_wait_hold_no_slot_and_no_connection(
    alice: Person, bo: Person, settings: Settings, tmp_path: Path
) -> None:
    """Answers bring them back at once, by a hint: half of them sooner than a tick of the loop could."""
    settings.TASKDECK_LIVE_TASKS = 2 * PARKED
    _use_both_slots(bo, tmp_path)
    before = _connections()

    parked = [call(alice, tools.sure) for _ in range(PARKED)]
    until(lambda: _count("SELECT count(*) FROM tasks_task WHERE status = 'input_required'") == PARKED, 120)
    open_attempts = _count("SELECT count(*) FROM tasks_attempt WHERE ended_at IS NULL")
    free = workers.free_slots()
    until(lambda: _connections() <= before)
    other = ended(call(bo, tools.nothing), 5)
    seconds = sorted(_seconds_from_answer_to_running(alice, task_id) for task_id in parked[:ANSWERED])

    print(f"answer to running: p50 {1000 * seconds[ANSWERED // 2]:.0f} ms, p99 {1000 * seconds[-1]:.0f} ms")
    assert (open_attempts, free) == (0, 2)
    assert text(other) == "done"
    assert seconds[ANSWERED // 2] < conf().tick
    assert seconds[-1] < 1


def test_hints_that_come_ten_times_do_nothing_more(alice: Person, ledger: str) -> None:
    """section 2 item 13: a repeated message starts no second attempt, before, during and after the first."""
    tasks = [call(alice, tools.enters_and_leaves, ledger=ledger) for _ in range(5)]
    _hint_ten_times()
    done = [ended(task_id) for task_id in tasks]
    _hint_ten_times()
    until(_all_hints_are_read)
    marker = ended(call(alice, tools.nothing))

    assert text(marker) == "done"
    assert [attempts(task_id) for task_id in tasks] == [["completed"]] * 5
    assert [look(task.id).version for task in done] == [task.version for task in done]
    assert len(read(ledger)) == 2 * len(tasks)


def test_tool_with_a_cap_never_runs_twice_at_once_and_others_pass_it(alice: Person, ledger: str) -> None:
    """section 2 item 18: the capped tool leaves the second slot to other work."""
    capped = [call(alice, tools.one_at_a_time, ledger=ledger)]
    line_of(ledger, "enter")

    capped += [call(alice, tools.one_at_a_time, ledger=ledger) for _ in range(4)]
    other = ended(call(alice, tools.nothing))
    ended_by_then = [look(task_id).status.is_terminal for task_id in capped]
    for task_id in capped:
        ended(task_id)

    assert [line.what for line in read(ledger)] == ["enter", "leave"] * 5
    assert other.status is Status.COMPLETED
    assert not all(ended_by_then), "the other task did not wait for the capped ones"


def test_owner_with_two_tasks_does_not_wait_for_one_with_twenty(
    alice: Person, bo: Person, ledger: str, tmp_path: Path, gate: Path
) -> None:
    """section 2 item 18: whoever runs least is next, however much another has queued before."""
    for number in range(2):
        call(bo, tools.until_gate, ledger=str(tmp_path / f"slot-{number}"), gate=str(gate))
        line_of(str(tmp_path / f"slot-{number}"), "begun")
    many = [call(alice, tools.enters_and_leaves, ledger=ledger) for _ in range(20)]
    few = [call(bo, tools.enters_and_leaves, ledger=ledger) for _ in range(2)]

    gate.unlink()
    for task_id in many + few:
        ended(task_id)

    order = [UUID(line.task_id) for line in read(ledger) if line.what == "enter"]
    print("places of the two:", [order.index(task_id) for task_id in few])
    assert max(order.index(task_id) for task_id in few) < 6
    assert len(order) == 22


def _use_both_slots(owner: Person, folder: Path) -> None:
    """Both children have run something for longer than a heartbeat, so both have every connection they ever keep."""
    gate = folder / "warm"
    gate.touch()
    tasks = [call(owner, tools.until_gate, ledger=str(folder / f"warm-{n}"), gate=str(gate)) for n in range(2)]
    until(lambda: all(_is_renewed(task_id) for task_id in tasks))
    gate.unlink()
    for task_id in tasks:
        ended(task_id)


def _is_renewed(task_id: UUID) -> bool:
    found = queries.attempts(task_id)
    return bool(found) and (found[0].lease_until - found[0].started_at).total_seconds() > conf().lease


def _seconds_from_answer_to_running(owner: Person, task_id: UUID) -> float:
    asked = waits(task_id)
    answer(owner, asked, {"confirm": True})
    ended(task_id)
    [closed] = [question.closed_at for question in queries.questions(task_id)]
    assert closed is not None
    return (queries.attempts(task_id)[1].started_at - closed).total_seconds()


def _hint_ten_times() -> None:
    for _ in range(10):
        current_app.send_task(hints.DRAIN, ignore_result=True)
        hints.publish(1)


def _all_hints_are_read() -> bool:
    with current_app.connection_for_read() as broker:
        return not broker.default_channel.client.llen("taskdeck")


def _connections() -> int:
    return _count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    )


def _count(text: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return int(cursor.fetchone()[0])
