"""Reading the task that a call names: one statement, only one's own, and not too often while it lives."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.clock import FrozenClock
from tasks_app.domain.identity import Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import background, modern, polls, pool, throttle
from tasks_app.mcp.call import Call, Methods
from tasks_app.mcp.throttle import Throttle
from tasks_app.store import queries
from tests.asgi_client import Client
from tests.conftest import Person
from tests.tasks_app.store import life

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call that the method of the test was given."""
    seen: list[Call] = []
    table = Methods(Dialect.MODERN)

    @table.method("tasks/get", scopes={Scope.READ}, names_task=True, is_poll=True)
    async def get(call: Call) -> dict[str, Any]:
        seen.append(call)
        task = await polls.polled(call)
        if task.finished_at is not None:
            await polls.note_fetch(call, task)
        return {"status": task.status.value, "result": task.result}

    monkeypatch.setattr(modern, "METHODS", table)
    return seen


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of every plan that the endpoint carries out from here on."""
    plans: list[str] = []
    carry_out = pool.run

    async def run(plan: Any) -> Any:
        plans.append(plan.__name__)
        return await carry_out(plan)

    monkeypatch.setattr(pool, "run", run)
    return plans


@pytest.fixture
def live(alice: Person) -> UUID:
    """A task of alice that nobody works on yet."""
    return life.created(alice, poll_ms=60_000).id


@pytest.fixture
def finished(alice: Person) -> UUID:
    """A task of alice that has ended."""
    return life.completed(alice)


async def test_task_is_read_by_the_statement_that_knows_the_token(
    client: Client, calls: list[Call], live: UUID
) -> None:
    answer = await client.modern("tasks/get", {"taskId": str(live)})

    assert answer.json["result"]["status"] == "working"
    assert calls[0].poll is not None
    assert calls[0].poll.task is not None
    assert calls[0].poll.task.id == live


async def test_task_is_read_for_anonymous_callers_too(settings: Settings, stranger: Client, calls: list[Call]) -> None:
    settings.TASKDECK_ALLOW_ANONYMOUS = True
    owner_id = await pool.in_thread(store.local_owner)
    made = await pool.in_thread(store.create, store.NewTask(owner_id=owner_id, tool="echo"))

    answer = await stranger.modern("tasks/get", {"taskId": str(made.task.id)})

    assert answer.json["result"]["status"] == "working"
    assert calls[0].poll is None


async def test_task_of_another_reads_like_one_that_never_was(client: Client, eve_client: Client, live: UUID) -> None:
    """Trap 16: equal byte for byte."""
    foreign = await eve_client.modern("tasks/get", {"taskId": str(live)})
    missing = await client.modern("tasks/get", {"taskId": str(uuid4())})
    garbage = await client.modern("tasks/get", {"taskId": "nonsense"})

    assert (foreign.status, foreign.body) == (missing.status, missing.body) == (400, garbage.body)
    assert foreign.error["code"] == -32602


async def test_unknown_token_with_a_real_task_is_401(stranger: Client, live: UUID) -> None:
    answer = await stranger.modern("tasks/get", {"taskId": str(live)}, headers={"authorization": "Bearer td_nobody"})

    assert answer.status == 401


async def test_other_spelling_of_an_id_is_no_id(client: Client, live: UUID) -> None:
    spellings = [str(live).upper(), live.hex, f"{{{live}}}", f" {live}", f"{live}\x00", "", "' OR 1=1 --", "%00"]

    statuses = [await client.modern("tasks/get", {"taskId": text}, headers={"mcp-name": "-"}) for text in spellings]

    assert {(answer.status, answer.error["data"]["reason"]) for answer in statuses} == {(400, "not_found")}


@pytest.mark.parametrize("task_id", [None, 7, [], {"a": 1}, True])
async def test_id_that_is_no_text_is_invalid(client: Client, task_id: Any) -> None:
    answer = await client.modern("tasks/get", {"taskId": task_id})

    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert answer.error["message"] == "`taskId` must be a string"


async def test_live_task_polled_too_fast_is_429_with_the_time_to_wait(
    client: Client, live: UUID, settings: Settings
) -> None:
    settings.TASKDECK_POLLS_BURST = 3

    answers = [await client.modern("tasks/get", {"taskId": str(live)}) for _ in range(4)]

    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[3].headers["retry-after"]) <= 15


async def test_hundred_clients_that_poll_at_once_share_the_budget_of_a_task(
    client: Client, live: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """section 2 item 7: what is too much is told when to come again, and what is read costs a few statements in all."""
    statements = counted(monkeypatch)

    answers = await asyncio.gather(*(client.modern("tasks/get", {"taskId": str(live)}) for _ in range(100)))

    told = [answer for answer in answers if answer.status == 429]
    assert len(answers) - len(told) == 30
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in told)
    assert len(statements) < 20


async def test_hundred_polls_one_after_the_other_read_no_more_than_the_budget_of_a_task(
    client: Client, live: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """section 2 item 7: reads are bounded by the budget, not only answers."""
    monkeypatch.setattr(throttle, "_current", Throttle(conf(), clock=FrozenClock().monotonic))
    statements = counted(monkeypatch)

    answers = [await client.modern("tasks/get", {"taskId": str(live)}) for _ in range(100)]
    await background.finish()

    assert [answer.status for answer in answers] == [200] * 30 + [429] * 70
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers[30:])
    assert statements.count(queries.poll_plan.__name__) == 30


async def test_stranger_is_not_told_that_a_task_is_polled_too_fast(
    client: Client, stranger: Client, eve_client: Client, live: UUID, settings: Settings
) -> None:
    settings.TASKDECK_POLLS_BURST = 1
    mine = [await client.modern("tasks/get", {"taskId": str(live)}) for _ in range(2)]

    unknown = await stranger.modern("tasks/get", {"taskId": str(live)}, headers={"authorization": "Bearer td_nobody"})
    foreign = await eve_client.modern("tasks/get", {"taskId": str(live)})

    assert [answer.status for answer in mine] == [200, 429]
    assert unknown.status == 401
    assert foreign.error["data"]["reason"] == "not_found"


async def test_finished_task_is_never_throttled(client: Client, finished: UUID, settings: Settings) -> None:
    settings.TASKDECK_POLLS_BURST = 1

    answers = [await client.modern("tasks/get", {"taskId": str(finished)}) for _ in range(5)]

    assert [answer.status for answer in answers] == [200] * 5


async def test_fetch_of_a_result_is_noted(client: Client, calls: list[Call], finished: UUID) -> None:
    await client.modern("tasks/get", {"taskId": str(finished)}, headers={"x-request-id": "r-1"})
    await client.modern("tasks/get", {"taskId": str(finished)})
    kinds = [event.kind for event in await pool.in_thread(queries.timeline, finished)]

    assert kinds.count("first_fetch") == 1
    assert [call.poll.notes_fetch for call in calls if call.poll] == [True, False]
