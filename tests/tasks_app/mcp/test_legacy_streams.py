"""Open streams of 2025-11-25: what a client hears and is asked while it waits, and how it finds a lost stream again."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from tasks_app import bus, store
from tasks_app.conf import conf
from tasks_app.domain.clock import FrozenClock
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.mcp import legacy_news, legacy_streams
from tasks_app.mcp.pool import in_thread
from tasks_app.store import hidden, queries
from tests.asgi_client import Client, Exchange
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import only_task, until_row
from tests.tasks_app.mcp.legacy_client import RELATED, Session, asked, event_ids, heard, response
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("legacy_tools", "worker")]
YES = {"action": "accept", "content": {"confirm": True}}


async def asking(session: Session, tool: str = "confirm_delete", arguments: dict[str, Any] | None = None) -> str:
    """The id of a task that waits for an answer."""
    given = {"filename": "a.txt"} if arguments is None else arguments
    task = await session.make(tool, given)
    await session.until(task["taskId"], "input_required")
    return str(task["taskId"])


async def question_of(task_id: str) -> store.QuestionView:
    """What a task asks."""
    return (await in_thread(queries.open_questions, UUID(task_id)))[0]


def text(message: dict[str, Any]) -> str:
    """What the tool said in a response."""
    return str(message["result"]["content"][0]["text"])


def statuses(exchange: Exchange) -> list[str]:
    """The statuses that a stream told of."""
    found = [each for each in exchange.answer.events if each.get("method") == "notifications/tasks/status"]
    return [each["params"]["status"] for each in found]


async def test_question_of_a_task_is_asked_on_the_stream_that_waits_for_it(session: Session) -> None:
    """Traps 6 and 19: the id names task and question, and the answer is accepted without a word."""
    task_id = await asking(session)

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        request = await asked(waiting)
        answer = await session.respond(request["id"], YES)
        message = await response(waiting)

    task, _, key = request["id"].partition("/")
    assert task == task_id
    assert key.startswith("confirm-")
    assert request["params"]["mode"] == "form"
    assert request["params"]["message"] == "Delete a.txt?"
    assert request["params"]["requestedSchema"]["properties"].keys() == {"confirm"}
    assert request["params"]["_meta"] == {RELATED: {"taskId": task_id}}
    assert (answer.status, answer.body) == (202, b"")
    assert text(message) == "a.txt deleted"


async def test_stream_that_is_opened_again_repeats_the_question(session: Session) -> None:
    task_id = await asking(session)
    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        first = await asked(waiting)

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        again = await asked(waiting)

    assert again == first
    assert (await session.get(task_id))["status"] == "input_required"


async def test_two_questions_are_answered_in_any_order(session: Session) -> None:
    task_id = await asking(session, "two_questions", {})

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        await waiting.until(b"Sure?")
        await waiting.until(b"Who?")
        requests = {each["params"]["message"]: each["id"] for each in waiting.answer.events if "id" in each}
        await session.respond(requests["Sure?"], YES)
        await session.respond(requests["Who?"], {"action": "accept", "content": {"name": "Ana"}})
        message = await response(waiting)

    assert text(message) == "Ana True"


@pytest.mark.parametrize(
    ("tool", "method", "result", "said"),
    [
        (
            "asks_model",
            "sampling/createMessage",
            {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "hm"}, "stopReason": "endTurn"},
            "hm",
        ),
        ("asks_roots", "roots/list", {"roots": [{"uri": "file:///srv", "name": "srv"}], "_meta": {}}, "file:///srv"),
        ("asks_visit", "elicitation/create", {"action": "accept"}, "accept"),
        ("asks_visit", "elicitation/create", {"action": "decline"}, "decline"),
    ],
)
async def test_every_kind_of_question_goes_out_and_comes_back(
    session: Session, tool: str, method: str, result: Any, said: str
) -> None:
    task_id = await asking(session, tool, {})

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        request = await asked(waiting, method)
        await session.respond(request["id"], result)
        message = await response(waiting)

    assert text(message) == said
    if tool == "asks_visit":
        assert request["params"]["mode"] == "url"
        assert request["params"]["elicitationId"] == request["id"]


@pytest.mark.parametrize(
    ("tool", "error", "said"),
    [
        ("confirm_delete", {"code": -32603, "message": "the window was closed"}, "a.txt kept"),
        ("asks_model", {"code": -1, "message": "User rejected sampling request"}, "no thought: decline"),
        ("asks_model", {"code": -32601, "message": "Method not found"}, "no thought: cancel"),
    ],
)
async def test_error_is_an_answer_that_gives_nothing(session: Session, tool: str, error: Any, said: str) -> None:
    task_id = await asking(session, tool, {"filename": "a.txt"} if tool == "confirm_delete" else {})
    key = (await question_of(task_id)).key

    answer = await session.respond(f"{task_id}/{key}", error=error)

    assert answer.status == 202
    assert text({"result": await session.result("tasks/result", {"taskId": task_id})}) == said


@pytest.mark.parametrize("content", [{"confirm": "yes"}, {}, None])
async def test_answer_that_does_not_fit_is_refused_and_the_question_stays(session: Session, content: Any) -> None:
    task_id = await asking(session)

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        request = await asked(waiting)
        refused = await session.respond(request["id"], {"action": "accept", "content": content})
        status = (await session.get(task_id))["status"]
        await session.respond(request["id"], YES)
        message = await response(waiting)

    assert refused.status == 400
    assert refused.error["code"] == -32602
    assert "confirm" in refused.error["data"]["fields"]
    assert status == "input_required"
    assert text(message) == "a.txt deleted"


async def test_fields_that_nobody_asked_for_are_tolerated(session: Session) -> None:
    """Trap 14."""
    task_id = await asking(session)
    key = (await question_of(task_id)).key

    more = {"action": "accept", "content": {"confirm": True, "name": "x"}}
    answer = await session.respond(f"{task_id}/{key}", more)

    assert answer.status == 202
    assert (await session.ended(task_id))["status"] == "completed"


async def test_first_answer_wins(session: Session) -> None:
    task_id = await asking(session)
    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        request = await asked(waiting)
        await session.respond(request["id"], {"action": "decline"})
        late = await session.respond(request["id"], YES)
        message = await response(waiting)

    after = await session.respond(request["id"], YES)

    assert (late.status, after.status) == (202, 202)
    assert text(message) == "a.txt kept"


async def test_nobody_else_can_answer(session: Session, eve_client: Client) -> None:
    task_id = await asking(session)
    key = (await question_of(task_id)).key
    theirs = await Session.begin(eve_client)

    foreign = await theirs.respond(f"{task_id}/{key}", YES)
    unknown = await theirs.respond("made up", YES)

    assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (202, b"")
    assert (await session.get(task_id))["status"] == "input_required"


async def test_client_that_cannot_answer_is_not_asked_and_hears_the_end(client: Client, alice: Person) -> None:
    session = await Session.begin(client)
    task_id = await asking(session)

    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        await waiting.until(b"retry: ")
        question = await question_of(task_id)
        answers = {question.key: store.Answer(AnswerAction.ACCEPT, {"confirm": True})}
        await in_thread(store.answer, question.task_id, answers, owner_id=alice.id, by=alice.acts(), via=Via.CONSOLE)
        message = await response(waiting)

    assert text(message) == "a.txt deleted"
    assert [each for each in waiting.answer.events if each.get("method") == "elicitation/create"] == []


async def test_address_is_only_given_to_a_client_that_knows_addresses(client: Client) -> None:
    session = await Session.begin(client, capabilities={"elicitation": {}})
    form = await asking(session)
    visit = await asking(session, "asks_visit", {})

    async with (
        session.opened("tasks/result", {"taskId": visit}, id=1) as silent,
        session.opened("tasks/result", {"taskId": form}, id=2) as asks,
    ):
        await asked(asks)
        await silent.until(b"retry: ")

    assert silent.answer.events == []


async def test_waiting_call_is_asked_on_its_own_stream(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client knows of no task, and the time in which it thinks does not count."""
    clock = FrozenClock()
    monkeypatch.setattr(legacy_streams, "time", clock)

    params = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}
    async with session.opened("tools/call", params) as waiting:
        request = await asked(waiting)
        clock.advance(10 * conf().sync_budget)
        await session.respond(request["id"], YES)
        message = await response(waiting)

    assert "_meta" not in request["params"]
    assert text(message) == "a.txt deleted"
    assert "_meta" not in message["result"]


