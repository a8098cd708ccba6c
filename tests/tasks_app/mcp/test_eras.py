"""Who sees what: the same server asked the same things by a client of each era, declaring tasks or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tasks_app.mcp.pool import in_thread
from tests.asgi_client import Answer, Client
from tests.conftest import Person
from tests.tasks_app.mcp.helpers import count_tasks, result_of
from tests.tasks_app.mcp.legacy_client import Session, last_message
from tests.tasks_app.store import life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]

TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
DECLARING, SILENT, OLDER, LEGACY = "modern, declaring", "modern, silent", "2025-06-18", "2025-11-25"


@dataclass(frozen=True)
class Seen:
    """What came of a request: HTTP's status, and the kind of the result or the code of the error."""

    status: int
    what: str | int


SERVED = Seen(200, "complete")
MISSING = Seen(400, -32021)
UNKNOWN = Seen(200, -32601)

# The last row is what 2025-11-25 has of its own: tasks, but no update, and one only when it says so.
MATRIX: dict[str, dict[str, Seen]] = {
    DECLARING: {"tools/call": Seen(200, "task"), "tasks/get": SERVED, "tasks/update": SERVED, "tasks/cancel": SERVED},
    SILENT: {"tools/call": SERVED, "tasks/get": MISSING, "tasks/update": MISSING, "tasks/cancel": MISSING},
    OLDER: {"tools/call": SERVED, "tasks/get": UNKNOWN, "tasks/update": UNKNOWN, "tasks/cancel": UNKNOWN},
    LEGACY: {"tools/call": SERVED, "tasks/get": SERVED, "tasks/update": UNKNOWN, "tasks/cancel": SERVED},
}


async def ask(client: Client, who: str, method: str, params: dict[str, Any]) -> Answer:
    """The answer that this kind of client gets."""
    if who in (DECLARING, SILENT):
        return await client.modern(method, params, tasks=who == DECLARING)
    session = await Session.begin(client, version=who)
    return await session.request(method, params)


def seen(answer: Answer) -> Seen:
    """An answer in short; the results of the older revisions do not name their kind."""
    message = last_message(answer)
    if "error" in message:
        return Seen(answer.status, message["error"]["code"])
    result = message["result"]
    return Seen(answer.status, "task" if "task" in result else result.get("resultType", "complete"))


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("who", "method"), [(who, method) for who, row in MATRIX.items() for method in row])
async def test_each_client_sees_what_its_era_and_its_word_allow(
    client: Client, alice: Person, who: str, method: str
) -> None:
    """section 2 item 21, check 47, traps 9 and 11."""
    task_id = await in_thread(life.gated, alice)
    about = {"name": "echo", "arguments": {}} if method == "tools/call" else {"taskId": str(task_id)}
    params = {**about, "inputResponses": {}} if method == "tasks/update" else about

    answer = await ask(client, who, method, params)

    assert seen(answer) == MATRIX[who][method]
    if seen(answer) == MISSING:
        assert answer.error["data"] == {"requiredCapabilities": TASKS}
    if (await in_thread(life.look, task_id)).status == "cancelled":
        assert (method, MATRIX[who][method]) == ("tasks/cancel", SERVED)


@pytest.mark.usefixtures("worker")
async def test_sync_results_are_the_same_in_every_era(client: Client) -> None:
    """check 47: who is not served tasks gets the result itself, and nothing hints at a task."""
    call = {"name": "add", "arguments": {"left": 20, "right": 22}}

    results = [result_of(await ask(client, who, "tools/call", call)) for who in (SILENT, OLDER, LEGACY)]

    assert [result["structuredContent"] for result in results] == [{"total": 42}] * 3
    assert all("taskId" not in str(result) for result in results)
    assert await count_tasks() == 3
