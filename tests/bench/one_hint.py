"""What hints would be without coalescing and draining: a message for each task, and a task for each message.

Named as a tool module, so that the web process, the worker and the engine loop of a benchmark import it and behave so.
"""

from __future__ import annotations

from celery import current_app

from tasks_app import store
from tasks_app.engine import drain, hints, wake
from tasks_app.engine.run import run_attempt, settle
from tasks_app.engine.watch import Watch


def _publish(due: int, *, is_first: bool = False) -> None:
    for _ in range(due):
        current_app.send_task(hints.DRAIN, ignore_result=True, retry=False)


def _drain(claimant: store.Claimant, watch: Watch) -> int:
    claim = store.claim_next(claimant)
    if claim is None:
        return 0
    ending = run_attempt(claim, watch)
    if ending is not None:
        settle(ending, None)
    return 1


hints.publish = _publish
drain._drain = _drain
wake.taken = lambda: None