async def test_waiting_call_of_an_older_revision_is_asked_in_its_words(client: Client) -> None:
    session = await Session.begin(client, capabilities={"elicitation": {}}, version="2025-06-18")
    params = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}

    async with session.opened("tools/call", params) as waiting:
        request = await asked(waiting)
        await session.respond(request["id"], YES)
        message = await response(waiting)

    assert request["params"].keys() == {"message", "requestedSchema"}
    assert text(message) == "a.txt deleted"


async def test_waiting_call_that_cannot_be_asked_is_told_the_id(client: Client) -> None:
    session = await Session.begin(client)

    answer = await session.result("tools/call", {"name": "confirm_delete", "arguments": {"filename": "a.txt"}})

    task = await only_task()
    assert str(task.id) in answer["content"][0]["text"]
    assert (task.status, task.waiting) == ("input_required", False)


async def test_progress_keeps_the_token_of_the_call_for_the_life_of_the_task(
    session: Session, legacy_tools: threading.Event
) -> None:
    task = await session.make("counts", _meta={"progressToken": "p-11"})

    async with session.opened("tasks/result", {"taskId": task["taskId"]}) as waiting:
        first = await heard(waiting, lambda message: message.get("method") == "notifications/progress")
        legacy_tools.set()
        await response(waiting)

    progress = [each["params"] for each in waiting.answer.events if each.get("method") == "notifications/progress"]
    assert first["params"] == {
        "progressToken": "p-11",
        "progress": 1.0,
        "total": 2.0,
        "message": "half way",
        "_meta": {RELATED: {"taskId": task["taskId"]}},
    }
    done = [each["progress"] for each in progress]
    assert done == sorted(set(done))


