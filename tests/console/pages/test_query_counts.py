"""How many questions each page asks the database: the same number whether there are few tasks or ten thousand.

A page is read as somebody who sees everyone's tasks. The pages come from the resolver: a new one fails until its
number stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from console.pages import alarms
from tasks_app.store import seed
from tasks_app.store.db import row
from tests.console.authorization.table import TABLE
from tests.console.authorization.world import named_parts, routes
from tests.console.pages.people import Someone

pytestmark = pytest.mark.django_db
FEW, MANY = 1_000, 10_000
# Session, account, owner and roles are four of each.
PINNED = {
    "audit": 13,
    "connect": 8,
    "connect_check": 6,
    "expirations": 15,
    "expirations_expired": 18,
    "expirations_purged": 14,
    "first_steps": 6,
    "home": 4,
    "inbox": 19,
    "inbox_count": 6,
    "log": 6,
    "overview": 14,
    "palette": 6,
    "password": 5,
    "policy": 13,
    "question": 19,
    "question_state": 7,
    "raw": 5,
    "settings": 7,
    "suggestions": 4,
    "task": 17,
    "task_rows": 5,
    "tasks": 16,
    "tool": 9,
    "tools": 9,
    "trouble": 4,
    "webhook_state": 6,
    "webhooks": 8,
}
# One less where no row that happens to be shown has a token whose name must be known.
SOMETIMES_LESS = {"expirations_expired"}
# They answer without a session, and ask elsewhere or nothing.
NOT_COUNTED = {"login", "login_link", "healthz", "readyz", "metrics", "export_manifest"}
PAGES = sorted(name for name, expected in TABLE.items() if "GET" in expected.takes and name not in NOT_COUNTED)
SOME_TASK = """
SELECT t.id, q.key FROM tasks_task t JOIN tasks_question q ON q.task_id = t.id
 WHERE q.state = 'open' AND q.audience = 'owner' ORDER BY t.created_at, t.id LIMIT 1
"""


@pytest.fixture(scope="module")
def counted(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[int, dict[str, int]]]:
    """How many statements each page took, by how many tasks there were."""
    alarms.memory.keep((), seconds=3600)  # as before each test
    with django_db_blocker.unblock(), transaction.atomic():
        root = Someone("root", "admin")
        counts = {}
        for number, tasks in enumerate((FEW, MANY - FEW)):
            for _ in seed.load(seed.Plot(tasks=tasks, owners=10, seed=number)):
                pass
            counts[tasks] = {name: _count(root, name) for name in PAGES}
        yield {FEW: counts[FEW], MANY: counts[MANY - FEW]}
        transaction.set_rollback(True)


def _count(root: Someone, name: str) -> int:
    task_id, key = row(SOME_TASK) or ("", "")
    known: dict[str, Any] = {"task_id": task_id, "key": key, "name": "hash_files", "part": "arguments"}
    address = reverse(name, kwargs={part: known[part] for part in named_parts(routes()[name])})
    with CaptureQueriesContext(connection) as asked:
        answer = root.browser.get(address + "?scope=all")
    assert answer.status_code in {200, 204, 302}, (address, answer.status_code)
    return sum(1 for query in asked.captured_queries if "SAVEPOINT" not in query["sql"])


def test_every_page_has_its_number(counted: dict[int, dict[str, int]]) -> None:
    less = {name for name, number in counted[MANY].items() if number == PINNED.get(name, 0) - 1}

    assert less <= SOMETIMES_LESS
    assert counted[MANY] | {name: PINNED[name] for name in less} == PINNED


def test_pages_ask_as_often_with_a_thousand_tasks_as_with_ten_thousand(counted: dict[int, dict[str, int]]) -> None:
    more = {name: counted[MANY][name] - few for name, few in counted[FEW].items()}

    # The names of people are one question and those of tokens another, which a list without any does not ask.
    assert {name: number for name, number in more.items() if not 0 <= number <= 2} == {}
