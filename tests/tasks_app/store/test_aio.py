"""The store's plans on the asynchronous pool: the same answers as on Django's connection, through every fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import TypeVar
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from tasks_app import store
from tasks_app.domain.errors import InvalidTransition, MissingActor, NotFound, QuotaExceeded, StorageUnavailable
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import Via
from tasks_app.domain.status import Status
from tasks_app.store import NewTask, aio, db, queries
from tasks_app.store.cancel import cancel_plan
from tasks_app.store.create import create_plan
from tasks_app.store.db import Atomic, Plan, Query
from tasks_app.store.identity import authenticate_plan
from tasks_app.store.questions import NewQuestion, answer_plan
from tests.conftest import Person
from tests.tasks_app.store.life import ACCEPT, PORT, WORKER

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")


def on_pool(work: Callable[[aio.Pool], Awaitable[T]], *, size: int = 1) -> T:
    """Do something with a pool of so many connections, in an event loop of its own."""

    async def scenario() -> T:
        pool = await aio.open_pool(min_size=size, max_size=size)
        try:
            return await asyncio.wait_for(work(pool), timeout=30)
        finally:
            await pool.close()

    return asyncio.run(scenario())


def carry_out(plan: Plan[T]) -> T:
    return on_pool(lambda pool: aio.run(plan, pool))


def one(text: str) -> Plan[object]:
    """A plan of one statement, which gives its one value."""
    rows = yield Query(text)
    return rows[0][0] if rows else None


async def terminate_all(*, state: str = "idle") -> int:
    """End every connection of the pool that is in this state, as an administrator would."""
    async with await psycopg.AsyncConnection.connect(**aio._parameters()) as outside:
        text = """
            SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'pooled' AND state = %s"""
        found = await outside.execute(text, [state])
        [count] = await found.fetchone() or (0,)
    return int(count)


async def name_all(pool: aio.Pool, *, size: int) -> None:
    """Take every connection of the pool once, so that it is open and can be told from others."""
    taken = [await pool.getconn() for _ in range(size)]
    for each in taken:
        await each.execute("SET application_name = 'pooled'")
        await pool.putconn(each)


def test_create_on_the_pool_gives_a_task_that_django_reads_the_same(alice: Person) -> None:
    new = NewTask(owner_id=alice.id, tool="sum", arguments={"a": 1, "b": ["ü", None]}, key="k1", request_id="r1")

    created = carry_out(create_plan(new))

    read = queries.get(created.task.id, owner_id=alice.id)
    assert created.is_new
    assert created.task == read.with_payload(result=None, error=None, variables="{}")
    assert created.task.created_at.utcoffset() == UTC.utcoffset(None)


def test_create_with_a_known_key_on_the_pool_gives_the_task_that_django_made(alice: Person) -> None:
    new = NewTask(owner_id=alice.id, tool="sum", key="k1")
    first = store.create(new)

    second = carry_out(create_plan(new))

    assert not second.is_new
    assert second.task == first.task


def test_poll_on_the_pool_is_the_poll_on_djangos_connection(alice: Person) -> None:
    token, _ = store.create_token(alice.id, name="laptop", by=alice.acts())
    task = store.create(NewTask(owner_id=alice.id, tool="sum", arguments={"a": 1})).task

    polled = carry_out(queries.poll_plan(token, task.id))

    assert polled == queries.poll(token, task.id)
    assert polled is not None
    assert polled.task is not None
    assert polled.task.id == task.id


def test_authenticate_on_the_pool_notes_the_use(alice: Person) -> None:
    token, credential = store.create_token(alice.id, name="laptop", by=alice.acts())

    caller = carry_out(authenticate_plan(token))

    assert caller is not None
    assert (caller.owner_id, caller.credential_id) == (alice.id, credential)
    assert caller == store.authenticate(token)
    assert carry_out(one("SELECT used_at IS NOT NULL FROM tasks_credential")) is True


def test_answer_on_the_pool_wakes_the_task(alice: Person) -> None:
    store.create(NewTask(owner_id=alice.id, tool="sum"))
    held = store.claim_next(WORKER)
    assert held is not None
    store.suspend(held, [NewQuestion(name="port", request=PORT)])
    [asked] = carry_out(queries.open_questions_plan(held.task_id))

    done = carry_out(
        answer_plan(held.task_id, {asked.key: ACCEPT}, owner_id=alice.id, by=alice.acts(), via=Via.CONSOLE)
    )

    assert done.recorded == (asked.key,)
    assert queries.get(held.task_id, owner_id=alice.id).status is Status.WORKING


def test_cancel_on_the_pool_ends_the_task(alice: Person) -> None:
    task = store.create(NewTask(owner_id=alice.id, tool="sum")).task

    done = carry_out(cancel_plan(task.id, owner_id=alice.id, by=alice.acts(reason="wrong one")))

    assert done.happened
    assert queries.get(task.id, owner_id=alice.id).status is Status.CANCELLED
    [event] = [event for event in queries.timeline(task.id) if event.to_status == "cancelled"]
    assert event.actor["reason"] == "wrong one"


def test_error_of_the_domain_comes_through_the_pool(alice: Person, eve: Person) -> None:
    task = store.create(NewTask(owner_id=alice.id, tool="sum")).task

    with pytest.raises(NotFound):
        carry_out(cancel_plan(task.id, owner_id=eve.id, by=eve.acts()))


def test_quota_holds_on_the_pool_too(alice: Person, settings: Settings) -> None:
    settings.TASKDECK_LIVE_TASKS = 3
    plans = [create_plan(NewTask(owner_id=alice.id, tool="sum")) for _ in range(8)]

    async def all_at_once(pool: aio.Pool) -> list[object]:
        return list(await asyncio.gather(*(aio.run(plan, pool) for plan in plans), return_exceptions=True))

    results = on_pool(all_at_once, size=4)

    assert sum(isinstance(result, QuotaExceeded) for result in results) == 5
    assert sum(isinstance(result, store.Created) for result in results) == 3


def test_atomic_plan_that_fails_leaves_nothing(alice: Person) -> None:
    task = store.create(NewTask(owner_id=alice.id, tool="sum")).task

    def half() -> Plan[None]:
        yield Query(db.SET_ACTOR, {"actor": db.actor_json(Actor.system(via="test"))})
        yield Query("UPDATE tasks_task SET status_message = 'half' WHERE id = %(task)s", {"task": task.id})
        yield Query("UPDATE tasks_task SET attempt = 7 WHERE id = %(task)s", {"task": task.id})

    def whole() -> Plan[None]:
        yield Atomic(half())

    with pytest.raises(InvalidTransition, match="may only rise by one"):
        carry_out(whole())

    assert queries.get(task.id, owner_id=alice.id).status_message == ""


def test_write_without_an_actor_is_refused_on_the_pool(alice: Person) -> None:
    task = store.create(NewTask(owner_id=alice.id, tool="sum")).task

    with pytest.raises(MissingActor):
        carry_out(one(f"UPDATE tasks_task SET held = true WHERE id = '{task.id}'"))


def test_connections_that_were_ended_in_the_pool_are_not_noticed(alice: Person) -> None:
    async def scenario(pool: aio.Pool) -> tuple[int, list[object]]:
        await name_all(pool, size=4)
        ended = await terminate_all()
        plans = [create_plan(NewTask(owner_id=alice.id, tool="sum")) for _ in range(8)]
        return ended, [await aio.run(plan, pool) for plan in plans]

    ended, results = on_pool(scenario, size=4)

    assert ended == 4
    assert all(isinstance(result, store.Created) and result.is_new for result in results)


def test_statement_that_was_cut_off_says_so_and_the_next_one_works() -> None:
    async def scenario(pool: aio.Pool) -> tuple[object, object]:
        await name_all(pool, size=1)
        asleep = asyncio.create_task(aio.run(one("SELECT pg_sleep(4)"), pool))
        while await terminate_all(state="active") == 0:
            pass
        [cut] = await asyncio.gather(asleep, return_exceptions=True)
        return cut, await aio.run(one("SELECT 42"), pool)

    cut, after = on_pool(scenario)

    assert isinstance(cut, StorageUnavailable)
    assert after == 42


def test_statement_over_its_time_is_an_outage_and_the_connection_goes_on() -> None:
    async def scenario(pool: aio.Pool) -> object:
        await aio.run(one("SET statement_timeout = '20ms'"), pool)
        with pytest.raises(StorageUnavailable):
            await aio.run(one("SELECT pg_sleep(5)"), pool)
        return await aio.run(one("SELECT 42"), pool)

    assert on_pool(scenario) == 42


def test_server_that_never_answers_is_an_outage_and_the_pool_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pool: aio.Pool) -> object:
        await aio.run(one("SET statement_timeout = 0"), pool)
        monkeypatch.setattr(aio, "ANSWER_SECONDS", 0.2)
        with pytest.raises(StorageUnavailable):
            await aio.run(one("SELECT pg_sleep(60)"), pool)
        monkeypatch.undo()
        return await aio.run(one("SELECT 42"), pool)

    assert on_pool(scenario) == 42


def test_pool_whose_database_is_away_says_so() -> None:
    async def scenario() -> None:
        pool = aio.Pool(
            kwargs={**aio._parameters(), "dbname": f"no_{uuid4().hex}"}, min_size=1, timeout=0.2, open=False
        )
        await pool.open()
        try:
            with pytest.raises(StorageUnavailable):
                await aio.run(one("SELECT 1"), pool)
        finally:
            await pool.close()

    asyncio.run(scenario())


def test_pool_has_djangos_options() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        [expected] = cursor.fetchone()

    assert carry_out(one("SHOW statement_timeout")) == expected == "5s"
    assert carry_out(one("SHOW lock_timeout")) == "2s"
    assert carry_out(one("SHOW timezone")) == "UTC"


@pytest.mark.parametrize("error", [psycopg.OperationalError("gone"), psycopg.InterfaceError("closed")])
def test_error_of_a_lost_connection_is_an_outage(error: Exception) -> None:
    assert isinstance(db.translate(error), StorageUnavailable)


def test_error_of_ours_stays_what_it_is() -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        carry_out(one("SELECT 1 FROM no_such_table"))


def test_connection_that_was_used_last_is_used_next() -> None:
    """What its server process has at hand is worth more than an even load."""

    async def scenario(pool: aio.Pool) -> tuple[set[object], set[object]]:
        await pool.wait()
        taken = [await pool.getconn() for _ in range(4)]
        for each in taken:
            await pool.putconn(each)
        one_by_one = {await aio.run(one("SELECT pg_backend_pid()"), pool) for _ in range(8)}
        return {each.info.backend_pid for each in taken}, one_by_one

    together, one_by_one = on_pool(scenario, size=4)

    assert (len(together), len(one_by_one)) == (4, 1)