async def test_waiting_call_hears_of_progress(session: Session, legacy_tools: threading.Event) -> None:
    async with session.opened("tools/call", {"name": "counts", "_meta": {"progressToken": 3}}) as waiting:
        first = await heard(waiting, lambda message: message.get("method") == "notifications/progress")
        legacy_tools.set()
        await response(waiting)

    assert first["params"] == {"progressToken": 3, "progress": 1.0, "total": 2.0, "message": "half way"}


async def test_every_move_is_told_once_however_many_streams_are_open(session: Session) -> None:
    """A message goes out on exactly one stream: where a task stands, on the standing one."""
    async with session.stream() as standing:
        await heard_nothing_yet(standing)
        task_id = await asking(session)
        async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
            request = await asked(waiting)
            await session.respond(request["id"], YES)
            await response(waiting)
            await heard(standing, lambda each: each["params"]["status"] == "completed")

    told = statuses(standing)
    assert (told[0], told[-1]) == ("input_required", "completed")
    assert set(told[1:-1]) <= {"working"}
    assert len(told) <= 3
    assert statuses(waiting) == []
    assert [each["id"] for each in waiting.answer.events] == [request["id"], 1]


async def test_call_that_asked_on_a_lost_stream_is_not_abandoned(session: Session) -> None:
    """2025-11-25: a disconnect is not a cancel, however long the person thinks."""
    params = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}
    async with session.opened("tools/call", params, id="lost") as waiting:
        request = await asked(waiting)
    await in_thread(_age)

    cancelled = await in_thread(hidden.cancel_abandoned)
    await session.respond(request["id"], YES)
    async with session.stream(after=event_ids(waiting.answer)[-1]) as resumed:
        message = await response(resumed, id="lost")

    assert cancelled == 0
    assert text(message) == "a.txt deleted"


