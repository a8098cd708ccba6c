"""The world that the cases of this folder are sent to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module

import pytest
from pytest_django import Settings

import console.celery  # noqa: F401 - hints go to the broker of the tests
from tasks_app.engine.content import content
from tasks_app.engine.registry import registry
from tasks_app.mcp import http, throttle
from tasks_app.tools import results
from tests.conftest import Person
from tests.fuzz.world import World

TOOLS = "tests.tasks_app.mcp.modern_tools"
PLENTY = 1_000_000


@pytest.fixture
def patience(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody is asked to go slower, and nobody is waited for: every case shall be read, and soon."""
    for name in ("REQUESTS_PER_SECOND", "REQUESTS_BURST", "ADDRESS_REQUESTS_PER_SECOND", "POLLS_BURST", "LIVE_TASKS"):
        setattr(settings, f"TASKDECK_{name}", PLENTY)
    settings.TASKDECK_SYNC_BUDGET = 0.02
    monkeypatch.setattr(http, "READ_SECONDS", 0.05)
    throttle.forget()
    yield
    throttle.forget()


@pytest.fixture
def world(transactional_db: None, alice: Person, eve: Person, patience: None) -> Iterator[World]:
    """The endpoint with tools and tasks; at the end the tables are sound."""
    with registry.temporary(), content.temporary():
        sys.modules.pop(TOOLS, None)
        import_module(TOOLS)
        results.declare("get_task_result")
        with World(alice, eve) as world:
            yield world
            world.check()
        sys.modules.pop(TOOLS, None)
