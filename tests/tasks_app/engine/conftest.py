"""What tests that declare tools share: a registry of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks_app.engine.registry import Registry, registry


@pytest.fixture
def own_registry() -> Iterator[Registry]:
    """An empty registry, so that tools declared by one test are not seen by another."""
    with registry.temporary() as empty:
        yield empty