def _age() -> None:
    with transaction.atomic():
        life.act_as(Actor.system(via="tests"))
        life.sql("UPDATE tasks_task SET status_at = status_at - interval '11 minutes'")


async def test_standing_stream_tells_of_every_task_that_moves(session: Session) -> None:
    async with session.stream() as standing:
        await heard_nothing_yet(standing)
        task_id = await asking(session)
        message = await heard(standing, lambda each: each["params"]["status"] == "input_required")
        await session.result("tasks/cancel", {"taskId": task_id})
        await heard(standing, lambda each: each["params"]["status"] == "cancelled")

    assert message["params"]["taskId"] == task_id
    assert message["params"].keys() >= {"createdAt", "lastUpdatedAt", "ttl", "status"}
    assert {each["method"] for each in standing.answer.events} == {"notifications/tasks/status"}


async def heard_nothing_yet(standing: Exchange) -> None:
    """The stream is open, so from here on everything is told."""
    await standing.until(b"\r\n\r\n")


async def test_standing_stream_tells_of_what_the_bus_kept_silent_about(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "announce", lambda change: None)
    monkeypatch.setattr(legacy_news, "REREAD_SECONDS", 0.2)

    async with session.stream() as standing:
        await heard_nothing_yet(standing)
        task_id = await asking(session)
        await heard(standing, lambda each: each["params"]["status"] == "input_required")
        await session.result("tasks/cancel", {"taskId": task_id})
        await heard(standing, lambda each: each["params"]["status"] == "cancelled")
        quick = await session.make("echo")
        await heard(standing, lambda each: each["params"]["taskId"] == quick["taskId"])

    assert [(each["params"]["taskId"], each["params"]["status"]) for each in standing.answer.events] == [
        (task_id, "input_required"),
        (task_id, "cancelled"),
        (quick["taskId"], "completed"),
    ]


async def test_standing_stream_says_nothing_of_how_things_stood_before(session: Session) -> None:
    before = await asking(session)

    async with session.stream() as standing:
        await heard_nothing_yet(standing)
        await session.ended((await session.make("echo"))["taskId"])
        await heard(standing, lambda each: each["params"]["status"] == "completed")

    assert before not in {each["params"]["taskId"] for each in standing.answer.events}


async def test_standing_stream_is_silent_about_others_and_about_hidden_tasks(
    session: Session, eve_client: Client
) -> None:
    theirs = await Session.begin(eve_client)

    async with session.stream() as standing:
        await heard_nothing_yet(standing)
        await session.result("tools/call", {"name": "echo"})
        await theirs.ended((await theirs.make("echo"))["taskId"])
        mine = await session.make("echo")
        message = await heard(standing, lambda each: True)

    assert message["params"]["taskId"] == mine["taskId"]


@pytest.mark.parametrize("method", ["tools/call", "tasks/result"])
async def test_lost_stream_is_found_again_by_its_last_event(
    session: Session, legacy_tools: threading.Event, method: str
) -> None:
    """The response comes with the id of the request that was lost."""
    params: dict[str, Any] = {"name": "through_the_gate"}
    if method == "tasks/result":
        params = {"taskId": (await session.make("through_the_gate"))["taskId"]}
    async with session.opened(method, params, id="lost") as waiting:
        await waiting.until(b"retry: ")
    [last] = event_ids(waiting.answer)

    async with session.stream(after=last) as resumed:
        await resumed.until(b"retry: ")
        legacy_tools.set()
        message = await response(resumed, id="lost")

    assert text(message) == "through"
    assert (RELATED in message["result"].get("_meta", {})) == (method == "tasks/result")
    assert last not in event_ids(resumed.answer)


