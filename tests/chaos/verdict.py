"""The verdict on a chaos run: what the clients know, what the tables say and what the ledger proves, side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from tasks_app.store.db import rows
from tasks_app.store.invariants import violations
from tests.chaos.load import Journal
from tests.ledger import Line, read

# What each tool does once before it can end with a result.
STEPS = {
    "work": ("part-0",),
    "work_async": ("first", "second"),
    "talk": ("before", "after"),
    "hurry": ("before", "after"),
    "flaky": ("only",),
    "storm": ("only",),
}
# An attempt that ended so may have done a step that it could not record.
CUT_SHORT = {"lost", "released", "killed", "stopped", "timed_out", "failed"}


def everything_wrong(journal: Journal, ledger: Path) -> list[str]:
    """Every broken promise, in words; empty when the run was good."""
    done = _ledger_by_task(ledger)
    return [
        *journal.wrong,
        *journal.witness.wrong,
        *journal.witness.undeclared(),
        *_unresolved(journal),
        *_unfinished(),
        *_poisoned(),
        *(f"invariant: {broken.invariant}: {', '.join(broken.examples)}" for broken in violations()),
        *_never_done(done),
        *_done_again(done),
    ]


def unfinished() -> int:
    """How many tasks have no outcome yet, or an attempt that is still open."""
    return len(list(_unfinished()))


def outcomes() -> Counter[str]:
    """How many tasks ended how."""
    return Counter(dict(rows("SELECT coalesce(outcome, 'none'), count(*) FROM tasks_task GROUP BY 1")))


def attempt_ends() -> Counter[str]:
    """How many attempts ended how."""
    return Counter(dict(rows("SELECT coalesce(outcome, 'open'), count(*) FROM tasks_attempt GROUP BY 1")))


def double_records() -> int:
    """How many tasks have more than one closing event, or more than one completed attempt (L3)."""
    text = """
    SELECT task_id FROM tasks_event
     WHERE to_status IN ('completed', 'failed', 'cancelled') GROUP BY 1 HAVING count(*) > 1
    UNION SELECT task_id FROM tasks_attempt WHERE outcome = 'completed' GROUP BY 1 HAVING count(*) > 1"""
    return len(rows(text))


def repeated_steps(ledger: Path) -> int:
    """How many steps ran more than once."""
    counted = Counter((line.task_id, line.what) for line in read(ledger))
    return sum(1 for times in counted.values() if times > 1)


def _unresolved(journal: Journal) -> Iterator[str]:
    """J1: every acknowledged create is there, once, under its key."""
    found: dict[UUID, str] = dict(rows("SELECT id, idempotency_key FROM tasks_task"))
    for key, task_id in journal.accepted.items():
        # The key of a task that has expired is free again, and its row is purged in time.
        if task_id not in journal.short_lived and found.get(task_id) != key:
            yield f"the acknowledged task {task_id} of {key} is not there"


def _unfinished() -> Iterator[str]:
    text = """
    SELECT t.id, t.tool, t.status FROM tasks_task t WHERE t.finished_at IS NULL
       OR EXISTS (SELECT 1 FROM tasks_attempt a WHERE a.task_id = t.id AND a.ended_at IS NULL)"""
    for task_id, tool, status in rows(text):
        yield f"the task {task_id} ({tool}) has not come to its end: {status}"


def _poisoned() -> Iterator[str]:
    text = (
        "SELECT id, outcome, losses FROM tasks_task WHERE tool = 'poison' AND (outcome <> 'rpc_error' OR losses <> 3)"
    )
    for task_id, outcome, losses in rows(text):
        yield f"C20: the poison {task_id} ended as {outcome} after {losses} losses"


def _never_done(done: dict[UUID, list[Line]]) -> Iterator[str]:
    """L1: what has a result was really done."""
    for task_id, tool in rows("SELECT id, tool FROM tasks_task WHERE outcome = 'result'"):
        missing = set(STEPS.get(tool, ())) - {line.what for line in done[task_id]}
        if missing:
            yield f"L1: {task_id} ({tool}) has a result, but never did {', '.join(sorted(missing))}"


def _done_again(done: dict[UUID, list[Line]]) -> Iterator[str]:
    """L2: a step runs again only when the attempt that ran it was cut short before the step was recorded."""
    stored = {
        (task_id, name): attempt for task_id, name, attempt in rows("SELECT task_id, name, attempt FROM tasks_step")
    }
    ends = {
        (task_id, number): end for task_id, number, end in rows("SELECT task_id, number, outcome FROM tasks_attempt")
    }
    for task_id, lines in done.items():
        for line in lines:
            recorded = stored.get((task_id, line.what))
            if recorded is None or line.attempt == recorded:
                continue
            if line.attempt > recorded:
                yield f"L2: {task_id} did {line.what} in attempt {line.attempt}, though {recorded} had recorded it"
            elif ends.get((task_id, line.attempt)) not in CUT_SHORT:
                yield f"L2: {task_id} did {line.what} in attempt {line.attempt}, which was not cut short"
        yield from _twice_in_one_attempt(task_id, lines)


def _twice_in_one_attempt(task_id: UUID, lines: list[Line]) -> Iterator[str]:
    for (what, attempt), times in Counter((line.what, line.attempt) for line in lines).items():
        if times > 1:
            yield f"L2: {task_id} did {what} {times} times in attempt {attempt}"


def _ledger_by_task(ledger: Path) -> dict[UUID, list[Line]]:
    done: dict[UUID, list[Line]] = defaultdict(list)
    for line in read(ledger):
        done[UUID(line.task_id)].append(line)
    return done
