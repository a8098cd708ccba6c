"""`tools/call` of 2025-11-25: what makes a call a task, what each kind of tool allows, and calls that wait."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from tasks_app.mcp.pool import in_thread
from tests.asgi_client import Answer, Client
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import count_tasks, only_task, result_of, text_of, until_row
from tests.tasks_app.mcp.legacy_client import RELATED, Session, event_ids, heard, last_message, response
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("legacy_tools")]
TASK = {"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}


async def call(session: Session, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Answer:
    """Call a tool."""
    return await session.request("tools/call", {"name": tool, "arguments": arguments or {}, **more})


def kind_of(answer: Answer) -> str:
    """What came of a call: a task, a result, or the code of an error."""
    message = last_message(answer)
    if "error" in message:
        return str(message["error"]["code"])
    return "task" if "task" in message["result"] else "result"


@pytest.mark.parametrize(
    ("asked", "ttl"),
    [
        ({}, 3_600_000),
        ({"ttl": 60_000}, 60_000),
        ({"ttl": 10**15}, 86_400_000),
        ({"ttl": 2**63}, 86_400_000),
        ({"ttl": None}, 86_400_000),
    ],
)
async def test_field_task_makes_a_task_and_is_told_its_lifetime(session: Session, asked: Any, ttl: int) -> None:
    """check 6, check 7, check 87, check 88, check 90, traps 3, 5 and 21: the field counts, not what it holds."""
    result = result_of(await call(session, "echo", task=asked))

    assert result.keys() == {"task"}
    assert result["task"].keys() == TASK
    assert result["task"]["status"] == "working"
    assert result["task"]["ttl"] == ttl
    assert result["task"]["pollInterval"] == 2000


@pytest.mark.parametrize("asked", [86_400_001, 2**63])
async def test_lifetime_above_the_maximum_is_refused_by_a_strict_server(
    session: Session, settings: Settings, asked: int
) -> None:
    """check 88, check 90: the other setting; what fits is taken as it is."""
    settings.TASKDECK_TTL_OVERFLOW = "reject"

    error = await session.error("tools/call", {"name": "echo", "task": {"ttl": asked}})
    fits = await session.make("echo", task={"ttl": 86_400_000})

    assert (error["code"], error["data"]["reason"]) == (-32602, "invalid_ttl")
    assert fits["ttl"] == 86_400_000
    assert await count_tasks() == 1


async def test_settings_of_lifetime_and_poll_interval_are_told_and_a_tool_may_have_its_own(
    session: Session, settings: Settings
) -> None:
    """check 87, check 93, check 94: `echo` asks for 2 s itself, and `slow_sum` says that it takes a minute."""
    settings.TASKDECK_DEFAULT_TTL = 120
    settings.TASKDECK_DEFAULT_POLL = 7

    plain = await session.make("add", {"left": 1, "right": 2})
    own, slow = await session.make("echo"), await session.make("slow_sum")

    assert (plain["ttl"], own["ttl"]) == (120_000, 120_000)
    assert (plain["pollInterval"], own["pollInterval"], slow["pollInterval"]) == (7_000, 2_000, 3_000)


async def test_times_of_a_new_task_are_equal_and_in_utc(session: Session) -> None:
    """check 8."""
    task = await session.make("echo")

    made = datetime.fromisoformat(task["createdAt"])
    assert made.utcoffset() == timedelta(0)
    assert task["lastUpdatedAt"] == task["createdAt"]


@pytest.mark.parametrize(
    "task", [None, True, [], "yes", 0, {"ttl": "1"}, {"ttl": -1}, {"ttl": 0}, {"ttl": True}, {"ttl": 1.5}]
)
async def test_field_task_that_is_wrong_is_refused_and_leaves_nothing(session: Session, task: Any) -> None:
    error = await session.error("tools/call", {"name": "echo", "task": task})

    assert error["code"] == -32602
    assert await count_tasks() == 0


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("tool", "with_task", "without"),
    [("report", "task", "-32601"), ("echo", "task", "result"), ("who_am_i", "-32601", "result")],
)
async def test_tool_decides_which_calls_it_takes(session: Session, tool: str, with_task: str, without: str) -> None:
    """check 18, check 19, check 20, check 21, check 24, check 27: each level, with the signal and without."""
    asked = await call(session, tool, task={})
    before = await count_tasks()
    plain = await call(session, tool)

    assert (kind_of(asked), kind_of(plain)) == (with_task, without)
    assert before == (1 if with_task == "task" else 0)


@pytest.mark.usefixtures("worker")
async def test_required_tool_can_be_served_to_everyone_with_a_warning(
    session: Session, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """check 19."""
    settings.TASKDECK_REQUIRED_FALLBACK = "sync"

    with caplog.at_level(logging.WARNING, "tasks_app.mcp.calls"):
        answer = await call(session, "report")

    assert text_of(answer) == "the report"
    assert "report has to be a task" in caplog.text


@pytest.mark.usefixtures("worker")
async def test_result_is_the_same_with_and_without_a_task(session: Session) -> None:
    """check 11, check 20."""
    arguments = {"left": 2, "right": 3}
    plain = result_of(await call(session, "add", arguments))
    task = await session.make("add", arguments)
    fetched = await session.result("tasks/result", {"taskId": task["taskId"]})

    assert fetched.pop("_meta") == {RELATED: {"taskId": task["taskId"]}}
    assert fetched == plain
    assert plain["structuredContent"] == {"total": 5}


@pytest.mark.usefixtures("worker")
async def test_each_request_decides_for_itself(session: Session) -> None:
    """check 25, check 28: nothing is remembered of the request before."""
    kinds = [kind_of(await call(session, "echo", **({"task": {}} if turn % 2 else {}))) for turn in range(10)]

    assert kinds == ["result", "task"] * 5


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("name", ["claude", "curl", "", "Mozilla/5.0"])
async def test_name_of_the_client_decides_nothing(client: Client, name: str) -> None:
    """check 26, check 29: what comes back follows from the request and the tool alone."""
    client.headers["user-agent"] = name
    session = await Session.begin(client)

    plain = await call(session, "echo")
    tasked = await call(session, "echo", task={})
    required = await call(session, "report")

    assert [kind_of(each) for each in (plain, tasked, required)] == ["result", "task", "-32601"]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05"])
async def test_field_task_means_nothing_to_an_older_revision(client: Client, version: str) -> None:
    session = await Session.begin(client, version=version)

    kinds = [kind_of(await call(session, tool, task={})) for tool in ("echo", "nobody", "report")]
    greeting = await call(session, "greet", {"name": "Ana"}, task={})

    assert kinds == ["result", "-32602", "-32601"]
    assert text_of(greeting) == "Hello, Ana!"


@pytest.mark.parametrize("id_", [0, "", -1, "a/b", 2**53])
async def test_id_of_a_request_comes_back_as_it_was(session: Session, id_: Any) -> None:
    """Trap 22."""
    answer = await session.request("tools/call", {"name": "echo", "task": {}}, id=id_)

    assert answer.json["id"] == id_
    assert type(answer.json["id"]) is type(id_)


@pytest.mark.parametrize(
    "params",
    [{}, {"name": 7}, {"name": "nobody"}, {"name": "echo", "arguments": []}, {"name": "echo", "arguments": None}],
    ids=str,
)
async def test_call_that_makes_no_sense_is_an_error(session: Session, params: dict[str, Any]) -> None:
    """Trap 9."""
    error = await session.error("tools/call", params)

    assert error["code"] == -32602


@pytest.mark.parametrize("more", [{}, {"task": {}}], ids=["waiting", "task"])
async def test_arguments_that_do_not_fit_are_a_failure_of_the_tool(session: Session, more: dict[str, Any]) -> None:
    result = result_of(await call(session, "add", {"left": "two"}, **more))

    assert result["isError"] is True
    assert "right: is required" in result["content"][0]["text"]
    assert await count_tasks() == 0


async def test_id_that_a_tool_invents_never_reaches_the_client(session: Session, worker: None) -> None:
    """check 9."""
    task = await session.make("fake_task")
    await session.ended(task["taskId"])

    result = await session.result("tasks/result", {"taskId": task["taskId"]})

    assert str((await only_task()).id) == task["taskId"]
    assert result["isError"] is True
    assert "made-up" not in str(result)


async def test_tool_of_this_process_cannot_ask_and_says_so(session: Session) -> None:
    result = result_of(await call(session, "introduce"))

    assert result["isError"] is True
    assert 'task="optional"' in result["content"][0]["text"]


async def test_tool_of_this_process_tells_progress_and_lines_one_by_one(session: Session) -> None:
    await session.request("logging/setLevel", {"level": "info"})

    answer = await call(session, "count_here", {"to": 2}, _meta={"progressToken": 7})

    progress = [each["params"] for each in answer.events if each.get("method") == "notifications/progress"]
    lines = [each["params"]["data"] for each in answer.events if each.get("method") == "notifications/message"]
    assert [(each["progressToken"], each["progress"]) for each in progress] == [(7, 0), (7, 1), (7, 2)]
    assert lines == ["line 0", "line 1", "line 2"]
    assert text_of(answer) == "counted"


@pytest.mark.parametrize("level", [None, "error"])
async def test_lines_below_the_level_of_the_session_are_not_sent(session: Session, level: str | None) -> None:
    if level:
        await session.request("logging/setLevel", {"level": level})

    answer = await call(session, "count_here")

    assert answer.headers["content-type"] == "application/json"
    assert text_of(answer) == "counted"


@pytest.mark.usefixtures("worker")
async def test_call_that_is_over_soon_is_answered_with_plain_json(session: Session) -> None:
    answer = await call(session, "echo")

    assert answer.headers["content-type"] == "application/json"
    assert text_of(answer) == "hello while you wait"


@pytest.mark.usefixtures("worker")
async def test_call_that_takes_long_becomes_a_stream_that_can_be_resumed(
    session: Session, legacy_tools: threading.Event
) -> None:
    async with session.opened("tools/call", {"name": "through_the_gate"}) as waiting:
        await waiting.until(b"retry: 1000")
        legacy_tools.set()
        message = await response(waiting)

    [primed, last] = event_ids(waiting.answer)
    assert message["result"]["content"][0]["text"] == "through"
    assert primed != last


@pytest.mark.usefixtures("worker")
async def test_stream_for_an_older_revision_has_no_event_ids(client: Client, legacy_tools: threading.Event) -> None:
    session = await Session.begin(client, version="2025-06-18")
    params = {"name": "counts", "_meta": {"progressToken": "p"}}

    async with session.opened("tools/call", params) as waiting:
        await heard(waiting, lambda message: message.get("method") == "notifications/progress")
        legacy_tools.set()
        await response(waiting)

    assert event_ids(waiting.answer) == []


@pytest.mark.usefixtures("worker")
async def test_call_that_takes_too_long_is_told_how_to_fetch_its_result(session: Session, settings: Settings) -> None:
    """check 118: the hidden task becomes an ordinary one."""
    settings.TASKDECK_SYNC_BUDGET = 0.3

    answer = await call(session, "through_the_gate")

    task = await only_task()
    assert f'get_task_result with {{"task_id": "{task.id}"}}' in text_of(answer)
    assert result_of(answer)["isError"] is False
    assert task.waiting is False
    assert (await session.get(str(task.id)))["status"] == "working"


async def test_tool_that_expects_to_be_slow_is_not_waited_for(session: Session) -> None:
    """check 31."""
    answer = await call(session, "slow_by_its_own_word")

    assert str((await only_task()).id) in text_of(answer)
    assert "get_task_result" in text_of(answer)


@pytest.mark.usefixtures("worker")
async def test_client_without_tasks_can_be_given_a_handle_at_once(session: Session, settings: Settings) -> None:
    """check 119."""
    settings.TASKDECK_NON_TASK_CLIENTS = "text_handle"

    answer = await call(session, "echo")

    assert str((await only_task()).id) in text_of(answer)


async def test_same_key_gives_the_same_task(session: Session) -> None:
    meta = {"taskdeck/idempotencyKey": "order-7"}

    first = await session.make("echo", _meta=meta)
    again = await session.make("echo", _meta=meta)
    other = await session.error("tools/call", {"name": "echo", "arguments": {"text": "x"}, "task": {}, "_meta": meta})

    assert first == again
    assert other["code"] == -32602
    assert await count_tasks() == 1


@pytest.mark.usefixtures("worker")
async def test_task_with_the_key_of_a_waiting_call_is_no_longer_hidden(session: Session) -> None:
    meta = {"taskdeck/idempotencyKey": "order-7"}
    await call(session, "echo", _meta=meta)

    task = await session.make("echo", _meta=meta)

    assert task["status"] == "completed"
    assert (await only_task()).waiting is False


async def test_too_many_live_tasks_are_refused_with_the_reason(session: Session, settings: Settings) -> None:
    """check 96."""
    settings.TASKDECK_LIVE_TASKS = 1
    await session.make("echo")

    error = await session.error("tools/call", {"name": "echo", "task": {}})

    assert error["code"] == -32603
    assert error["data"] == {"reason": "quota", "limit": 1}


async def test_expired_task_is_read_listed_and_counted_no_more(
    session: Session, settings: Settings, alice: Person
) -> None:
    """check 91, check 92, check 96: at once, though nobody has swept it yet."""
    settings.TASKDECK_LIVE_TASKS = 1
    expired = (await in_thread(life.created, alice, ttl_ms=1)).id

    missing = await session.error("tasks/get", {"taskId": str(uuid4())})
    gone = await session.error("tasks/get", {"taskId": str(expired)})
    listed = (await session.result("tasks/list"))["tasks"]
    new = await session.make("echo")

    assert (gone, listed) == (missing, [])
    assert [each["taskId"] for each in (await session.result("tasks/list"))["tasks"]] == [new["taskId"]]


@pytest.mark.usefixtures("worker")
async def test_client_that_goes_away_cancels_nothing(session: Session, legacy_tools: threading.Event) -> None:
    """Trap 12."""
    async with session.opened("tools/call", {"name": "through_the_gate"}) as waiting:
        await waiting.until(b"retry: 1000")
    legacy_tools.set()

    task = await until_row(lambda row: row.finished_at is not None)

    assert task.status == "completed"
