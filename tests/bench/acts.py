"""What is measured of the store, and the bare rows beside it. Imported once Django is set up."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import connection

from tasks_app import store
from tasks_app.domain.identity import Actor, new_task_id
from tasks_app.models import Task
from tasks_app.models.rules import DatabaseNow
from tasks_app.store import NewTask, aio
from tasks_app.store.create import create_plan
from tasks_app.store.queries import poll_plan
from tasks_app.store.rows import COLUMNS
from tasks_app.store.seed import Plot, load

OWNERS = 50
POLLED = 2000
ARGUMENTS = {"customer": "c-1", "region": "eu-north", "items": [1, 2, 3]}
LABELS = {"customer": "c-1", "region": "eu-north"}
RESULT = {"content": [{"type": "text", "text": "done"}], "isError": False}
BY = Actor.system(via="bench")
WORKER = store.Claimant("bench:1:a")

_COLUMNS = ", ".join(COLUMNS)
# As wide as the task, with its primary key and nothing else. And the same rows that a task leaves, with their indexes:
# task, event, tally; no rule, no trigger, no choice.
BARE_TABLES = """
DROP TABLE IF EXISTS bench_row, bench_task, bench_event, bench_tally;
CREATE TABLE bench_row (LIKE tasks_task INCLUDING DEFAULTS);
INSERT INTO bench_row SELECT * FROM tasks_task;
ALTER TABLE bench_row ADD PRIMARY KEY (id);
CREATE TABLE bench_task (LIKE tasks_task INCLUDING DEFAULTS INCLUDING INDEXES);
INSERT INTO bench_task SELECT * FROM tasks_task;
CREATE TABLE bench_event (LIKE tasks_event INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES);
CREATE TABLE bench_tally (LIKE tasks_tally INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES)
"""
_INSERT = f"""
INSERT INTO {{name}}
    (id, owner_id, slot, tool, arguments, labels, created_at, updated_at, status_at, wake_at, expires_at)
VALUES (%(id)s, %(owner)s, %(slot)s, 'bench', %(arguments)s, %(labels)s::jsonb, now(), now(), now(), now(),
        now() + interval '1 hour')
RETURNING {_COLUMNS}
"""
BARE_ROW = _INSERT.format(name="bench_row")
BARE_ROWS = f"""
WITH t AS ({_INSERT.format(name="bench_task")}),
e AS (INSERT INTO bench_event (task_id, owner_id, kind, to_status, attempt, actor)
      SELECT id, owner_id, 'created', status, attempt, '{{"kind": "owner"}}' FROM t),
y AS (INSERT INTO bench_tally (owner_id, tool, entered, bytes) SELECT owner_id, tool, status, 50 FROM t)
SELECT {_COLUMNS} FROM t
"""
BARE_GET = f"SELECT {_COLUMNS}, result, error, variables FROM bench_row WHERE id = %(id)s"

Act = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Cast:
    """Who is there: owners with a token each, and tasks to poll."""

    tokens: dict[int, str]
    tasks: list[tuple[UUID, int]]


def fill(size: int) -> Cast:
    """Seed the tables up to this size, copy the tasks to the bare table, and make the tokens."""
    missing = size - Task.objects.count()
    if missing > 0:
        for _ in load(Plot(tasks=missing, owners=OWNERS, seed=size)):
            pass
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(BARE_TABLES)
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")
    lasting = Task.objects.filter(expires_at__gt=DatabaseNow() + timedelta(hours=1))
    tasks = list(lasting.order_by("?").values_list("id", "owner_id")[:POLLED])
    owners = {owner_id for _, owner_id in tasks}
    return Cast({owner: store.create_token(owner, name="bench", by=BY)[0] for owner in owners}, tasks)


def acts(pool: aio.Pool, cast: Cast) -> dict[str, Act]:
    """Each is one operation that checks what came back."""
    owners = itertools.cycle(cast.tokens)

    async def create() -> None:
        created = await aio.run(create_plan(NewTask(owner_id=next(owners), tool="bench", arguments=ARGUMENTS)), pool)
        assert created.is_new

    async def get() -> None:
        task_id, owner_id = random.choice(cast.tasks)
        polled = await aio.run(poll_plan(cast.tokens[owner_id], task_id), pool)
        assert polled is not None
        assert polled.task is not None
        assert polled.task.id == task_id

    async def insert(text: str) -> None:
        given = {"slot": random.randrange(2**31), "arguments": json.dumps(ARGUMENTS), "labels": json.dumps(LABELS)}
        async with pool.connection() as taken:
            cursor = await taken.execute(text, {"id": new_task_id(), "owner": next(owners), **given})
            row = await cursor.fetchone()
        assert row is not None

    async def bare_get() -> None:
        task_id, _ = random.choice(cast.tasks)
        async with pool.connection() as taken:
            row = await (await taken.execute(BARE_GET, {"id": task_id})).fetchone()
        assert row is not None
        assert row[0] == task_id

    return {
        "one bare row": partial(insert, BARE_ROW),
        "bare rows of a task": partial(insert, BARE_ROWS),
        "create": create,
        "one bare get": bare_get,
        "get": get,
    }


def life(cast: Cast) -> Callable[[], None]:
    """The whole life of a task, by a caller and a worker in one: create, claim, complete. On Django's connection."""
    owners = itertools.cycle(cast.tokens)

    def act() -> None:
        store.create(NewTask(owner_id=next(owners), tool="bench", arguments=ARGUMENTS))
        held = store.claim_next(WORKER)
        assert held is not None
        assert store.complete(held, result=RESULT).status.is_terminal

    return act
