"""One worker with two slots and one engine loop for each module; after each test the tables are sound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.engine.registry import registry
from tasks_app.store.invariants import violations
from tasks_app.store.workers import live_workers
from tests.processes import Running, start_engine, start_worker
from tests.waiting import until

TOOLS = {"TASKDECK_TOOL_MODULES": "tests.acceptance.fixture_tools"}

# The tests name the tools by their functions; only the workers offer them.
with registry.temporary():
    import tests.acceptance.fixture_tools  # noqa: F401


@dataclass(frozen=True)
class World:
    """The processes that run the tasks of a module."""

    worker: Running
    engine: Running


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """A worker with two slots and an engine loop, both up."""
    with start_worker(slots=2, **TOOLS) as worker, start_engine(**TOOLS) as engine:
        with django_db_blocker.unblock():
            until(lambda: is_up(worker), 30)
        yield World(worker, engine)


def is_up(worker: Running) -> bool:
    """Whether this worker says that it takes work; the row of one that was killed stays for a while."""
    return any(f":{worker.pid}:" in row.id and not row.draining for row in live_workers())


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """Where the tools of this test write down what they did."""
    return str(tmp_path / "ledger")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A gate that is shut; a test opens it by removing it."""
    path = tmp_path / "gate"
    path.touch()
    return path


@pytest.fixture(autouse=True)
def _everything_comes_to_its_end(transactional_db: None) -> Iterator[None]:
    """What a test left running is cancelled (what waits may wait), and the invariants hold."""
    yield
    for task_id in _ids("SELECT id FROM tasks_task WHERE status = 'working'"):
        store.cancel(task_id, owner_id=None, by=Actor.system(via="test", reason="the test is over"))
    until(lambda: not _ids("SELECT task_id FROM tasks_attempt WHERE ended_at IS NULL"), 15)
    assert violations() == []
    _give_way_last()


def _give_way_last() -> None:
    """The tables are emptied while worker and loop go on. Of two that wait for each other it is they who try again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('deadlock_timeout', '10s', false) FROM pg_user WHERE usename = user AND usesuper"
        )


def _ids(text: str) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return [row[0] for row in cursor.fetchall()]
