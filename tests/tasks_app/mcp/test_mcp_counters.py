"""What a web process counts of the requests that it answers: by method and code, with labels from a closed set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks_app import counters
from tests.asgi_client import Client

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What other tests asked is not counted."""
    counters.reset()
    yield
    counters.reset()


async def test_request_is_counted_with_its_method_code_and_status(client: Client, stranger: Client) -> None:
    """section 2 item 16: the wire says little, the numbers tell denials apart."""
    await client.modern("tools/list")
    await client.modern("tasks/get", {"taskId": "0" * 32}, tasks=True)
    await client.modern("no/such/method")
    await stranger.modern("tools/list")

    found = counters.requests()

    assert found["tools/list", "ok", 200] == 1
    assert sum(count for (method, code, _), count in found.items() if (method, code) == ("tasks/get", "-32602")) == 1
    assert sum(count for (method, *_), count in found.items() if method == counters.OTHER) == 1
    assert sum(count for (method, _, status), count in found.items() if status == 401) == 1
