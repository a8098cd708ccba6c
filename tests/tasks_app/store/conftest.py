"""What every test of the store ends with: the invariants hold, whatever it did."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from tasks_app.store.invariants import violations


@pytest.fixture(autouse=True)
def invariants_hold(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test that used the database, nothing is wrong in the tables."""
    if request.node.get_closest_marker("django_db") is None:
        yield
        return
    # Asked for first, so that the tables are emptied only after the look at them.
    request.getfixturevalue("db")
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('tasks.fake_now', '', false)")
    assert violations() == []