async def test_lost_stream_of_a_task_that_failed_ends_with_its_error(session: Session) -> None:
    task_id = await asking(session)
    async with session.opened("tasks/result", {"taskId": task_id}, id=0) as waiting:
        await asked(waiting)
    await session.result("tasks/cancel", {"taskId": task_id})

    async with session.stream(after=event_ids(waiting.answer)[-1]) as resumed:
        message = await response(resumed, id=0)

    assert message["error"]["code"] == -32603


@pytest.mark.parametrize("event", ["made up", "a.b.c.d", "{task}.r.1.!!!", "{task}.r.x.MQ==", "{task}.q.1.MQ=="])
async def test_event_that_is_not_ours_is_refused(session: Session, event: str) -> None:
    task = await session.make("echo")

    async with session.stream(after=event.format(task=task["taskId"])) as resumed:
        await asyncio.wait_for(resumed.ended.wait(), 5)

    assert resumed.answer.status == 400
    assert resumed.answer.error["code"] == -32602


async def test_stream_of_another_owner_cannot_be_resumed(session: Session, eve_client: Client) -> None:
    task_id = await asking(session)
    async with session.opened("tasks/result", {"taskId": task_id}) as waiting:
        await asked(waiting)
    theirs = await Session.begin(eve_client)

    async with (
        theirs.stream(after=event_ids(waiting.answer)[-1]) as foreign,
        theirs.stream(after="made up") as unknown,
    ):
        await asyncio.wait_for(foreign.ended.wait(), 5)
        await asyncio.wait_for(unknown.ended.wait(), 5)

    assert foreign.answer.status == 400
    assert foreign.answer.body == unknown.answer.body


async def test_client_that_takes_back_a_waiting_call_cancels_its_hidden_task(session: Session) -> None:
    async with session.opened("tools/call", {"name": "through_the_gate"}, id="c-1") as waiting:
        await waiting.until(b"retry: ")
        other = await session.notify("notifications/cancelled", {"requestId": "c-2"})
        taken_back = await session.notify("notifications/cancelled", {"requestId": "c-1", "reason": "too slow"})
        message = await response(waiting, id="c-1")

    task = await only_task()
    assert (other.status, taken_back.status) == (202, 202)
    assert message["error"]["code"] == -32603
    assert task.status == "cancelled"


async def test_client_that_takes_back_a_call_of_this_process_stops_it(session: Session) -> None:
    await session.request("logging/setLevel", {"level": "debug"})

    async with session.opened("tools/call", {"name": "waits_here"}, id=7) as waiting:
        await waiting.until(b"waiting")
        await session.notify("notifications/cancelled", {"requestId": 7})
        message = await response(waiting, id=7)

    assert message["error"]["code"] == -32603
    assert message["error"]["data"] == {"reason": "cancelled"}


async def test_taking_back_a_request_for_a_result_leaves_the_task_alone(
    session: Session, legacy_tools: threading.Event
) -> None:
    """A task is only cancelled by `tasks/cancel`."""
    task = await session.make("through_the_gate")

    async with session.opened("tasks/result", {"taskId": task["taskId"]}, id=5) as waiting:
        await waiting.until(b"retry: ")
        await session.notify("notifications/cancelled", {"requestId": 5})
        legacy_tools.set()
        message = await response(waiting, id=5)

    assert text(message) == "through"


@pytest.mark.parametrize("request_id", [None, True, 1.5, {}, []])
async def test_taking_back_what_is_no_request_changes_nothing(session: Session, request_id: Any) -> None:
    answer = await session.notify("notifications/cancelled", {"requestId": request_id})

    assert answer.status == 202


async def test_leaving_the_stream_of_a_task_changes_nothing(session: Session, legacy_tools: threading.Event) -> None:
    """Trap 12."""
    task = await session.make("through_the_gate")
    async with session.opened("tasks/result", {"taskId": task["taskId"]}) as waiting:
        await waiting.until(b"retry: ")
    legacy_tools.set()

    row = await until_row(lambda each: each.finished_at is not None)

    assert row.status == "completed"
