"""`tasks/*` of 2025-11-25: reading, waiting for, listing and cancelling one's own tasks."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from uuid import uuid4

import pytest

from tasks_app import store
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Event, Fetch, Task
from tests.asgi_client import Client
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import get, result_of
from tests.tasks_app.mcp.legacy_client import RELATED, Session, last_message, response
from tests.tasks_app.store import life
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("legacy_tools")]
NAMED = ("tasks/get", "tasks/result", "tasks/cancel")


async def made(owner: Person, **values: Any) -> str:
    """A task that nobody runs."""
    return str((await in_thread(life.created, owner, **values)).id)


@pytest.mark.usefixtures("worker")
async def test_task_is_flat_and_says_nothing_of_being_related(session: Session) -> None:
    """check 10, trap 6."""
    task = await session.make("echo")

    shown = await session.ended(task["taskId"])

    assert shown.keys() == {"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
    assert shown["taskId"] == task["taskId"]
    assert shown["createdAt"] == task["createdAt"]
    assert shown["lastUpdatedAt"] > task["lastUpdatedAt"]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("tool", "legacy", "modern"),
    [("echo", "completed", "completed"), ("fail_softly", "failed", "completed"), ("fail_hard", "failed", "failed")],
)
async def test_each_dialect_has_its_own_word_for_an_outcome(
    session: Session, tool: str, legacy: str, modern: str
) -> None:
    """Trap 1."""
    task = await session.make(tool)
    shown = await session.ended(task["taskId"])

    assert shown["status"] == legacy
    assert (await get(session.client, task["taskId"]))["status"] == modern


@pytest.mark.usefixtures("worker")
async def test_result_of_a_failed_tool_is_a_result(session: Session) -> None:
    task = await session.make("fail_softly")

    result = await session.result("tasks/result", {"taskId": task["taskId"]})

    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "this went wrong"}]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("tool", "why"), [("fail_softly", "this went wrong"), ("fails_half_way", "x" * 500)])
async def test_failed_task_says_why_and_not_how_far_it_had_come(session: Session, tool: str, why: str) -> None:
    task = await session.make(tool)

    shown = await session.ended(task["taskId"])
    [listed] = (await session.result("tasks/list"))["tasks"]

    assert (shown["status"], shown["statusMessage"]) == ("failed", why)
    assert (listed["status"], listed["statusMessage"]) == ("failed", "The tool reported an error.")


@pytest.mark.usefixtures("worker")
async def test_protocol_error_of_a_tool_is_the_error_of_its_result(session: Session) -> None:
    task = await session.make("fail_hard")
    await session.ended(task["taskId"])

    error = await session.error("tasks/result", {"taskId": task["taskId"]})

    assert error == {"code": -32050, "message": "no such planet", "data": {"planet": "Vulcan"}}
    assert (await session.get(task["taskId"]))["statusMessage"] == "no such planet"


@pytest.mark.usefixtures("worker")
async def test_notes_of_a_tool_stay_beside_the_task(session: Session) -> None:
    task = await session.make("with_meta")

    result = await session.result("tasks/result", {"taskId": task["taskId"]})

    assert result["_meta"] == {"example.com/note": 1, RELATED: {"taskId": task["taskId"]}}


@pytest.mark.usefixtures("worker")
async def test_result_is_waited_for(session: Session, legacy_tools: threading.Event) -> None:
    """check 12, as 2025-11-25 demands it: neither an error nor an empty result."""
    task = await session.make("through_the_gate")

    async with session.opened("tasks/result", {"taskId": task["taskId"]}, id="r") as waiting:
        await waiting.until(b"retry: ")
        assert waiting.answer.events == []
        legacy_tools.set()
        message = await response(waiting, id="r")
        await asyncio.wait_for(waiting.ended.wait(), 5)

    assert waiting.answer.headers["content-type"] == "text/event-stream"
    assert message["result"]["content"] == [{"type": "text", "text": "through"}]
    assert message["result"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}


@pytest.mark.usefixtures("worker")
async def test_result_that_is_there_comes_as_plain_json_and_is_noted(session: Session) -> None:
    task = await session.make("echo")
    await session.ended(task["taskId"])

    answer = await session.request("tasks/result", {"taskId": task["taskId"]})

    assert answer.headers["content-type"] == "application/json"
    assert await in_thread(Fetch.objects.filter(task_id=task["taskId"]).count) == 1


@pytest.mark.usefixtures("worker")
async def test_cancel_shows_the_task_as_cancelled_at_once(session: Session) -> None:
    """check 14, trap 2."""
    task = await session.make("sleep")

    shown = await session.result("tasks/cancel", {"taskId": task["taskId"]})
    again = await session.error("tasks/cancel", {"taskId": task["taskId"]})
    acknowledged = await session.client.modern("tasks/cancel", {"taskId": task["taskId"]}, tasks=True)

    assert shown["status"] == "cancelled"
    assert shown == await session.get(task["taskId"])
    assert again["code"] == -32602
    assert acknowledged.status == 200


async def test_cancel_says_who_did_it(session: Session, alice: Person) -> None:
    task_id = await made(alice)

    await session.result("tasks/cancel", {"taskId": task_id})

    event = await in_thread(Event.objects.get, task_id=task_id, to_status="cancelled")
    assert event.actor["kind"] == "client"
    assert event.actor["id"] == alice.id
    assert event.actor["credential"] is not None


@pytest.mark.parametrize("when", ["before", "while waiting"])
async def test_result_of_a_cancelled_task_is_an_error(session: Session, alice: Person, when: str) -> None:
    task_id = await made(alice)

    if when == "before":
        await session.result("tasks/cancel", {"taskId": task_id})
        message = last_message(await session.request("tasks/result", {"taskId": task_id}))
    else:
        async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
            await waiting.until(b"retry: ")
            await session.request("tasks/cancel", {"taskId": task_id}, id=2)
            message = await response(waiting)

    assert message["error"]["code"] == -32603
    assert "cancelled" in message["error"]["message"]
    assert message["error"]["data"]["status"] == "cancelled"


async def test_task_that_expires_while_it_is_waited_for_says_so(session: Session, alice: Person) -> None:
    """check 89: a lifetime shorter than the work ends it with a word, never silently."""
    task_id = await made(alice, ttl_ms=300)

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        await waiting.until(b"retry: ")
        await in_thread(until, store.expire)
        message = await response(waiting)

    assert message["error"]["code"] == -32603
    assert message["error"]["data"] == {"reason": "expired"}


async def test_unknown_foreign_and_expired_look_the_same(
    session: Session, alice: Person, eve: Person, eve_client: Client
) -> None:
    """check 92, trap 16: byte for byte, whatever is asked."""
    expired = await made(alice, ttl_ms=1)
    foreign = await made(eve)
    await in_thread(until, store.expire)

    answers = {
        method: [await session.request(method, {"taskId": id_}) for id_ in (str(uuid4()), foreign, expired, "made up")]
        for method in NAMED
    }

    for found in answers.values():
        assert {answer.status for answer in found} == {200}
        assert len({answer.body for answer in found}) == 1
        assert found[0].error["code"] == -32602
    theirs = await Session.begin(eve_client)
    assert (await theirs.get(foreign))["status"] == "working"


@pytest.mark.parametrize("method", NAMED)
@pytest.mark.parametrize("params", [{}, {"taskId": 7}, {"taskId": None}], ids=str)
async def test_task_must_be_named(session: Session, method: str, params: dict[str, Any]) -> None:
    error = await session.error(method, params)

    assert error["code"] == -32602


async def test_list_pages_through_ones_own_tasks_newest_first(session: Session, alice: Person, eve: Person) -> None:
    """check 13: every task once, none of another's, and nothing moves when a new one comes."""
    mine = [await made(alice) for _ in range(57)]
    for _ in range(3):
        await made(eve)

    first = await session.result("tasks/list")
    await made(alice)
    second = await session.result("tasks/list", {"cursor": first["nextCursor"]})

    assert [task["taskId"] for task in first["tasks"] + second["tasks"]] == mine[::-1]
    assert (len(first["tasks"]), len(second["tasks"])) == (50, 7)
    assert "nextCursor" not in second
    assert "_meta" not in first


