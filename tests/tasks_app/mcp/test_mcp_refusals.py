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
from tests.tasks_app.store import life

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


@pytest.mark.parametrize("dialect", ["modern", "legacy"])
async def test_reason_of_a_denial_is_on_record_for_operators_and_seen_by_neither_owner(
    client: Client, eve_client: Client, alice: Person, eve: Person, dialect: str
) -> None:
    """section 2 item 16: one answer for all of them, byte for byte, and a reason of its own for each."""
    foreign = await in_thread(life.created, alice)
    over = await in_thread(life.created, eve, ttl_ms=1)
    session = await eve_client.initialize()
    answers = []
    for method, task_id in (("tasks/get", foreign.id), ("tasks/cancel", over.id), ("tasks/get", uuid4())):
        params = {"taskId": str(task_id)}
        if dialect == "modern":
            answers.append(await eve_client.modern(method, params, tasks=True))
        else:
            answers.append(await eve_client.legacy(method, params, session=session))

    got, cancelled = await recorded()

    assert len({(answer.status, answer.body) for answer in answers}) == 1
    assert (got.detail["why"], got.detail["reasons"]) == ("foreign", {"foreign": 1, "unknown": 1})
    assert cancelled.detail["why"] == "expired"
    hers = (await in_thread(audit.page, audit.Wanted(scope=eve.id, kind="refused"), limit=100))[0]
    assert [entry.detail["why"] for entry in hers] == ["not_found", "not_found"]
    assert not any("reasons" in entry.detail for entry in hers)
    mine = (await in_thread(audit.page, audit.Wanted(scope=alice.id, kind="refused"), limit=100))[0]
    of_task = audit.Wanted(scope=alice.id, task_id=foreign.id, kind="refused")
    assert (mine, (await in_thread(audit.page, of_task, limit=100))[0]) == ([], [])
    everyones = (await in_thread(audit.page, audit.Wanted(scope=None, kind="refused"), limit=100))[0]
    assert {entry.detail["why"] for entry in everyones} == {"foreign", "expired"}


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
