"""Good requests made bad in any way: 500 of them here, 20,000 with `TASKDECK_FUZZ=1`.

The seed is printed; `TASKDECK_FUZZ_SEED` repeats a run.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings

from tests.fuzz.cases import Case
from tests.fuzz.mutations import bad_cases
from tests.fuzz.world import World

IS_LONG = os.environ.get("TASKDECK_FUZZ") == "1"
EXAMPLES = 20_000 if IS_LONG else 500
LOOK_EVERY = 250

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(0 if IS_LONG else 600)]


def test_any_request_is_answered_and_what_is_refused_leaves_nothing(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never a 500, never a word about the inside, never a row of a refused call, and the tables stay sound."""
    chosen = int(os.environ.get("TASKDECK_FUZZ_SEED") or secrets.randbits(64))
    with capsys.disabled():
        print(f"\nfuzz: seed {chosen}, {EXAMPLES} requests")
    statuses: Counter[int] = Counter()

    @seed(chosen)
    @hypothesis_settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(bad_cases())
    def ask(case: Case) -> None:
        answer = world.ask(case)
        statuses[answer.status] += 1
        if statuses.total() % LOOK_EVERY == 0:
            world.check()

    ask()

    # A run in which everything is refused at the door would prove little.
    assert statuses.total() >= EXAMPLES * 0.9
    assert statuses[200] > EXAMPLES // 20, statuses
    assert statuses[400] > EXAMPLES // 10, statuses
    assert len(statuses) >= 6, statuses
