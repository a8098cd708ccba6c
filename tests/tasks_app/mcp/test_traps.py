"""Where implementations of the protocol go wrong: the traps that no other test of this folder is about."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from tasks_app.engine import Context, tool
from tests.asgi_client import Client
from tests.conformance.scenarios import MODERN, NOT_PASSED, SCENARIOS
from tests.tasks_app.mcp.helpers import asking, ended, get, result_of
from tests.tasks_app.mcp.legacy_client import Session, asked, response

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]

TASKS_SCENARIOS = 10


class Height(BaseModel):
    metres: float


class Name(BaseModel):
    name: str


@pytest.fixture
def measure(modern_tools: None) -> None:
    """A tool that asks for a number with a fraction."""

    @tool(name="measure")
    def measure(ctx: Context) -> str:
        """Ask how high it is."""
        value = ctx.ask("height", Height, message="How high?").value
        return f"{value.metres} m" if value else "unknown"


@pytest.fixture
def ask_again(modern_tools: None) -> None:
    """A tool that asks the same thing three times."""

    @tool(name="ask_again")
    def ask_again(ctx: Context) -> str:
        """Ask for three names."""
        return " ".join(_name(ctx, number) for number in range(3))


def _name(ctx: Context, number: int) -> str:
    value = ctx.ask(f"name_{number}", Name, message="Who?").value
    return value.name if value else "nobody"


async def made(client: Client, name: str, arguments: dict[str, Any] | None = None) -> str:
    """The id of a new task."""
    answer = await client.modern("tools/call", {"name": name, "arguments": arguments or {}}, tasks=True)
    return str(result_of(answer)["taskId"])


async def update(client: Client, task_id: str, key: str, content: dict[str, Any]) -> dict[str, Any]:
    """Accept a question; the result of the update."""
    responses = {key: {"action": "accept", "content": content}}
    params = {"taskId": task_id, "inputResponses": responses}
    return result_of(await client.modern("tasks/update", params, tasks=True))


async def test_outcome_of_a_tool_that_failed_is_told_in_the_words_of_each_dialect(
    session: Session, worker: None
) -> None:
    """Trap 1: also by whoever waits for the result, and not only by a poll."""
    task = await session.make("fail_softly")
    shown = await session.ended(task["taskId"])
    waited = await session.result("tasks/result", {"taskId": task["taskId"]})
    polled = await get(session.client, task["taskId"])

    assert (shown["status"], polled["status"]) == ("failed", "completed")
    assert waited["isError"] is polled["result"]["isError"] is True
    assert "error" not in polled


@pytest.mark.usefixtures("worker", "ask_again")
async def test_key_of_a_question_is_never_used_again(client: Client) -> None:
    """Trap 14: the same question three times has three keys, and an old key answers nothing."""
    task_id = await made(client, "ask_again")
    keys: list[str] = []

    for number in range(3):
        [key] = await asking(client, task_id)
        again = await update(client, task_id, keys[-1], {"name": "late"}) if keys else {}
        keys.append(key)
        assert again.get("_meta", {}).get("taskdeck/ignored", []) == keys[-2:-1]
        assert list(await asking(client, task_id)) == [key]
        await update(client, task_id, key, {"name": f"n{number}"})

    assert len(set(keys)) == 3
    assert (await ended(client, task_id))["result"]["content"][0]["text"] == "n0 n1 n2"


@pytest.mark.usefixtures("worker")
async def test_content_may_hold_more_than_was_asked_for(client: Client) -> None:
    """Trap 14: the conformance suite sends such answers."""
    task_id = await made(client, "confirm_delete", {"filename": "a.txt"})
    [key] = await asking(client, task_id)

    await update(client, task_id, key, {"confirm": True, "comment": "gladly", "more": 1})

    assert (await ended(client, task_id))["result"]["content"][0]["text"] == "a.txt deleted"


def test_scenarios_of_the_tasks_extension_are_run_by_name() -> None:
    """Trap 17: the suite leaves them out of its exit code, so each is named here and read by its own record."""
    scenarios = [name for name in SCENARIOS[MODERN] if name.startswith("tasks-")]

    assert len(scenarios) == TASKS_SCENARIOS
    assert {name for name, _ in NOT_PASSED if name.startswith("tasks-")} == {"tasks-status-notifications"}


@pytest.mark.usefixtures("worker", "measure")
@pytest.mark.parametrize(("metres", "said"), [(95.5, "95.5 m"), (95, "95.0 m")])
async def test_number_with_a_fraction_is_an_answer(client: Client, metres: float, said: str) -> None:
    """Trap 18: the published schema of an answer knows no fractions; the schema that was sent decides."""
    task_id = await made(client, "measure")
    [key] = await asking(client, task_id)

    await update(client, task_id, key, {"metres": metres})

    assert (await ended(client, task_id))["result"]["content"][0]["text"] == said


@pytest.mark.usefixtures("worker", "measure")
async def test_number_with_a_fraction_is_an_answer_on_a_stream_too(session: Session) -> None:
    """Trap 18."""
    task = await session.make("measure")

    async with session.opened("tasks/result", {"taskId": task["taskId"]}) as waiting:
        request = await asked(waiting)
        accepted = await session.respond(request["id"], {"action": "accept", "content": {"metres": 95.5}})
        message = await response(waiting)

    assert accepted.status == 202
    assert message["result"]["content"][0]["text"] == "95.5 m"


@pytest.mark.parametrize("header", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_blanks_around_a_routing_header_are_no_difference(
    client: Client, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 20."""
    # The contracts go by the exact header.
    monkeypatch.setattr(Client, "check", None)
    values = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "greet"}

    answer = await client.modern(
        "tools/call", {"name": "greet", "arguments": {"name": "Ada"}}, headers={header: f"  {values[header]}\t "}
    )

    assert result_of(answer)["content"][0]["text"] == "Hello, Ada!"


async def test_field_task_of_any_object_makes_a_task_and_its_absence_does_not(session: Session, worker: None) -> None:
    """Trap 21."""
    params: dict[str, Any] = {"name": "echo", "arguments": {}}

    empty = await session.result("tools/call", {**params, "task": {}})
    absent = await session.result("tools/call", params)

    assert empty.keys() == {"task"}
    assert absent["content"][0]["text"] == "hello while you wait"
