"""How Postgres carries out the statements that matter, on tables with many rows: by an index, never by reading a table.

Each statement is looked at twice: planned for its parameters, and planned once for all, as a prepared statement is
after a few uses. What is asked is the store's own function; the statements are those that it really sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import QuestionState
from tasks_app.domain.status import Status
from tasks_app.models import Credential, Expiration, Question, Task
from tasks_app.store import NewTask, audit, expirations, inbox, queries, search, workers
from tasks_app.store.db import rows, run
from tasks_app.store.follow import standing_plan
from tasks_app.store.hidden import cancel_abandoned
from tasks_app.store.seed import Plot, load
from tests.conftest import DatabaseClock

TASKS = 20_000
LARGE = {"tasks_task", "tasks_event", "tasks_question", "tasks_attempt", "tasks_expiration"}
WORKER = store.Claimant("host:1:a", {"crawl_site": 1000})
BY = Actor.system(via="test")

# The Inbox: what is open, the soonest deadline first, from a place.
INBOX = """
SELECT q.id, q.task_id, q.key FROM tasks_question q
 WHERE q.state = 'open' AND (q.expires_at, q.id) > (%(at)s, %(id)s) ORDER BY q.expires_at, q.id LIMIT 50
"""


@dataclass(frozen=True)
class Sample:
    """Some rows of the seeded tables."""

    owner_id: int
    task_id: UUID
    place: queries.Cursor
    waiting_id: UUID
    token: str


Ask = Callable[[Sample], object]


@pytest.fixture(scope="module")
def seeded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Sample]:
    """Twenty thousand tasks, committed and analysed, and gone at the end."""
    with django_db_blocker.unblock():
        # Where the rows lie decides how they are read: never between what earlier tests left behind.
        call_command("flush", interactive=False, verbosity=0)
        for _ in load(Plot(tasks=TASKS, owners=20, seed=1)):
            pass
        with connection.cursor() as cursor:
            # What the visibility map and the statistics of a table in use look like, however busy the machine is.
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("VACUUM (ANALYZE) tasks_task, tasks_event, tasks_attempt, tasks_question, tasks_expiration")
            cursor.execute("RESET statement_timeout")
        try:
            yield _sample()
        finally:
            call_command("flush", interactive=False, verbosity=0)


def _sample() -> Sample:
    task = Task.objects.filter(outcome="result", expired_at=None).order_by("created_at")[100]
    waiting = Question.objects.filter(state="open").order_by("id")[0]
    token, _ = store.create_token(task.owner_id, name="test", by=BY)
    return Sample(
        task.owner_id, task.id, queries.Cursor(task.created_at, task.id), waiting.task_id, token
    )  # fmt: skip


def _search_place(sample: Sample) -> search.Place:
    return search.Place(sample.place.created_at, sample.place.id)


ALL = expirations.Wanted(scope=None)
EVERYTHING = audit.Wanted(scope=None)
CASES: dict[str, tuple[Ask, str]] = {
    "poll": (lambda s: queries.poll(s.token, s.task_id), "tasks_task_pkey"),
    "get": (lambda s: queries.get(s.task_id, owner_id=s.owner_id), "tasks_task_pkey"),
    "create": (lambda s: store.create(NewTask(owner_id=s.owner_id, tool="sum")), "task_live_slot"),
    "by key": (lambda s: _twice(NewTask(owner_id=s.owner_id, tool="sum", key="k")), "task_idempotency"),
    "claim": (lambda s: store.claim_next(WORKER), "task_due"),
    "count of what is due": (lambda s: workers.due_count(older_than=0.2, limit=100), "task_due"),
    "oldest due": (lambda s: workers.oldest_due_seconds(), "task_due"),
    "oldest that could be claimed": (lambda s: workers.oldest_claimable_seconds({"echo": 1}), "task_due"),
    "where an owner's tasks stand": (
        lambda s: run(standing_plan(owner_id=s.owner_id, since=s.place.created_at)), "task_live_slot",
    ),
    "page of an owner": (lambda s: queries.page(owner_id=s.owner_id, limit=50), "task_owner"),
    "page of everyone": (lambda s: queries.page(owner_id=None, limit=50), "task_recent"),
    "page of an owner from a place": (
        lambda s: queries.page(owner_id=s.owner_id, after=s.place, limit=50), "task_owner",
    ),
    "page of everyone from a place": (lambda s: queries.page(owner_id=None, after=s.place, limit=50), "task_recent"),
    "page of an owner up to a place": (
        lambda s: search.find_before(search.Filter(), owner_id=s.owner_id, before=_search_place(s), limit=50),
        "task_owner",
    ),
    "page of everyone up to a place": (
        lambda s: search.find_before(search.Filter(), owner_id=None, before=_search_place(s), limit=50), "task_recent",
    ),
    "page of an owner by status": (
        lambda s: queries.page(owner_id=s.owner_id, limit=50, statuses=[Status.COMPLETED]), "task_owner",
    ),
    "search by argument": (
        lambda s: search.find(search.Filter(labels=(("batch", search.Term(("777",))),)), owner_id=None, limit=50),
        "task_labels",
    ),
    "search by the beginning of an id": (
        lambda s: search.find(search.Filter(ids=(search.Term((str(s.task_id)[:8],)),)), owner_id=None, limit=50),
        "tasks_task_pkey",
    ),
    "expirations of everyone": (lambda s: expirations.page(ALL, limit=50), "expiration_recent"),
    "expirations of an owner": (
        lambda s: expirations.page(expirations.Wanted(scope=s.owner_id), limit=50), "expiration_owner",
    ),
    "expirations that nobody read": (
        lambda s: expirations.page(expirations.Wanted(scope=None, kind=expirations.Kind.UNFETCHED), limit=50),
        "expiration_unfetched",
    ),
    "tools of all records": (lambda s: expirations.tools(None), "expiration_tool"),
    "tools of an owner's records": (lambda s: expirations.tools(s.owner_id), "expiration_owner"),
    "record of a task": (lambda s: expirations.record_of(s.task_id, owner_id=None), "tasks_expiration_pkey"),
    "audit log of everyone": (lambda s: audit.page(EVERYTHING, limit=100), "tasks_event_pkey"),
    "audit log of a task": (
        lambda s: audit.page(audit.Wanted(scope=s.owner_id, task_id=s.task_id), limit=100), "event_task",
    ),
    "audit log by person": (lambda s: audit.page(audit.Wanted(scope=None, people=(77,)), limit=100), "event_person"),
    "audit log by a rare action": (
        lambda s: audit.page(audit.Wanted(scope=None, kind="token_revoked"), limit=100), "event_rare",
    ),
    "audit log of a time": (
        lambda s: audit.page(
            audit.Wanted(scope=None, since=s.place.created_at, until=s.place.created_at + timedelta(minutes=1)),
            limit=100,
        ),
        "tasks_event_pkey",
    ),
    "reap": (lambda s: store.reap(), "attempt_one_open"),
    "deadlines of questions": (lambda s: store.expire_questions(), "question_open"),
    "open questions of a task": (lambda s: queries.open_questions(s.waiting_id), "question_name_once"),
    "inbox": (lambda s: rows(INBOX, {"at": s.place.created_at, "id": 0}), "question_open"),
    "inbox of everyone": (
        lambda s: inbox.page(QuestionState.OPEN, owner_id=None, sees_approvals=True, limit=50), "question_open",
    ),
    "what was answered": (
        lambda s: inbox.page(QuestionState.ANSWERED, owner_id=None, sees_approvals=True, limit=50), "question_closed",
    ),
    "what ran out": (
        lambda s: inbox.page(QuestionState.EXPIRED, owner_id=None, sees_approvals=True, limit=50), "question_closed",
    ),
    "by what a list of what ran out can be narrowed": (
        lambda s: inbox.facets(QuestionState.EXPIRED, owner_id=None, sees_approvals=True), "question_closed",
    ),
    "approvals that wait": (lambda s: inbox.waiting(s.owner_id, approvals=True), "question_approval"),
    "timeline": (lambda s: queries.timeline(s.task_id), "event_task"),
    "attempts of a task": (lambda s: queries.attempts(s.task_id), "tasks_attempt_pkey"),
    "first fetch": (lambda s: store.record_fetch(s.task_id, credential_id=1), "tasks_fetch_pkey"),
    "cancel": (lambda s: store.cancel(s.waiting_id, owner_id=None, by=BY), "question_name_once"),
    "extend": (lambda s: store.extend(s.task_id, more=timedelta(hours=1), owner_id=None, by=BY), "tasks_task_pkey"),
}  # fmt: skip

SWEEPS: dict[str, tuple[Callable[[], int], timedelta, str]] = {
    "expire": (store.expire, timedelta(hours=30), "task_expiry"),
    "purge": (store.purge, timedelta(days=9), "task_purge"),
}


def _twice(new: NewTask) -> None:
    store.create(new)
    assert not store.create(new).is_new


def statements_of(ask: Callable[[], object]) -> list[tuple[str, Mapping[str, Any]]]:
    """What the store sends when it is asked this; none of it stays."""
    sent: list[tuple[str, Mapping[str, Any]]] = []

    def listen(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params or {}))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        ask()
    return [each for each in sent if re.match(r"\s*(SELECT|WITH|UPDATE|INSERT|DELETE)", each[0])]


def plan_for_these(text: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """How the statement is carried out with these parameters."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {text}", params)
        return _plan(cursor.fetchone())


