"""`tools/call` of 2026-07-28: here, as a task, or while the caller waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app.domain.identity import Scope
from tasks_app.domain.ttl import NOT_ASKED
from tasks_app.engine import hints
from tasks_app.engine.calling import poll_ms
from tasks_app.engine.registry import registry
from tasks_app.mcp import aside
from tasks_app.mcp.calls import Wanted, new_task
from tasks_app.mcp.endpoint import endpoint
from tasks_app.mcp.negotiation import CLIENT_BYTES, CLIENT_CAPABILITIES, CLIENT_INFO
from tasks_app.mcp.pool import in_thread
from tests.asgi_client import Answer, Client, modern_headers, modern_message
from tests.conftest import Person
from tests.tasks_app.mcp import helpers
from tests.tasks_app.mcp.conftest import TokenMaker
from tests.tasks_app.mcp.helpers import a_call, count_tasks, ended, only_task, result_of, text_of
from tests.tasks_app.mcp.legacy_client import Session
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
FAIL_AT_COMMIT = """
CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room on the disk'; END $$;
CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON tasks_task DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail_at_commit()
"""
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


async def call(client: Client, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Answer:
    """Call a tool."""
    params = {"name": name, "arguments": arguments or {}, **more.pop("params", {})}
    return await client.modern("tools/call", params, **more)


@pytest.mark.parametrize("tasks", [True, False])
async def test_forbidden_tool_runs_here_and_leaves_no_row(client: Client, tasks: bool) -> None:
    """check 34: to declare tasks is permission, not a request."""
    answer = await call(client, "greet", {"name": "Ana"}, tasks=tasks)

    result = result_of(answer)
    assert result["resultType"] == "complete"
    assert result["content"] == [{"type": "text", "text": "Hello, Ana!"}]
    assert result["isError"] is False
    assert await count_tasks() == 0


@pytest.mark.usefixtures("worker")
async def test_task_parameter_of_the_older_revision_is_ignored(client: Client) -> None:
    """check 21, check 35: it neither creates a task nor is it an error."""
    here = await call(client, "greet", {"name": "Ana"}, params={"task": {"ttl": 1}})
    waited = await call(client, "echo", params={"task": {}})

    assert text_of(here) == "Hello, Ana!"
    assert text_of(waited) == "hello while you wait"


async def test_optional_tool_becomes_a_flat_task_when_the_client_declares_them(client: Client) -> None:
    """check 18, check 20, check 36, check 38, traps 3 and 5."""
    answer = await call(client, "echo", tasks=True)

    result = result_of(answer)
    task = await only_task()
    assert b'"taskId"' in answer.body
    assert result["resultType"] == "task"
    assert result["taskId"] == str(task.id)
    assert result["status"] == "working"
    assert result["createdAt"] == result["lastUpdatedAt"]
    assert result["createdAt"].endswith("Z")
    assert result["ttlMs"] == 3_600_000
    assert result["pollIntervalMs"] == 2_000
    assert not result.keys() & {"task", "ttl", "pollInterval", "result", "error", "inputRequests", "requestState"}
    assert task.waiting is False


@pytest.mark.parametrize("name", [CLIENT_CAPABILITIES, CLIENT_INFO])
async def test_request_that_says_too_much_of_its_client_is_refused_and_leaves_no_task(
    client: Client, name: str
) -> None:
    """What the client can do is stored with every task, so it is bounded; a large argument is not meant by that."""
    large = {"name": "x" * CLIENT_BYTES}

    refused = await call(client, "echo", tasks=True, params={"_meta": {name: large}})
    fine = await call(client, "greet", {"name": "x" * 2 * CLIENT_BYTES}, tasks=True)

    assert (refused.status, refused.error["code"]) == (400, -32602)
    assert refused.error["message"] == f"`{name}` may have at most 16384 bytes as JSON"
    assert fine.status == 200
    assert await count_tasks() == 0


async def test_required_tool_is_always_a_task(client: Client) -> None:
    """check 18."""
    answer = await call(client, "report", tasks=True)

    assert result_of(answer)["resultType"] == "task"


async def test_required_tool_is_refused_to_a_client_without_tasks(client: Client) -> None:
    """check 19, check 47."""
    answer = await call(client, "report", id="r")

    assert answer.status == 400
    assert answer.json["id"] == "r"
    assert answer.error["code"] == -32021
    assert answer.error["data"] == {"requiredCapabilities": TASKS}
    assert await count_tasks() == 0


async def test_legacy_capability_does_not_count_as_the_extension(client: Client) -> None:
    answer = await call(client, "report", capabilities={"tasks": {"requests": {"tools": {"call": {}}}}})

    assert answer.error["code"] == -32021


@pytest.mark.usefixtures("worker")
async def test_required_tool_is_served_with_a_warning_when_the_server_falls_back(
    client: Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """check 19."""
    settings.TASKDECK_REQUIRED_FALLBACK = "sync"

    with caplog.at_level(logging.WARNING, logger="tasks_app.mcp.calls"):
        answer = await call(client, "report")

    assert text_of(answer) == "the report"
    assert "report has to be a task" in caplog.text


@pytest.mark.usefixtures("worker")
async def test_optional_tool_gives_the_same_result_with_and_without_a_task(client: Client) -> None:
    """check 20, check 27."""
    waited = result_of(await call(client, "add", {"left": 2, "right": 3}))
    created = result_of(await call(client, "add", {"left": 2, "right": 3}, tasks=True))
    inlined = (await ended(client, created["taskId"]))["result"]

    assert waited["structuredContent"] == {"total": 5}
    for name in ("resultType", "content", "structuredContent", "isError"):
        assert waited[name] == inlined[name]


@pytest.mark.usefixtures("worker")
async def test_each_answer_follows_its_own_request(client: Client) -> None:
    """check 25, check 26, check 114: neither the session nor who the client says to be decides."""
    for number in range(6):
        tasks = number % 2 == 0
        info = {"io.modelcontextprotocol/clientInfo": {"name": f"client-{number}", "version": "9"}}
        answer = await call(client, "echo", params={"_meta": info}, tasks=tasks)

        assert result_of(answer)["resultType"] == ("task" if tasks else "complete")
        if not tasks:
            assert text_of(answer) == "hello while you wait"


@pytest.mark.usefixtures("worker")
async def test_tool_that_waits_may_end_in_a_tool_error_or_a_protocol_error(client: Client) -> None:
    soft = await call(client, "fail_softly")
    hard = await call(client, "fail_hard")

    assert result_of(soft)["isError"] is True
    assert text_of(soft) == "this went wrong"
    assert hard.error == {"code": -32050, "message": "no such planet", "data": {"planet": "Vulcan"}}


@pytest.mark.usefixtures("worker")
async def test_predicate_decides_which_calls_become_tasks(client: Client, settings: Settings) -> None:
    """check 48: where it says no, the call is as it would be without tasks, its errors included."""
    settings.TASKDECK_AUGMENT = "tests.tasks_app.mcp.helpers.only_echo"

    echoed = await call(client, "echo", tasks=True)
    failed = await call(client, "fail_hard", tasks=True)

    assert result_of(echoed)["resultType"] == "task"
    assert failed.error["code"] == -32050


@pytest.mark.usefixtures("worker")
async def test_predicate_that_hangs_holds_up_nobody_and_the_call_becomes_a_task(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """check 48: the event loop serves others meanwhile."""
    monkeypatch.setattr(aside, "SECONDS", 0.2)
    settings.TASKDECK_AUGMENT = "tests.tasks_app.mcp.helpers.hangs"
    for event in (helpers.has_begun, helpers.let_go, helpers.has_ended):
        event.clear()
    try:
        hanging = asyncio.create_task(call(client, "echo", tasks=True))
        await in_thread(helpers.has_begun.wait, 10)
        other = await call(client, "greet", {"name": "Ana"})
        made = result_of(await hanging)

        assert not helpers.has_ended.is_set()
    finally:
        helpers.let_go.set()
    assert text_of(other) == "Hello, Ana!"
    assert made["resultType"] == "task"
    assert "did not decide about a call of echo in time" in caplog.text


@pytest.mark.parametrize("dialect", ["modern", "legacy"])
async def test_result_that_the_fetching_tool_gives_is_noted_with_the_token_that_fetched_it(
    client: Client, alice: Person, dialect: str
) -> None:
    """check 116: the same record as for a read of the task itself."""
    task_id = await in_thread(life.completed, alice)
    params = {"name": "get_task_result", "arguments": {"task_id": str(task_id)}}

    if dialect == "modern":
        await client.modern("tools/call", params)
    else:
        await (await Session.begin(client)).request("tools/call", params)

    fetched = await in_thread(life.sql, "SELECT task_id, credential_id FROM tasks_fetch")
    credentials = await in_thread(life.sql, "SELECT id FROM tasks_credential WHERE owner_id = %(o)s", o=alice.id)
    assert fetched == [(task_id, credentials[0][0])]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "nothing"}, "Unknown tool"),
        ({"name": 7}, "`name`"),
        ({"name": "greet", "arguments": [1]}, "`arguments`"),
        ({"name": "greet", "arguments": None}, "`arguments`"),
        ({"name": "greet", "arguments": {"name": "x"}, "inputResponses": 1}, "`inputResponses`"),
    ],
)
async def test_malformed_call_is_a_protocol_error(client: Client, params: dict[str, Any], says: str) -> None:
    message = modern_message("tools/call", params)
    answer = await client.post(message, headers=modern_headers(message) | {"mcp-name": str(params["name"])})

    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert says in answer.error["message"]


@pytest.mark.parametrize(("name", "tasks"), [("greet", False), ("add", False), ("add", True)])
async def test_arguments_that_do_not_fit_are_a_tool_error(client: Client, name: str, tasks: bool) -> None:
    answer = await call(client, name, {"left": "three"}, tasks=tasks)

    result = result_of(answer)
    assert result["resultType"] == "complete"
    assert result["isError"] is True
    assert "left" in text_of(answer)
    assert await count_tasks() == 0


async def test_capability_is_checked_before_the_arguments(client: Client) -> None:
    """Trap 10."""
    answer = await call(client, "report", {"nonsense": 1})

    assert answer.error["code"] == -32021


async def test_annotated_argument_must_be_repeated_in_its_header(client: Client) -> None:
    matching = await call(client, "query", {"region": "eu"}, headers={"Mcp-Param-Region": "eu"})
    other = await call(client, "query", {"region": "eu"}, headers={"Mcp-Param-Region": "us"})
    missing = await call(client, "query", {"region": "eu"})

    assert text_of(matching) == "eu None"
    assert [(each.status, each.error["code"]) for each in (other, missing)] == [(400, -32020)] * 2


async def test_tool_here_knows_its_owner_and_what_its_client_can_do(client: Client) -> None:
    answer = await call(client, "who_am_i", capabilities={"elicitation": {}})

    told = result_of(answer)["structuredContent"]
    assert told == {"owner": "user:alice", "is_task": False, "form": True, "url": False}


async def test_tool_here_is_ended_after_its_time(client: Client) -> None:
    answer = await call(client, "hang")

    assert answer.status == 200
    assert answer.error["code"] == -32603
    assert answer.error["data"] == {"reason": "timeout"}


async def test_progress_of_a_tool_here_is_streamed_and_only_rises(client: Client) -> None:
    answer = await call(client, "count_here", {"to": 2}, params={"_meta": {"progressToken": 0}})

    *notices, last = answer.events
    assert answer.headers["content-type"] == "text/event-stream"
    assert [each["method"] for each in notices] == ["notifications/progress"] * 3
    assert [each["params"] for each in notices] == [
        {"progressToken": 0, "progress": number, "total": 2, "message": f"{number} of 2"} for number in range(3)
    ]
    assert last["result"]["content"][0]["text"] == "counted"


async def test_log_lines_are_sent_only_to_a_request_that_wants_them(client: Client) -> None:
    level = "io.modelcontextprotocol/logLevel"

    wanted = await call(client, "count_here", {"to": 1}, params={"_meta": {level: "debug"}})
    too_fine = await call(client, "count_here", {"to": 1}, params={"_meta": {level: "warning"}})
    unasked = await call(client, "count_here", {"to": 1})

    lines = [each["params"] for each in wanted.events[:-1]]
    assert lines == [{"level": "info", "logger": "count_here", "data": f"line {number}"} for number in range(2)]
    assert text_of(too_fine) == text_of(unasked) == "counted"
    assert unasked.headers["content-type"] == "application/json"


async def test_task_for_an_operator_to_approve_looks_like_any_other(client: Client) -> None:
    created = result_of(await call(client, "deploy", {"service": "web"}, tasks=True))
    got = result_of(await client.modern("tasks/get", {"taskId": created["taskId"]}, tasks=True))

    for shown in (created, got):
        assert shown["status"] == "working"
        assert shown["statusMessage"] == "Waiting for an operator's approval"
        assert "inputRequests" not in shown


@pytest.mark.usefixtures("worker")
async def test_task_that_a_tool_invents_is_refused(client: Client) -> None:
    """check 9, check 120."""
    answer = await call(client, "fake_task")

    assert result_of(answer)["isError"] is True
    assert "task of its own making" in text_of(answer)
    assert "made-up" not in answer.body.decode()


async def test_same_key_gives_the_same_task_and_another_call_is_refused(client: Client) -> None:
    headers = {"Idempotency-Key": "k-1"}

    first = await call(client, "echo", {"text": "a"}, tasks=True, headers=headers)
    again = await call(client, "echo", {"text": "a"}, tasks=True, headers=headers)
    other = await call(client, "echo", {"text": "b"}, tasks=True, headers=headers)

    assert result_of(again)["taskId"] == result_of(first)["taskId"]
    assert (other.status, other.error["code"]) == (400, -32602)
    assert other.error["data"] == {"reason": "key_conflict"}
    assert await count_tasks() == 1


@pytest.mark.usefixtures("worker")
async def test_same_key_gives_the_result_to_a_caller_that_waits_and_the_task_to_one_that_does_not(
    client: Client,
) -> None:
    key = {"_meta": {"taskdeck/idempotencyKey": "k-2"}}

    first = await call(client, "echo", params=key)
    again = await call(client, "echo", params=key)
    as_task = await call(client, "echo", params=key, tasks=True)

    assert text_of(first) == text_of(again) == "hello while you wait"
    assert result_of(as_task)["status"] == "completed"
    assert (await only_task()).waiting is False, "its id was given away"


async def test_quota_is_an_error_that_says_so_until_a_place_is_free(client: Client, settings: Settings) -> None:
    """check 96."""
    settings.TASKDECK_LIVE_TASKS = 1

    first = result_of(await call(client, "echo", tasks=True))
    answer = await call(client, "echo", tasks=True)
    await client.modern("tasks/cancel", {"taskId": first["taskId"]}, tasks=True)
    after = await call(client, "echo", tasks=True)

    assert answer.status == 200
    assert answer.error["code"] == -32603
    assert answer.error["data"] == {"reason": "quota", "limit": 1}
    assert result_of(after)["resultType"] == "task"


async def test_tool_is_run_only_with_the_scope_for_it(alice: Person, make_token: TokenMaker, served: None) -> None:
    token = await in_thread(make_token, alice, Scope.READ)

    answer = await call(Client(endpoint, token=token), "echo", tasks=True)

    assert answer.status == 403
    assert 'scope="tasks:run"' in answer.headers["www-authenticate"]
    assert await count_tasks() == 0


def test_call_that_becomes_a_task_tells_the_store_everything_about_itself() -> None:
    tool = registry.get("deploy")
    assert tool is not None

    new = new_task(a_call(idempotency_key="k"), Wanted(tool, {"service": "web"}), waiting=True)

    assert (new.owner_id, new.credential_id, new.key, new.client, new.request_id) == (7, 8, "k", "tester/1", "req-1")
    assert (new.tool, new.tool_version, new.arguments, new.waiting) == ("deploy", 1, {"service": "web"}, True)
    assert (new.ttl_ms, new.max_retries, new.poll_ms) == (NOT_ASKED, 3, 5_000)
    assert new.approval is not None
    assert "deploy" in new.approval["message"]
    assert '"service": "web"' in new.approval["message"]
    assert new.approval["requestedSchema"] == {"type": "object", "properties": {}}
    slow = registry.get("slow_sum")
    assert slow is not None
    assert poll_ms(slow) == 3_000


async def test_task_is_stored_before_its_id_is_told(client: Client) -> None:
    """check 1, check 8, check 53: what the answer names can be read at once."""
    created = result_of(await call(client, "echo", tasks=True))

    got = result_of(await client.modern("tasks/get", {"taskId": created["taskId"]}, tasks=True))

    assert (got["taskId"], got["status"], got["createdAt"]) == (created["taskId"], "working", created["createdAt"])
    assert str((await only_task()).id) == created["taskId"]


@pytest.fixture
async def failing_commits(served: None) -> AsyncIterator[None]:
    """Every new task is inserted and then lost: its transaction fails at the commit, not before."""
    await in_thread(life.sql, FAIL_AT_COMMIT)
    yield
    await in_thread(life.sql, "DROP FUNCTION fail_at_commit() CASCADE")


@pytest.mark.usefixtures("failing_commits")
@pytest.mark.parametrize("key", ["-", "order-7"])
@pytest.mark.parametrize("tasks", [True, False])
async def test_call_whose_commit_fails_is_an_error_without_an_id_and_without_a_hint(
    client: Client, monkeypatch: pytest.MonkeyPatch, tasks: bool, key: str
) -> None:
    """check 53: alone and in a batch, as a task and while the caller waits."""
    hinted: list[None] = []
    monkeypatch.setattr(hints, "send", lambda: hinted.append(None))

    answers = await asyncio.gather(
        *(call(client, "echo", tasks=tasks, headers={"idempotency-key": key}) for _ in range(3))
    )

    assert {answer.error["code"] for answer in answers} == {-32603}
    assert not any(b"taskId" in answer.body for answer in answers)
    assert (await count_tasks(), hinted) == (0, [])
