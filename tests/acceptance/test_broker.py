"""The broker goes away and comes back: every create succeeds meanwhile, and everything starts soon after."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from console.embedded.valkey import EmbeddedValkey
from tasks_app.store import queries
from tests.acceptance import fixture_tools as tools
from tests.acceptance.calls import attempts, call, ended
from tests.acceptance.conftest import TOOLS, is_up
from tests.conftest import DatabaseClock, Person
from tests.processes import broker_url, hint_through, start_engine, start_worker
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

# A minute is the figure that is promised; `TASKDECK_BROKER_AWAY=60` runs that.
AWAY_SECONDS = float(os.environ.get("TASKDECK_BROKER_AWAY", "5"))
PAUSE_SECONDS = AWAY_SECONDS / 50
BACK_SECONDS = 5.0


@pytest.fixture
def valkey(settings: Settings, transactional_db: None) -> Iterator[EmbeddedValkey]:
    """A broker of this test's own, with a worker and an engine loop on it."""
    with tempfile.TemporaryDirectory(prefix="taskdeck-broker-") as folder:
        server = EmbeddedValkey(Path(folder) / "valkey")
        server.start()
        settings.TASKDECK_WAKE_URL = server.channel_url
        environment = {**TOOLS, "BROKER_URL": server.broker_url, "CHANNEL_URL": server.channel_url}
        hint_through(server.broker_url)
        try:
            with start_worker(slots=2, app="console.celery", **environment) as worker, start_engine(**environment):
                until(lambda: is_up(worker), 30)
                yield server
        finally:
            server.stop()
            hint_through(broker_url())


@pytest.mark.timeout(300 + AWAY_SECONDS)
def test_creates_succeed_while_the_broker_is_away_and_all_start_soon_after_its_return(
    valkey: EmbeddedValkey, alice: Person, clock: DatabaseClock
) -> None:
    ended(call(alice, tools.nothing))
    valkey.stop()
    went = time.monotonic()
    slowest, tasks = 0.0, []

    while time.monotonic() < went + AWAY_SECONDS:
        begun = time.monotonic()
        tasks.append(call(alice, tools.nothing))
        slowest = max(slowest, time.monotonic() - begun)
        until(lambda begun=begun: time.monotonic() > begun + PAUSE_SECONDS)  # type: ignore[misc]
    returned = clock.now()
    valkey.start()
    for task_id in tasks:
        ended(task_id)

    latest = max(queries.attempts(task_id)[0].started_at for task_id in tasks)
    seconds = (latest - returned).total_seconds()
    print(f"{len(tasks)} creates, the slowest took {slowest:.3f} s; all had begun {seconds:.2f} s after the return")
    assert len(tasks) >= 20
    assert slowest < 1
    assert seconds < BACK_SECONDS
    assert {tuple(attempts(task_id)) for task_id in tasks} == {("completed",)}