def plan_for_any(text: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """How the statement is carried out once it is prepared for whatever parameters come."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", text).replace("%%", "%")
    given = f"({', '.join('NULL' for _ in names)})" if names else ""
    types = ", ".join(_type_of(params[name]) for name in names)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE looked_at{f'({types})' if names else ''} AS {numbered}")
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE looked_at{given}")
        found = cursor.fetchone()
        cursor.execute("DEALLOCATE looked_at")
    return _plan(found)


def _type_of(value: Any) -> str:
    """As psycopg tells it to the server: numbers and lists by type, text as what the statement makes of it."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, list):
        return "uuid[]" if value and isinstance(value[0], UUID) else "text[]"
    return {int: "bigint", float: "float8", UUID: "uuid", bytes: "bytea"}.get(type(value), "unknown")


def _plan(row: tuple[Any, ...]) -> dict[str, Any]:
    found = row[0] if not isinstance(row[0], str) else json.loads(row[0])
    return found[0]["Plan"]  # type: ignore[no-any-return]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every step of a plan."""
    yield plan
    for each in plan.get("Plans", []):
        yield from nodes(each)


def read_whole(plan: dict[str, Any]) -> set[str]:
    """The large tables that a plan reads from end to end."""
    return {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"} & LARGE


def indexes(plan: dict[str, Any]) -> set[str]:
    """The indexes that a plan uses, also to find out what is there already."""
    arbiters = {name for node in nodes(plan) for name in node.get("Conflict Arbiter Indexes", [])}
    return arbiters | {node["Index Name"] for node in nodes(plan) if "Index Name" in node}


@pytest.mark.parametrize("planned", [plan_for_these, plan_for_any])
@pytest.mark.parametrize("case", CASES)
def test_statement_uses_its_index_and_reads_no_table_from_end_to_end(
    seeded: Sample, db: None, case: str, planned: Callable[[str, Mapping[str, Any]], dict[str, Any]]
) -> None:
    ask, index = CASES[case]

    plans = [planned(*statement) for statement in statements_of(lambda: ask(seeded))]

    assert plans
    assert [read_whole(plan) for plan in plans] == [set()] * len(plans)
    assert index in set().union(*map(indexes, plans))


@pytest.mark.parametrize("planned", [plan_for_these, plan_for_any])
@pytest.mark.parametrize("case", SWEEPS)
def test_sweep_uses_its_index_and_reads_no_table_from_end_to_end(
    seeded: Sample, clock: DatabaseClock, case: str, planned: Callable[[str, Mapping[str, Any]], dict[str, Any]]
) -> None:
    sweep, later, index = SWEEPS[case]
    clock.advance(later)
    done: list[int] = []

    plans = [planned(*statement) for statement in statements_of(lambda: done.append(sweep()))]

    assert done[0] > 400
    assert [read_whole(plan) for plan in plans] == [set()] * len(plans)
    assert index in set().union(*map(indexes, plans))


QUIET: dict[str, Callable[[], object]] = {
    "claim": lambda: store.claim_next(WORKER),
    "count of what is due": lambda: workers.due_count(older_than=0.2, limit=2),
    "oldest due": workers.oldest_due_seconds,
    "oldest that could be claimed": lambda: workers.oldest_claimable_seconds({"echo": 1}),
    "free slots": workers.free_slots,
    "beat of a worker": lambda: workers.beat("host:1:a", slots=2, draining=False),
    "reap": store.reap,
    "deadlines of questions": store.expire_questions,
    "hidden tasks that nobody waits for": cancel_abandoned,
    "expire": store.expire,
    "purge": store.purge,
}


@pytest.fixture
def quiet(seeded: Sample, db: None) -> None:
    """Everything has ended, and the tables were analysed since: no task is due, so nothing is known of when."""
    for task_id in Task.objects.filter(finished_at=None).values_list("id", flat=True):
        store.cancel(task_id, owner_id=None, by=BY)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("UPDATE tasks_attempt SET ended_at = tasks_now(), outcome = 'stopped' WHERE ended_at IS NULL")
        cursor.execute("ANALYZE tasks_task, tasks_attempt, tasks_question")


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("planned", [plan_for_these, plan_for_any])
def test_what_is_asked_all_the_time_reads_no_table_when_all_is_quiet(
    planned: Callable[[str, Mapping[str, Any]], dict[str, Any]],
) -> None:
    """An idle server must cost nothing, however many tasks it has behind it."""
    whole = {case: [read_whole(planned(*statement)) for statement in statements_of(ask)] for case, ask in QUIET.items()}

    assert {case: found for case, found in whole.items() if any(found)} == {}


def test_claim_looks_at_a_hundred_due_tasks_and_no_more(seeded: Sample, db: None) -> None:
    [(text, params)] = statements_of(lambda: store.claim_next(WORKER))

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM tasks_task WHERE wake_at <= tasks_now()")
        [due] = cursor.fetchone()
        # Of so few, reading all and sorting costs about the same, and is chosen at times; in order is how it must end.
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", params)
        plan = _plan(cursor.fetchone())

    scanned = [node["Actual Rows"] for node in nodes(plan) if node.get("Index Name") == "task_due"]
    assert due > 150
    assert scanned == [100]


def test_seeded_tables_hold_what_the_plans_are_judged_by(seeded: Sample, db: None) -> None:
    assert Task.objects.count() == TASKS
    assert Question.objects.filter(state="open").count() > 100
    assert Expiration.objects.count() > 1000
    assert Credential.objects.filter(owner_id=seeded.owner_id).exists()
