"""The first minute of a newcomer: one command, one link that works once, tasks that move, and tokens that end."""

from __future__ import annotations

import http.cookiejar
import re
import signal
import time
import urllib.request
from typing import Any
from urllib.error import HTTPError

import psycopg
import pytest

LINK = re.compile(r"^Sign in: (http://127\.0\.0\.1:\d+/login/link/\S+/)$", re.MULTILINE)
START_SECONDS = 120.0
TOOLS = "SELECT count(DISTINCT tool) FROM tasks_task"
ASKING = "SELECT count(*) FROM tasks_question WHERE state = 'open' AND audience = 'owner' AND name = 'approve'"
TOKENS = "SELECT count(*) FILTER (WHERE revoked_at IS NULL), count(*) FROM tasks_credential"


def browser() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


def link_of(run: Any) -> str:
    """The link that a start printed; a first start makes a database and every table, which may take its time."""
    deadline = time.monotonic() + START_SECONDS
    while (found := LINK.search(run.text)) is None:
        assert run.process.poll() is None, run.text
        assert time.monotonic() < deadline, run.text
        time.sleep(0.05)
    return found[1]


def ask(run: Any, statement: str) -> tuple[Any, ...]:
    address = f"postgresql://postgres@/taskdeck?host={run.data}/pg/run&port=5432"
    with psycopg.connect(address, connect_timeout=5) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return row


@pytest.mark.timeout(400)
def test_up_prints_a_link_that_works_once_and_the_demo_plays_until_the_stop(up: Any, eventually: Any) -> None:
    run = up(TASKDECK_WORKERS="2")
    link = link_of(run)

    with browser().open(link, timeout=20) as page:
        landed, html = page.url, page.read().decode()
    with pytest.raises(HTTPError) as again:
        browser().open(link, timeout=20)

    assert run.text.index("Taskdeck is ready: ") < run.text.index("Sign in: ")
    assert landed.endswith("/tasks/")
    assert "Account: admin" in html
    assert again.value.code == 410
    again.value.close()
    eventually(lambda: ask(run, TOOLS) == (7,), what="seven tools that were called")
    eventually(lambda: ask(run, ASKING) == (1,), what="a question for the newcomer")
    assert ask(run, TOKENS) == (2, 2)

    run.send(signal.SIGINT)

    assert run.code() == 0
    assert run.is_clean()
    assert "did not stop in time" not in run.text, "what a tool does is given back before"
    second = up(TASKDECK_WORKERS="1", TASKDECK_DEMO="0")
    assert link_of(second) != link
    assert ask(second, TOKENS) == (0, 2)
