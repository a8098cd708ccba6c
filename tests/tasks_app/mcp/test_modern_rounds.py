"""Multi-round trips of 2026-07-28: a call ends with questions, and comes again with the answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from tasks_app.domain.identity import Scope
from tasks_app.mcp.endpoint import endpoint
from tasks_app.mcp.pool import in_thread
from tasks_app.models import Question
from tests.asgi_client import Answer, Client
from tests.conftest import Person
from tests.tasks_app.mcp.conftest import TokenMaker
from tests.tasks_app.mcp.helpers import asking, count_tasks, ended, only_task, result_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]
FORMS: dict[str, Any] = {"elicitation": {}}


def accept(**content: Any) -> dict[str, Any]:
    """A form that was filled in."""
    return {"action": "accept", "content": content}


async def call(
    client: Client, name: str, arguments: dict[str, Any] | None = None, *, before: Answer | None = None, **more: Any
) -> Answer:
    """One round of a call; `before` is the answer of the round before, whose state is sent along."""
    params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
    if "given" in more:
        params["inputResponses"] = more.pop("given")
    if before is not None:
        params["requestState"] = result_of(before)["requestState"]
    more.setdefault("capabilities", FORMS)
    return await client.modern("tools/call", params | more.pop("params", {}), **more)


async def test_tool_here_asks_by_its_own_names_and_goes_on_with_the_answers(client: Client) -> None:
    """check 45, trap 13."""
    first = await call(client, "introduce")
    second = await call(client, "introduce", before=first, given={"user_name": accept(name="Ana")})
    third = await call(client, "introduce", before=second, given={"colour": accept(choice="blue")})

    asked = result_of(first)
    assert asked["resultType"] == "input_required"
    assert asked.keys() == {"resultType", "inputRequests", "requestState", "_meta"}
    assert asked["inputRequests"]["user_name"]["method"] == "elicitation/create"
    assert asked["inputRequests"]["user_name"]["params"]["message"] == "What is your name?"
    assert list(result_of(second)["inputRequests"]) == ["colour"]
    assert result_of(second)["inputRequests"]["colour"]["params"]["message"] == "Which colour, Ana?"
    assert result_of(second)["requestState"] != asked["requestState"]
    assert result_of(third)["resultType"] == "complete"
    assert text_of(third) == "Ana likes blue."
    assert await count_tasks() == 0


@pytest.mark.usefixtures("worker")
async def test_tool_on_a_worker_asks_by_its_own_names_and_goes_on_with_the_answers(client: Client) -> None:
    first = await call(client, "confirm_delete", {"filename": "a.txt"})
    second = await call(
        client, "confirm_delete", {"filename": "a.txt"}, before=first, given={"confirm": accept(confirm=True)}
    )

    assert list(result_of(first)["inputRequests"]) == ["confirm"]
    assert "taskId" not in first.body.decode()
    assert text_of(second) == "a.txt deleted"
    assert await count_tasks() == 1


@pytest.mark.usefixtures("worker")
async def test_both_answers_may_come_in_rounds_of_their_own(client: Client) -> None:
    first = await call(client, "two_questions")
    second = await call(client, "two_questions", before=first, given={"who": accept(name="Ana")})
    third = await call(client, "two_questions", before=second, given={"sure": {"action": "decline"}})

    assert set(result_of(first)["inputRequests"]) == {"who", "sure"}
    assert list(result_of(second)["inputRequests"]) == ["sure"]
    assert text_of(third) == "Ana False"


@pytest.mark.parametrize("given", [{}, {"wrong_key": accept(name="x")}])
async def test_missing_answers_are_asked_for_again(client: Client, given: dict[str, Any]) -> None:
    first = await call(client, "introduce")
    again = await call(client, "introduce", before=first, given=given)

    assert list(result_of(again)["inputRequests"]) == ["user_name"]


async def test_answers_may_come_with_the_first_round(client: Client) -> None:
    given = {"user_name": accept(name="Ana"), "colour": accept(choice="red"), "extra": {"ignored": True}}

    answer = await call(client, "introduce", given=given)

    assert text_of(answer) == "Ana likes red."


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("name", "question"), [("introduce", "user_name"), ("two_questions", "who")])
async def test_answer_that_does_not_fit_is_refused_and_may_be_corrected(
    client: Client, name: str, question: str
) -> None:
    first = await call(client, name)

    wrong = await call(client, name, before=first, given={question: accept(name=7)})
    right = await call(client, name, before=first, given={question: accept(name="Ana")})

    assert (wrong.status, wrong.error["code"]) == (400, -32602)
    assert wrong.error["data"]["reason"] == "invalid_answer"
    assert question not in result_of(right)["inputRequests"]


async def test_question_may_be_declined(client: Client) -> None:
    first = await call(client, "introduce")
    second = await call(client, "introduce", before=first, given={"user_name": {"action": "decline"}})

    assert text_of(second) == "Nobody."


@pytest.mark.parametrize(
    "change",
    [lambda text: text[:-3] + "abc", lambda text: "x" + text, lambda _: "nonsense", lambda _: 7, lambda _: "\ud800"],
)
async def test_state_that_was_tampered_with_is_refused(client: Client, change: Any) -> None:
    """Trap 13."""
    state = result_of(await call(client, "introduce"))["requestState"]

    answer = await call(client, "introduce", params={"requestState": change(state)})

    assert (answer.status, answer.error["code"]) == (400, -32602)


@pytest.mark.usefixtures("worker")
async def test_state_is_good_only_for_its_owner_its_tool_and_its_arguments(client: Client, eve_client: Client) -> None:
    """Trap 13."""
    first = await call(client, "confirm_delete", {"filename": "a.txt"})
    state = {"requestState": result_of(first)["requestState"]}
    here = {"requestState": result_of(await call(client, "introduce"))["requestState"]}
    yes = {"confirm": accept(confirm=True)}

    others = [
        await call(eve_client, "introduce", params=here, given={"user_name": accept(name="Eve")}),
        await call(eve_client, "confirm_delete", {"filename": "a.txt"}, params=state, given=yes),
        await call(client, "confirm_delete", {"filename": "b.txt"}, params=state, given=yes),
        await call(client, "introduce", params=state, given=yes),
        await client.modern("prompts/get", {"name": "with_context", **state}, capabilities=FORMS),
    ]

    assert [(each.status, each.error["code"]) for each in others] == [(400, -32602)] * 5
    assert (await only_task()).status == "input_required"


async def test_state_is_good_only_for_a_while(client: Client, settings: Settings) -> None:
    settings.TASKDECK_ROUND_TRIP = 0.001
    first = await call(client, "introduce")

    answer = await call(client, "introduce", before=first, given={"user_name": accept(name="Ana")})

    assert answer.error["code"] == -32602
    assert "too old" in answer.error["message"]


async def test_tool_here_asks_only_what_its_client_can_answer(client: Client) -> None:
    none = await call(client, "introduce", capabilities={})
    model = await call(client, "wants_model")

    assert (none.status, none.error["code"]) == (400, -32021)
    assert none.error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert model.error["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.usefixtures("worker")
async def test_tool_on_a_worker_whose_client_cannot_answer_is_left_to_the_console(client: Client) -> None:
    answer = await call(client, "confirm_delete", {"filename": "a.txt"}, capabilities={})

    task = await only_task()
    assert "waits for an answer, which can be given in the console" in text_of(answer)
    assert str(task.id) in text_of(answer)
    assert (task.waiting, task.status) == (False, "input_required")


@pytest.mark.usefixtures("worker")
async def test_hidden_task_that_asks_is_not_kept_longer(client: Client) -> None:
    await call(client, "confirm_delete", {"filename": "a.txt"})

    task = await only_task()
    [question] = await in_thread(lambda: list(Question.objects.all()))
    assert task.waiting is True
    assert task.expires_at - task.created_at == timedelta(hours=1)
    assert question.expires_at <= task.expires_at


@pytest.mark.usefixtures("worker")
async def test_tool_that_asks_first_is_a_task_only_once_nothing_is_open(client: Client) -> None:
    """check 45."""
    first = await call(client, "named_report", tasks=True)
    second = await call(client, "named_report", tasks=True, before=first, given={"user_name": accept(name="Alice")})
    task_id = result_of(second)["taskId"]
    [key] = await asking(client, task_id)
    params = {"taskId": task_id, "inputResponses": {key: accept(text="Facts")}}
    await client.modern("tasks/update", params, tasks=True)
    done = await ended(client, task_id)

    assert result_of(first)["resultType"] == "input_required"
    assert "taskId" not in result_of(first)
    assert result_of(second)["resultType"] == "task"
    assert not result_of(second).keys() & {"requestState", "inputRequests", "result"}
    assert key.startswith("title-"), "what is asked later is asked as a task asks"
    assert done["result"]["content"][0]["text"] == "Facts for Alice"
    assert (await only_task()).waiting is False


@pytest.mark.usefixtures("worker")
async def test_prompt_asks_before_it_speaks(client: Client) -> None:
    first = await client.modern("prompts/get", {"name": "with_context"}, capabilities=FORMS)
    params = {
        "name": "with_context",
        "inputResponses": {"user_context": accept(text="winter")},
        "requestState": result_of(first)["requestState"],
    }
    second = await client.modern("prompts/get", params, capabilities=FORMS)

    assert list(result_of(first)["inputRequests"]) == ["user_context"]
    assert result_of(second)["messages"] == [{"role": "user", "content": {"type": "text", "text": "Given winter, go."}}]


async def test_answers_need_the_scope_for_them(alice: Person, make_token: TokenMaker, served: None) -> None:
    runner = Client(endpoint, token=await in_thread(make_token, alice, Scope.RUN))

    asked = await call(runner, "introduce")
    answer = await call(runner, "introduce", before=asked, given={"user_name": accept(name="Ana")})

    assert result_of(asked)["resultType"] == "input_required"
    assert answer.status == 403
    assert "tasks:answer" in answer.headers["www-authenticate"]


async def test_answers_are_held_to_their_limits(client: Client) -> None:
    many = await call(client, "introduce", given={f"k{number}": {} for number in range(65)})
    large = await call(client, "introduce", given={"user_name": accept(name="x" * 70_000)})

    assert [each.error["data"]["reason"] for each in (many, large)] == ["too_many_entries", "answer_too_large"]
