"""The store against a dictionary: any sequence of verbs leaves the rows as the model says, and no invariant broken.

`TASKDECK_FUZZ=1` runs the long version. A failing sequence is printed with the blob that repeats it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import run_state_machine_as_test
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.identity import OwnerKind
from tests.properties.machine_rules import CallerRules, LoopRules
from tests.properties.machine_worker import LeaseRules, TokenRules
from tests.properties.observing import release_clock

IS_LONG = os.environ.get("TASKDECK_FUZZ") == "1"
EXAMPLES, STEPS = (5_000, 100) if IS_LONG else (330, 50)
LEAST_STEPS = 500_000 * 9 // 10 if IS_LONG else 10_000

KINDS = {
    "answer", "answer repeated or unknown", "answer several", "answer that does not fit", "ask 1", "ask 2", "ask 3",
    "cancel", "claim", "claim nothing", "create", "create with approval", "create with key", "expire",
    "expire questions", "extend", "fold", "hand over", "heartbeat", "hold", "killed", "let lease lapse", "output",
    "progress", "purge", "reach a retry", "reach an expiry", "reap", "release", "result", "retryable error",
    "rpc_error", "step", "stopped", "time", "tool_error", "turn", "turn without the lease", "unhold", "variables",
    "zombie write",
}  # fmt: skip

# Longer than a run takes: a failure has to be made small before it is told.
pytestmark = pytest.mark.timeout(0 if IS_LONG else 600)


class TaskMachine(CallerRules, LoopRules, LeaseRules, TokenRules):
    """Everybody at once, one after the other."""


@pytest.fixture
def owners(transactional_db: None, settings: Settings) -> Iterator[tuple[int, ...]]:
    """Two owners with few places, so that the quota is met; the clock is real again at the end."""
    settings.TASKDECK_LIVE_TASKS = 4
    yield tuple(store.find_or_make_owner(OwnerKind.USER, subject=name) for name in ("alice", "ann"))
    release_clock()


def test_store_does_what_the_model_does_in_any_order(
    owners: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten thousand steps at least; every kind of step is among them."""
    operator = store.find_or_make_owner(OwnerKind.USER, subject="bo")
    taken: Counter[str] = Counter()

    class ThisRun(TaskMachine):
        def __init__(self) -> None:
            super().__init__(owners=owners, operator=operator, taken=taken)

    run_state_machine_as_test(
        ThisRun,
        settings=hypothesis_settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=False,
            print_blob=True,
            # All but the explanation of a failure, which takes as long as making it small.
            phases=[phase for phase in Phase if phase is not Phase.explain],
            suppress_health_check=list(HealthCheck),
        ),
    )

    with capsys.disabled():
        print(f"\n{taken.total()} steps: {dict(sorted(taken.items()))}")
    assert taken.total() >= LEAST_STEPS
    assert taken.keys() == KINDS