@pytest.mark.parametrize("cursor", ["made up", "", 7, {}, "eyJ.eyJ.eyJ"])
async def test_cursor_that_is_not_ours_is_refused(session: Session, cursor: Any) -> None:
    error = await session.error("tasks/list", {"cursor": cursor})

    assert error["code"] == -32602


async def test_cursor_of_another_owner_is_refused(session: Session, alice: Person, eve_client: Client) -> None:
    for _ in range(51):
        await made(alice)
    cursor = (await session.result("tasks/list"))["nextCursor"]

    theirs = await Session.begin(eve_client)
    error = await theirs.error("tasks/list", {"cursor": cursor})

    assert error["code"] == -32602


@pytest.mark.usefixtures("worker")
async def test_progress_and_variables_stand_under_names_of_our_own(session: Session) -> None:
    """check 3, check 84, check 86, check 130."""
    task = await session.make("steps")

    shown = await session.until(task["taskId"], "input_required")

    assert shown["statusMessage"] == "half way"
    assert shown["_meta"] == {
        "taskdeck/variables": {"phase": "first"},
        "taskdeck/progress": {"done": 1.0, "total": 2.0},
        "taskdeck/steps": [{"name": "look", "state": "done"}, {"name": "end", "state": "pending"}],
    }


async def test_task_that_waits_for_an_operator_is_shown_as_working(session: Session) -> None:
    task = await session.make("deploy", {"service": "web"})

    shown = await session.get(task["taskId"])
    [listed] = (await session.result("tasks/list"))["tasks"]

    assert (await in_thread(Task.objects.get)).status == "input_required"
    assert shown["status"] == listed["status"] == task["status"] == "working"
    assert shown["statusMessage"] == "Waiting for an operator's approval"


@pytest.mark.usefixtures("worker")
async def test_both_dialects_see_the_same_task(session: Session) -> None:
    asked = await session.client.modern("tools/call", {"name": "echo", "arguments": {}}, tasks=True)
    task_id = result_of(asked)["taskId"]

    shown = await session.ended(task_id)
    result = await session.result("tasks/result", {"taskId": task_id})

    assert shown["status"] == "completed"
    assert result["content"] == (await get(session.client, task_id))["result"]["content"]
