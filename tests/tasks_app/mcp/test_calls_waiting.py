"""Callers that know no tasks: how long they wait, what they are told then, and what happens when they go away."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app import store
from tasks_app.domain.errors import NotFound
from tasks_app.engine.checks import check_augment
from tasks_app.engine.loop import default_duties
from tasks_app.engine.registry import registry
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Fetch
from tasks_app.store import NewQuestion, hidden, queries
from tests.asgi_client import Answer, Client, modern_headers, modern_message
from tests.conftest import DatabaseClock, Person
from tests.tasks_app.mcp.helpers import ended, only_task, result_of, text_of, until_row
from tests.tasks_app.mcp.workers import working
from tests.tasks_app.store.life import PORT, claimed, created, look

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]


async def call(client: Client, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Answer:
    """Call a tool without tasks."""
    return await client.modern("tools/call", {"name": name, "arguments": arguments or {}}, **more)


@pytest.fixture
def short_budget(settings: Settings) -> None:
    """Nobody waits long."""
    settings.TASKDECK_SYNC_BUDGET = 0.3


@pytest.mark.usefixtures("worker", "short_budget")
async def test_caller_that_waited_too_long_is_told_how_to_fetch_the_result(client: Client) -> None:
    """check 118, check 122, check 123."""
    answer = await call(client, "sleep", {"seconds": 1.0})

    task = await only_task()
    text = text_of(answer)
    assert result_of(answer)["isError"] is False
    assert str(task.id) in text
    assert f'get_task_result with {{"task_id": "{task.id}"}}' in text
    assert result_of(answer)["_meta"]["taskdeck/taskId"] == str(task.id)
    assert task.waiting is False

    early = await call(client, "get_task_result", {"task_id": str(task.id)})
    assert text_of(early).startswith("The task is still working, try again in 5 seconds.")
    await ended(client, str(task.id))
    late = await call(client, "get_task_result", {"task_id": str(task.id)})
    assert text_of(late) == "awake"


@pytest.mark.usefixtures("short_budget")
async def test_call_that_nobody_runs_becomes_an_ordinary_task_when_the_wait_is_over(client: Client) -> None:
    answer = await call(client, "echo")
    task_id = str((await only_task()).id)

    with working():
        shown = await ended(client, task_id)

    assert task_id in text_of(answer)
    assert shown["result"]["content"][0]["text"] == "hello as a task"


async def test_tool_that_expects_to_be_slow_is_not_waited_for(client: Client) -> None:
    """check 31: the caller is told at once of the task and of the tool that fetches its result."""
    answer = await call(client, "slow_by_its_own_word")

    task = await only_task()
    assert str(task.id) in text_of(answer)
    assert "get_task_result" in text_of(answer)
    assert "supports tasks" in text_of(answer)
    assert result_of(answer)["isError"] is False
    assert task.waiting is False


async def test_budget_decides_what_is_too_slow(client: Client, settings: Settings) -> None:
    """check 31: the threshold is a setting."""
    settings.TASKDECK_SYNC_BUDGET = 90

    with working():
        answer = await call(client, "slow_by_its_own_word")

    assert text_of(answer) == "at last"


async def test_tool_that_promises_an_object_says_that_it_comes_later_as_an_error(client: Client) -> None:
    """A result without structured content would break the promise, and clients check it."""
    answer = await call(client, "slow_sum")

    assert result_of(answer)["isError"] is True
    assert str((await only_task()).id) in text_of(answer)


async def test_server_that_lets_nobody_wait_gives_a_text_handle(client: Client, settings: Settings) -> None:
    """check 119."""
    settings.TASKDECK_NON_TASK_CLIENTS = "text_handle"

    answer = await call(client, "echo")

    assert str((await only_task()).id) in text_of(answer)


async def test_handle_names_no_tool_where_there_is_none(client: Client, settings: Settings) -> None:
    settings.TASKDECK_NON_TASK_CLIENTS = "text_handle"
    settings.TASKDECK_FALLBACK_TOOL = ""

    answer = await call(client, "echo")

    assert "get_task_result" not in text_of(answer)
    assert str((await only_task()).id) in text_of(answer)


@pytest.mark.usefixtures("worker")
async def test_result_that_was_waited_for_counts_as_fetched(client: Client) -> None:
    await call(client, "echo")

    task = await only_task()
    fetched = await in_thread(lambda: Fetch.objects.get(task_id=task.id))
    assert fetched.times == 1
    assert fetched.credential_id == task.credential_id


async def test_caller_that_goes_away_takes_its_hidden_task_along(client: Client) -> None:
    """Trap 12: closing the stream cancels the request, and nobody was given the id of its task."""
    message = modern_message("tools/call", {"name": "sleep", "arguments": {}})
    async with client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message)):
        task = await until_row()
        assert task.waiting is True

    gone = await until_row(lambda row: row.status == "cancelled")

    [event] = [each for each in await in_thread(queries.timeline, gone.id) if each.to_status == "cancelled"]
    assert event.actor["reason"] == "the caller went away"


async def test_caller_with_a_key_may_go_away_and_come_back(client: Client) -> None:
    message = modern_message("tools/call", {"name": "echo", "arguments": {}})
    headers = modern_headers(message) | {"idempotency-key": "back-soon"}
    async with client.opened("POST", json.dumps(message).encode(), headers=headers):
        task = await until_row()

    with working():
        answer = await client.post(message, headers=headers)

    assert text_of(answer) == "hello while you wait"
    assert (await only_task()).id == task.id


async def test_caller_that_goes_away_does_not_cancel_a_task_of_which_it_knows(client: Client) -> None:
    """check 4, trap 12."""
    created_ = result_of(await client.modern("tools/call", {"name": "echo", "arguments": {}}, tasks=True))
    params = {"notifications": {"taskIds": [created_["taskId"]]}}
    message = modern_message("subscriptions/listen", params, tasks=True)
    async with client.opened("POST", json.dumps(message).encode(), headers=modern_headers(message)) as exchange:
        await exchange.until(b"notifications/tasks")

    assert (await only_task()).status == "working"


@pytest.mark.usefixtures("worker")
async def test_progress_of_a_task_is_streamed_to_a_caller_that_waits(client: Client) -> None:
    meta = {"_meta": {"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"}}
    params = {"name": "steps", "arguments": {}, **meta}

    answer = await client.modern("tools/call", params, capabilities={"elicitation": {}})

    *notices, last = answer.events
    assert notices == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "p", "progress": 1, "total": 2, "message": "half way"},
        },
        {
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": {"level": "info", "logger": "steps", "data": "half way"},
        },
    ]
    assert last["result"]["resultType"] == "input_required"


async def test_approval_is_waited_for_and_then_becomes_an_ordinary_task(client: Client, short_budget: None) -> None:
    answer = await call(client, "deploy", {"service": "web"})

    task = await only_task()
    assert f"deploy is still running: it is task {task.id}." in text_of(answer)
    assert (task.waiting, task.status) == (False, "input_required")


def test_hidden_task_that_is_shown_keeps_its_questions_as_long_as_any_other(alice: Person) -> None:
    claim = claimed(alice, waiting=True)
    store.suspend(claim, [NewQuestion(name="port", request=PORT)])
    before = look(claim.task_id)

    shown = store.db.run(hidden.reveal_plan(claim.task_id, owner_id=alice.id, by=alice.acts()))

    [question] = queries.open_questions(claim.task_id)
    assert before.expires_at - before.created_at < (shown.expires_at - shown.created_at)
    assert (question.expires_at - shown.created_at).days == 7
    assert (shown.expires_at - question.expires_at).total_seconds() == pytest.approx(3600, abs=5)
    assert shown.waiting is False


def test_hidden_task_without_questions_is_shown_as_it_is(alice: Person) -> None:
    task = created(alice, waiting=True)

    shown = store.db.run(hidden.reveal_plan(task.id, owner_id=alice.id, by=alice.acts()))

    assert (shown.waiting, shown.expires_at, shown.status) == (False, task.expires_at, task.status)


def test_hidden_task_of_another_cannot_be_shown(alice: Person, eve: Person) -> None:
    task = created(alice, waiting=True)

    with pytest.raises(NotFound):
        store.db.run(hidden.reveal_plan(task.id, owner_id=eve.id, by=eve.acts()))

    assert look(task.id).waiting is True


def test_hidden_task_that_asked_and_heard_nothing_is_cancelled(alice: Person, clock: DatabaseClock) -> None:
    asked = claimed(alice, waiting=True)
    store.suspend(asked, [NewQuestion(name="port", request=PORT)])
    shown = claimed(alice)
    store.suspend(shown, [NewQuestion(name="port", request=PORT)])
    running = created(alice, waiting=True)

    clock.advance(timedelta(minutes=9))
    assert hidden.cancel_abandoned() == 0
    clock.advance(timedelta(minutes=2))
    assert hidden.cancel_abandoned() == 1

    assert look(asked.task_id).status == "cancelled"
    assert look(shown.task_id).status == "input_required"
    assert look(running.id).status == "working"


def test_hidden_task_whose_client_is_asked_on_a_stream_waits_as_long_as_it_lives(
    alice: Person, clock: DatabaseClock
) -> None:
    """Only a round trip has to come back within ten minutes: losing a stream of 2025-11-25 is no cancellation."""
    asked = claimed(alice, waiting=True, client_capabilities=hidden.on_stream({"elicitation": {}}))
    store.suspend(asked, [NewQuestion(name="port", request=PORT)])

    clock.advance(timedelta(minutes=11))

    assert hidden.cancel_abandoned() == 0
    assert look(asked.task_id).status == "input_required"


def test_engine_loop_cancels_what_was_abandoned() -> None:
    assert hidden.cancel_abandoned in [duty.run for duty in default_duties()]


def test_fetching_tool_is_never_a_task_itself() -> None:
    """check 116."""
    tool = registry.get("get_task_result")

    assert tool is not None
    assert tool.task == "forbidden"


@pytest.mark.parametrize("path", ["nowhere.at_all", "json", "json.nothing", "tests.tasks_app.mcp.helpers.WAIT_SECONDS"])
def test_predicate_that_there_is_not_is_told_at_the_start(settings: Settings, path: str) -> None:
    """check 48."""
    settings.TASKDECK_AUGMENT = path

    assert [found.id for found in check_augment()] == ["tasks.E012"]


def test_predicate_that_there_is_needs_no_word(settings: Settings) -> None:
    settings.TASKDECK_AUGMENT = "tests.tasks_app.mcp.helpers.only_echo"

    assert check_augment() == []
