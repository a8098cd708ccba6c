"""One server with everything that the suite calls, for all scenarios: a web process, a worker and an engine loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes import start_engine, start_web, start_worker
from tests.waiting import until

READY = " ready."
SETTINGS = {
    "TASKDECK_TOOL_MODULES": "tests.conformance.fixture_tools,tests.conformance.fixture_content",
    "TASKDECK_ALLOW_ANONYMOUS": "1",
    # The suite sends as fast as it can, from one address.
    "TASKDECK_REQUESTS_PER_SECOND": "10000",
    "TASKDECK_REQUESTS_BURST": "10000",
    "TASKDECK_ADDRESS_REQUESTS_PER_SECOND": "10000",
    "TASKDECK_POLLS_BURST": "10000",
}


@pytest.fixture(scope="module")
def address(django_db_setup: None) -> Iterator[str]:
    """Where the server answers."""
    with (
        start_worker(slots=4, **SETTINGS) as worker,
        start_engine(**SETTINGS),
        start_web(**SETTINGS) as (_, origin),
    ):
        until(lambda: READY in worker.output(), 30)
        yield f"{origin}/mcp"
