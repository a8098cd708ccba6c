"""`tasks/get`, `tasks/update` and `tasks/cancel` of 2026-07-28."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from tasks_app import store
from tasks_app.mcp import background
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Fetch
from tasks_app.store import queries
from tests.asgi_client import Client
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import asking, ended, get, result_of, until
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
YES = {"action": "accept", "content": {"confirm": True}}
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


async def made(client: Client, name: str, arguments: dict[str, Any] | None = None) -> str:
    """The id of a new task."""
    answer = await client.modern("tools/call", {"name": name, "arguments": arguments or {}}, tasks=True)
    return str(result_of(answer)["taskId"])


async def update(client: Client, task_id: str, responses: Any) -> Any:
    """Answer what a task asks."""
    return await client.modern("tasks/update", {"taskId": task_id, "inputResponses": responses}, tasks=True)


def is_consistent(shown: dict[str, Any]) -> bool:
    """Exactly what the status demands is there (check 37)."""
    expected = {"completed": {"result"}, "failed": {"error"}, "input_required": {"inputRequests"}}
    found = shown.keys() & {"result", "error", "inputRequests", "requestState", "task", "ttl", "pollInterval"}
    return shown["resultType"] == "complete" and found == expected.get(shown["status"], set())


@pytest.mark.usefixtures("worker")
async def test_task_shows_what_its_status_demands_and_nothing_else(client: Client) -> None:
    """check 37, check 38, check 39, traps 1, 4 and 5."""
    shown = {
        "result": await ended(client, await made(client, "echo")),
        "tool error": await ended(client, await made(client, "fail_softly")),
        "protocol error": await ended(client, await made(client, "fail_hard")),
    }
    confirm = await made(client, "confirm_delete", {"filename": "a.txt"})
    await asking(client, confirm)
    shown["asking"] = await get(client, confirm)

    assert all(is_consistent(each) for each in shown.values()), shown
    assert all(isinstance(each["ttlMs"], int) and each["pollIntervalMs"] > 0 for each in shown.values())
    assert shown["result"]["result"]["content"] == [{"type": "text", "text": "hello as a task"}]
    assert shown["tool error"]["status"] == "completed"
    assert shown["tool error"]["result"]["isError"] is True
    assert shown["protocol error"]["status"] == "failed"
    assert shown["protocol error"]["error"] == {
        "code": -32050,
        "message": "no such planet",
        "data": {"planet": "Vulcan"},
    }
    assert shown["protocol error"]["statusMessage"] == "no such planet"


@pytest.mark.usefixtures("worker")
async def test_inlined_result_names_no_related_task(client: Client) -> None:
    """check 40, trap 6."""
    shown = await ended(client, await made(client, "echo"))

    assert shown["result"]["resultType"] == "complete"
    assert "related-task" not in str(shown)


@pytest.mark.usefixtures("worker")
async def test_progress_message_and_variables_are_seen_while_the_task_waits(client: Client) -> None:
    """check 3, check 84, check 130."""
    task_id = await made(client, "steps")
    [key] = await asking(client, task_id)
    half = await get(client, task_id)

    await update(client, task_id, {key: YES})
    done = await ended(client, task_id)

    assert half["statusMessage"] == "half way"
    assert half["_meta"]["taskdeck/progress"] == {"done": 1, "total": 2}
    assert half["_meta"]["taskdeck/variables"] == {"phase": "first"}
    assert [step["state"] for step in half["_meta"]["taskdeck/steps"]] == ["done", "pending"]
    assert done["_meta"]["taskdeck/steps"] == [{"name": "look", "state": "done"}, {"name": "end", "state": "done"}]
    assert done["statusMessage"] == "all the way"
    assert done["lastUpdatedAt"] > half["lastUpdatedAt"]


@pytest.mark.usefixtures("worker")
async def test_result_that_was_read_is_noted_once_and_off_the_path_of_the_answer(client: Client) -> None:
    task_id = await made(client, "echo")
    await ended(client, task_id)
    await get(client, task_id)

    await background.finish()

    fetched = await in_thread(lambda: Fetch.objects.get(task_id=task_id))
    assert fetched.times == 1


@pytest.mark.usefixtures("worker")
async def test_answer_is_acknowledged_with_nothing_and_lets_the_task_go_on(client: Client) -> None:
    """check 41."""
    task_id = await made(client, "confirm_delete", {"filename": "a.txt"})
    questions = await asking(client, task_id)
    [[key, question]] = questions.items()

    answer = result_of(await update(client, task_id, {key: YES}))
    done = await ended(client, task_id)

    assert key.startswith("confirm-")
    assert question["method"] == "elicitation/create"
    assert question["params"]["mode"] == "form"
    assert question["params"]["message"] == "Delete a.txt?"
    assert answer.keys() == {"resultType", "_meta"}
    assert answer["_meta"].keys() == {"io.modelcontextprotocol/serverInfo"}
    assert done["result"]["content"][0]["text"] == "a.txt deleted"


@pytest.mark.usefixtures("worker")
async def test_answered_question_is_gone_at_once_while_the_others_stay(client: Client) -> None:
    task_id = await made(client, "two_questions")
    questions = await asking(client, task_id)
    who = next(key for key in questions if key.startswith("who-"))
    sure = next(key for key in questions if key.startswith("sure-"))

    await update(client, task_id, {who: {"action": "accept", "content": {"name": "Ana", "confirm": True}}})
    between = await get(client, task_id)
    await update(client, task_id, {sure: YES, who: {"action": "decline"}})
    done = await ended(client, task_id)

    assert between["status"] == "input_required"
    assert list(between["inputRequests"]) == [sure]
    assert done["result"]["content"][0]["text"] == "Ana True", "the first answer counts, and extra fields are dropped"


@pytest.mark.usefixtures("worker")
async def test_keys_that_nobody_asked_are_acknowledged_named_and_change_nothing(client: Client) -> None:
    """check 43, trap 14."""
    task_id = await made(client, "confirm_delete", {"filename": "a.txt"})
    await asking(client, task_id)
    before = await get(client, task_id)

    answer = result_of(await update(client, task_id, {"unknown": {"ignored": True}, "\x00": 7, "deep": [[[]]]}))
    empty = result_of(await update(client, task_id, {}))

    assert answer["resultType"] == "complete"
    assert sorted(answer["_meta"]["taskdeck/ignored"]) == ["\x00", "deep", "unknown"]
    assert "taskdeck/ignored" not in empty["_meta"]
    assert (await get(client, task_id))["lastUpdatedAt"] == before["lastUpdatedAt"]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    "value",
    [
        7,
        "yes",
        {},
        {"action": "maybe"},
        {"action": ["accept"]},
        {"action": "accept"},
        {"action": "accept", "content": {"confirm": "yes"}},
        {"action": "accept", "content": [True]},
    ],
)
async def test_answer_that_does_not_fit_is_refused_and_the_question_stays(client: Client, value: Any) -> None:
    task_id = await made(client, "two_questions")
    questions = await asking(client, task_id)
    who = next(key for key in questions if key.startswith("who-"))
    sure = next(key for key in questions if key.startswith("sure-"))

    good = {"action": "accept", "content": {"name": "Ana"}}
    answer = await update(client, task_id, {who: good, sure: value})

    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert answer.error["data"]["reason"] == "invalid_answer"
    assert set((await get(client, task_id))["inputRequests"]) == {who, sure}, "none of them was recorded"


@pytest.mark.parametrize("responses", [None, [], "x", 7, True])
async def test_update_without_answers_in_an_object_is_refused(client: Client, responses: Any) -> None:
    """check 42."""
    task_id = await made(client, "echo")

    answer = await update(client, task_id, responses)
    missing = await client.modern("tasks/update", {"taskId": task_id}, tasks=True)

    assert [(each.status, each.error["code"]) for each in (answer, missing)] == [(400, -32602)] * 2


async def test_update_is_held_to_its_limits(client: Client) -> None:
    task_id = await made(client, "echo")

    many = await update(client, task_id, {f"k{number}": {} for number in range(65)})
    large = await update(client, task_id, {"k": {"action": "accept", "content": {"x": "x" * 300_000}}})

    assert [each.error["data"]["reason"] for each in (many, large)] == ["too_many_entries", "answer_too_large"]
    assert [each.error["code"] for each in (many, large)] == [-32602] * 2


async def test_question_for_an_operator_cannot_be_answered_here(client: Client) -> None:
    task_id = await made(client, "deploy", {"service": "web"})
    [question] = await in_thread(queries.open_questions, UUID(task_id))

    answer = result_of(await update(client, task_id, {question.key: {"action": "accept", "content": {}}}))

    assert answer["_meta"]["taskdeck/ignored"] == [question.key]
    assert [each.state for each in await in_thread(queries.open_questions, UUID(task_id))] == ["open"]


async def test_cancel_is_acknowledged_with_nothing_and_holds_at_once(client: Client) -> None:
    """check 41, trap 2."""
    task_id = await made(client, "echo")

    answer = result_of(await client.modern("tasks/cancel", {"taskId": task_id}, tasks=True))
    shown = await get(client, task_id)

    assert answer.keys() == {"resultType", "_meta"}
    assert (shown["status"], shown["statusMessage"]) == ("cancelled", "The task was cancelled.")
    assert is_consistent(shown)


@pytest.mark.usefixtures("worker")
async def test_cancel_of_a_finished_task_is_acknowledged_and_changes_nothing(client: Client) -> None:
    """check 44, trap 2."""
    task_id = await made(client, "echo")
    before = await ended(client, task_id)
    version = (await in_thread(queries.get, UUID(task_id), owner_id=None)).version

    first = result_of(await client.modern("tasks/cancel", {"taskId": task_id}, tasks=True))
    again = result_of(await client.modern("tasks/cancel", {"taskId": task_id}, tasks=True))

    assert first == again
    assert await get(client, task_id) == before
    assert (await in_thread(queries.get, UUID(task_id), owner_id=None)).version == version


@pytest.mark.usefixtures("worker")
async def test_cancelled_task_stays_cancelled_and_its_tool_stops(client: Client) -> None:
    task_id = await made(client, "sleep")
    await until(client, task_id, lambda _: True)

    await client.modern("tasks/cancel", {"taskId": task_id}, tasks=True)

    assert (await ended(client, task_id))["status"] == "cancelled"


@pytest.mark.parametrize("method", METHODS)
async def test_capability_is_asked_of_every_request_and_before_the_id(client: Client, method: str) -> None:
    """check 34, check 47, trap 11: also of the client that made the task."""
    task_id = await made(client, "echo")

    own = await client.modern(method, {"taskId": task_id, "inputResponses": {}})
    nothing = await client.modern(method, {"taskId": "gate-test", "inputResponses": {}})

    for answer in (own, nothing):
        assert (answer.status, answer.error["code"]) == (400, -32021)
        assert answer.error["data"]["requiredCapabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}}


@pytest.mark.parametrize("method", METHODS)
async def test_foreign_missing_and_malformed_ids_look_the_same(
    client: Client, eve_client: Client, alice: Person, method: str
) -> None:
    """check 54, trap 16: byte for byte, and nothing is changed."""
    asked = await in_thread(life.asking, alice)
    key = await in_thread(life.key, asked)
    task_id = await made(client, "echo")

    async def ask(named: str) -> tuple[int, bytes]:
        params = {"taskId": named, "inputResponses": {key: "garbage"}}
        answer = await eve_client.modern(method, params, tasks=True)
        return answer.status, answer.body

    answers = [await ask(str(asked)), await ask(task_id), await ask(str(uuid4())), await ask("tk_nothing")]

    assert len(set(answers)) == 1
    assert answers[0][0] == 400
    assert b"-32602" in answers[0][1]
    assert (await get(client, task_id))["status"] == "working"


async def test_expired_task_looks_as_if_it_had_never_been(client: Client, alice: Person) -> None:
    expired = await in_thread(life.created, alice, ttl_ms=1)

    past = await client.modern("tasks/get", {"taskId": str(expired.id)}, tasks=True)
    never = await client.modern("tasks/get", {"taskId": str(uuid4())}, tasks=True)

    assert past.body == never.body


@pytest.mark.parametrize("task_id", [None, 7, ["x"], {"a": 1}])
async def test_id_that_is_no_text_is_refused(client: Client, task_id: Any) -> None:
    answer = await client.modern("tasks/get", {"taskId": task_id}, tasks=True)

    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_task_of_the_older_revision_is_shown_in_this_ones_shape(client: Client, alice: Person) -> None:
    """check 57: what is stored is one thing, what is shown another."""
    claim = await in_thread(life.claimed, alice)
    await in_thread(store.complete, claim, result=life.DONE)

    first = await get(client, str(claim.task_id))
    first["result"]["content"].append("mine")
    again = await get(client, str(claim.task_id))

    assert again["result"] == {"resultType": "complete", **life.DONE}


@pytest.mark.parametrize("header", ["other", ""])
async def test_name_header_must_be_the_id(client: Client, header: str) -> None:
    """check 46."""
    task_id = await made(client, "echo")

    wrong = await client.modern("tasks/get", {"taskId": task_id}, tasks=True, headers={"mcp-name": header})

    assert (wrong.status, wrong.error["code"]) == (400, -32020)
