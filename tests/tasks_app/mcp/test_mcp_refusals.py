"""What the endpoint refuses is put on record, without the one who was reached for seeing it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tasks_app import store
from tasks_app.domain.identity import Scope
from tasks_app.mcp.endpoint import endpoint
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Event
from tasks_app.store import audit
from tasks_app.store.refusals import ledger
from tests.asgi_client import Client
from tests.conftest import Person
from tests.tasks_app.mcp.conftest import TokenMaker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_noted() -> Iterator[None]:
    ledger.forget()
    yield
    ledger.forget()


async def recorded() -> list[Event]:
    """The refusals that are on record once everything was put there."""
    return await in_thread(lambda: [*_flushed()])


def _flushed() -> list[Event]:
    ledger.flush()
    return list(Event.objects.filter(kind="refused").order_by("id"))


async def test_anothers_task_is_recorded_for_who_asked(
    client: Client, eve_client: Client, alice: Person, eve: Person
) -> None:
    """check 99: what is told stays the same, but it leaves a trace."""
    task = (await in_thread(store.create, store.NewTask(owner_id=alice.id, tool="sum"))).task
    for _ in range(2):
        await eve_client.modern("tasks/get", {"taskId": str(task.id)}, tasks=True)
    await eve_client.modern("tasks/cancel", {"taskId": str(uuid4())}, tasks=True)

    got, cancelled = await recorded()

    assert (got.owner_id, got.task_id, got.detail["action"], got.detail["count"]) == (eve.id, None, "tasks/get", 2)
    assert got.detail["tasks"] == [str(task.id)]
    assert got.actor["credential"] == cancelled.actor["credential"]
    assert cancelled.detail["action"] == "tasks/cancel"
    seen, _ = await in_thread(audit.page, audit.Wanted(scope=alice.id), limit=100)
    assert {entry.kind for entry in seen} == {"token_created", "created"}


async def test_missing_token_is_recorded_by_address(stranger: Client) -> None:
    await stranger.modern("tasks/get", {"taskId": str(uuid4())}, tasks=True)
    await stranger.modern("tools/list")

    [event] = await recorded()

    assert (event.owner_id, event.detail["address"], event.detail["count"]) == (None, "192.0.2.1", 2)
    assert event.detail["why"] == "unauthorized"


async def test_missing_scope_is_recorded(served: None, alice: Person, make_token: TokenMaker) -> None:
    reader = Client(endpoint, token=await in_thread(make_token, alice, Scope.READ))
    answer = await reader.modern("tasks/cancel", {"taskId": str(uuid4())}, tasks=True)

    [event] = await recorded()

    assert answer.status == 403
    assert (event.owner_id, event.detail["why"]) == (alice.id, "insufficient_scope")


async def test_what_is_allowed_leaves_no_refusal(client: Client) -> None:
    await client.modern("tools/list")

    assert await recorded() == []
