"""Metrics: behind a token, in the text format, with true numbers; and the strips that say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from console import prometheus
from console.pages import alarms
from tasks_app import counters, store
from tasks_app.store import chain, workers
from tests.conftest import DatabaseClock
from tests.console.pages.people import Someone, ask, create, finish

pytestmark = pytest.mark.django_db

TOKEN = "a long metrics token"
LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+')


@pytest.fixture
def asked(settings: Settings) -> Client:
    """Somebody who watches the site, with the token."""
    settings.TASKDECK_METRICS_TOKEN = TOKEN
    return Client(headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """What this process counted and remembers is not of this test."""
    counters.reset()
    alarms.memory.keep((), seconds=0)
    yield
    counters.reset()
    alarms.memory.keep((), seconds=0)


def numbers(client: Client) -> dict[str, float]:
    """Every sample with its value."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_denials_and_tolerated_requests_are_counted_by_reason_and_method(asked: Client) -> None:
    """section 2 item 16: operators tell denials apart that clients cannot."""
    counters.count_denials("foreign", 3)
    counters.count_denials("expired", 1)
    counters.count_nameless("tasks/get")

    found = numbers(asked)

    assert found['taskdeck_mcp_denials_total{reason="foreign"}'] == 3
    assert found['taskdeck_mcp_denials_total{reason="expired"}'] == 1
    assert found['taskdeck_mcp_nameless_total{method="tasks/get"}'] == 1


def test_there_is_no_such_page_without_a_token_in_the_settings(client: Client) -> None:
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN} ", "Bearer é"]
)
def test_wrong_token_gets_nothing(client: Client, settings: Settings, given: str) -> None:
    settings.TASKDECK_METRICS_TOKEN = TOKEN

    answer = client.get("/metrics", headers={"Authorization": given})

    assert (answer.status_code, answer.content) == (401, b"")


def test_session_does_not_replace_the_token(settings: Settings) -> None:
    settings.TASKDECK_METRICS_TOKEN = TOKEN

    assert Someone("ada", "admin").browser.get("/metrics").status_code == 401


def test_numbers_are_those_of_the_tables(asked: Client, clock: DatabaseClock) -> None:
    """section 2 item 16."""
    clock.advance(timedelta(0))
    ana = Someone("ana")
    finish(ana, "deploy")
    finish(ana, "deploy", how="failed")
    ask(ana)
    create(ana)
    workers.beat("w1", slots=4, draining=False)
    clock.advance(timedelta(seconds=90))
    workers.beat("w1", slots=4, draining=False)

    found = numbers(asked)

    assert {name: value for name, value in found.items() if name.startswith("taskdeck_tasks")} == {
        'taskdeck_tasks{status="completed"}': 1,
        'taskdeck_tasks{status="failed"}': 1,
        'taskdeck_tasks{status="input_required"}': 1,
        'taskdeck_tasks{status="working"}': 1,
        "taskdeck_tasks_due": 1,
    }
    assert (found["taskdeck_oldest_due_seconds"], found["taskdeck_questions_open"]) == (90, 1)
    assert found["taskdeck_oldest_question_seconds"] == 90
    assert (found["taskdeck_workers"], found["taskdeck_worker_slots"]) == (1, 4)
    assert found['taskdeck_attempts_recent{outcome="completed"}'] == 1
    assert found['taskdeck_attempts_recent{outcome="suspended"}'] == 1
    assert found['taskdeck_start_latency_seconds{quantile="0.5"}'] == 0
    assert (found["taskdeck_expiry_lag_seconds"], found["taskdeck_chain_broken"]) == (0, 0)
    assert found["taskdeck_chain_unsealed_seconds"] == 90


def test_lag_and_chain_are_told(asked: Client, clock: DatabaseClock) -> None:
    create(Someone("ana"))
    clock.advance(timedelta(hours=1, seconds=30))
    chain.seal()
    chain.look_around()

    found = numbers(asked)

    assert found["taskdeck_expiry_lag_seconds"] == pytest.approx(30, abs=5)
    assert (found["taskdeck_chain_sealed_batch"], found["taskdeck_chain_verified_batch"]) == (1, 1)


def test_requests_are_counted_by_method_and_code(asked: Client) -> None:
    for code, status in (("", 200), ("", 200), ("-32602", 200)):
        counters.count_request("tools/call", code=code, status=status)

    found = numbers(asked)

    assert found['taskdeck_mcp_requests_total{method="tools/call",code="ok",status="200"}'] == 2
    assert found['taskdeck_mcp_requests_total{method="tools/call",code="-32602",status="200"}'] == 1


def test_series_do_not_grow_without_bound() -> None:
    for number in range(2 * counters.MOST_SERIES):
        counters.count_request("tools/call", code=str(number), status=200)

    assert len(counters.requests()) <= counters.MOST_SERIES + 1
    assert counters.requests()[counters.OTHER, counters.OTHER, 200] == counters.MOST_SERIES


def test_text_format_escapes_what_would_end_a_label() -> None:
    said = prometheus.metric("m", "gauge", "two\nlines", [({"a": 'x"y\\z\n'}, 1.5)])

    assert said == '# HELP m two\\nlines\n# TYPE m gauge\nm{a="x\\"y\\\\z\\n"} 1.5\n'
    assert prometheus.single("m", "gauge", "", None) == ""


def test_page_says_when_expiry_lags_to_those_who_see_everything(clock: DatabaseClock) -> None:
    ana, bo = Someone("ana"), Someone("bo", "operator")
    create(ana)
    clock.advance(timedelta(hours=1, minutes=2))

    for_bo, for_ana = bo.page("/tasks/"), ana.page("/tasks/")

    assert "Expiry is 2 m" in for_bo
    assert 'role="alert"' in for_bo
    assert "Expiry is" not in for_ana


def test_page_says_when_work_waits_although_a_worker_is_free(clock: DatabaseClock) -> None:
    bo = Someone("bo", "operator")
    create(bo)
    clock.advance(timedelta(seconds=40))
    workers.beat("w1", slots=1, draining=False)

    assert "A task has been due for 40 s although a worker is free" in bo.page("/tasks/")


def test_page_says_that_the_log_was_changed(clock: DatabaseClock) -> None:
    bo = Someone("bo", "auditor")
    create(bo)
    clock.advance(timedelta(minutes=2))
    chain.seal()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE tasks_event SET kind = 'x'")
        cursor.execute("SET session_replication_role = origin")
    chain.look_around()

    html = bo.page("/tasks/")

    assert "The audit log was changed: batch 1, event" in html
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE tasks_event SET kind = 'created'")
        cursor.execute("SET session_replication_role = origin")


def test_strips_cost_a_page_nothing_while_they_are_fresh(clock: DatabaseClock) -> None:
    ana = Someone("ana")
    ana.page("/tasks/")

    with CaptureQueriesContext(connection) as second:
        ana.page("/tasks/")
    alarms.memory.keep((), seconds=3600)
    with CaptureQueriesContext(connection) as never:
        ana.page("/tasks/")

    assert len(second) == len(never)
    assert store.expire() == 0
