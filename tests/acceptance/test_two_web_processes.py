"""Two web processes, a worker and an engine loop: whatever begins on one web process goes on with the other."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tasks_app import store
from tasks_app.domain.identity import Actor
from tests.acceptance.calls import attempts, line_of
from tests.acceptance.conftest import TOOLS
from tests.acceptance.remote_modern import Modern
from tests.conftest import Person
from tests.ledger import read
from tests.processes import start_web
from tests.tasks_app.mcp.remote_client import Remote
from tests.tasks_app.store.life import scalar

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("world"),
]

YES: dict[str, Any] = {"action": "accept", "content": {"confirm": True}}
CROWD = 20


@pytest.fixture(scope="module")
def origins(django_db_setup: None) -> Iterator[tuple[str, str]]:
    """The addresses of two web processes."""
    with start_web(**TOOLS) as (_, first), start_web(**TOOLS) as (_, second):
        yield first, second


@pytest.fixture
def token(alice: Person) -> str:
    """A token of alice."""
    return store.create_token(alice.id, name="tests", by=Actor.system(via="tests"))[0]


@pytest.fixture
def one(origins: tuple[str, str], token: str) -> Modern:
    """A client of the first process."""
    return Modern(origins[0], token)


@pytest.fixture
def other(origins: tuple[str, str], token: str) -> Modern:
    """A client of the second process."""
    return Modern(origins[1], token)


def test_task_of_one_process_is_there_for_the_other_at_once(
    one: Modern, other: Modern, ledger: str, gate: Path
) -> None:
    """check 1: its row is committed before its id is told."""
    seen = [other.get(one.make("until_gate", ledger=ledger, gate=str(gate)))["status"] for _ in range(5)]

    assert seen == ["working"] * 5


def test_task_of_one_process_is_polled_to_its_end_on_the_other(one: Modern, other: Modern) -> None:
    task_id = one.make("add", first=20, second=22)

    ended = other.ended(task_id)

    assert ended["status"] == "completed"
    assert ended["result"]["structuredContent"] == {"sum": 42}
    assert one.get(task_id)["result"] == ended["result"]


def test_question_of_a_task_is_answered_on_the_other(one: Modern, other: Modern) -> None:
    task_id = one.make("sure")
    [key] = other.until(task_id, "input_required")["inputRequests"]

    other.result("tasks/update", {"taskId": task_id, "inputResponses": {key: YES}})

    assert one.ended(task_id)["result"]["content"][0]["text"] == "true"


def test_changes_that_one_process_makes_are_heard_on_the_other(one: Modern, other: Modern) -> None:
    """section 2 item 8: pushed across processes, and in the words of a poll."""
    task_id = one.make("sure")
    [key] = one.until(task_id, "input_required")["inputRequests"]

    with other.listening(task_id) as told:
        one.result("tasks/update", {"taskId": task_id, "inputResponses": {key: YES}})
        messages = list(told)

    *changes, last = messages
    statuses = [change["params"]["status"] for change in changes]
    assert statuses[0] == "input_required"
    assert statuses[-1] == "completed"
    assert changes[-1]["params"]["result"] == one.get(task_id)["result"]
    assert last["result"]["resultType"] == "complete"


def test_task_of_one_process_is_cancelled_on_the_other(one: Modern, other: Modern, ledger: str) -> None:
    task_id = one.make("cooperative", ledger=ledger)
    line_of(ledger, "begun")

    with one.listening(task_id) as told:
        other.result("tasks/cancel", {"taskId": task_id})
        heard = [message["params"]["status"] for message in told if "method" in message]

    assert heard[-1] == "cancelled"
    assert one.get(task_id)["status"] == other.get(task_id)["status"] == "cancelled"


def test_rounds_of_one_call_may_go_to_either_process(one: Modern, other: Modern) -> None:
    call: dict[str, Any] = {"name": "sure", "arguments": {}}
    asked = one.result("tools/call", call, tasks=False)

    again = {**call, "inputResponses": {"sure": YES}, "requestState": asked["requestState"]}
    answered = other.result("tools/call", again, tasks=False)

    assert asked["resultType"] == "input_required"
    assert answered["content"][0]["text"] == "true"


def test_session_of_one_process_is_used_and_ended_on_the_other(origins: tuple[str, str], token: str) -> None:
    """Trap 19."""
    begun = Remote(origins[0], token)
    there = Remote(origins[1], token, session=begun.session)

    made = there.request("tools/call", {"name": "sure", "arguments": {}, "task": {}})["result"]["task"]
    shown = begun.request("tasks/get", {"taskId": made["taskId"]})
    ended = there.status("DELETE")

    assert shown["result"]["taskId"] == made["taskId"]
    assert ended == 204
    assert begun.status("POST", {"id": 1, "method": "ping"}) == 404


def test_reply_to_an_elicitation_may_go_to_the_other_process(origins: tuple[str, str], token: str) -> None:
    """Trap 19: asked on a stream of the first, answered with a POST to the second."""
    begun = Remote(origins[0], token)
    there = Remote(origins[1], token, session=begun.session)
    made = begun.request("tools/call", {"name": "sure", "arguments": {}, "task": {}})["result"]["task"]

    with begun.stream("tasks/result", {"taskId": made["taskId"]}) as waiting:
        request = waiting.asked()
        accepted = there.status("POST", {"id": request["id"], "result": YES})
        response = waiting.response()

    assert request["method"] == "elicitation/create"
    assert accepted == 202
    assert response["result"]["content"][0]["text"] == "true"


def test_task_made_in_one_dialect_is_answered_in_the_other(one: Modern, origins: tuple[str, str], token: str) -> None:
    begun = Remote(origins[1], token)
    made = begun.request("tools/call", {"name": "sure", "arguments": {}, "task": {}})["result"]["task"]
    [key] = one.until(made["taskId"], "input_required")["inputRequests"]

    one.result("tasks/update", {"taskId": made["taskId"], "inputResponses": {key: YES}})
    one.ended(made["taskId"])
    response = begun.request("tasks/result", {"taskId": made["taskId"]})

    assert response["result"]["content"][0]["text"] == "true"


def test_task_outlives_the_process_that_made_it(other: Modern, token: str) -> None:
    """check 1, check 4, check 5: the process is killed with the client's connection, and another one has the result."""
    with start_web(**TOOLS) as (doomed, origin):
        task_id = Modern(origin, token).make("sure")
        doomed.send(signal.SIGKILL)
        doomed.wait()

    [key] = other.until(task_id, "input_required")["inputRequests"]
    other.result("tasks/update", {"taskId": task_id, "inputResponses": {key: YES}})

    assert other.ended(task_id)["result"]["content"][0]["text"] == "true"


def test_client_that_loses_its_connection_finds_its_task_again(one: Modern, other: Modern) -> None:
    """check 4: it listened, the connection broke, and a new one with the same credentials has the result."""
    task_id = one.make("sure")
    [key] = one.until(task_id, "input_required")["inputRequests"]
    with one.listening(task_id) as told:
        next(told)

    other.result("tasks/update", {"taskId": task_id, "inputResponses": {key: YES}})

    assert other.ended(task_id)["status"] == "completed"


def test_identical_creates_with_one_key_make_one_task_that_runs_once(
    one: Modern, other: Modern, ledger: str, gate: Path
) -> None:
    """section 2 item 11: twenty at once over two processes."""
    call = {"name": "until_gate", "arguments": {"ledger": ledger, "gate": str(gate)}}

    def create(number: int) -> str:
        client = (one, other)[number % 2]
        return str(client.result("tools/call", call, idempotency_key="order-7")["taskId"])

    with ThreadPoolExecutor(CROWD) as crowd:
        made = set(crowd.map(create, range(CROWD)))
    gate.unlink()
    [task_id] = made
    ended = one.ended(task_id)

    assert ended["status"] == "completed"
    assert scalar("SELECT count(*) FROM tasks_task") == 1
    assert [line.what for line in read(ledger)] == ["begun"]
    assert len(attempts(scalar("SELECT id FROM tasks_task"))) == 1
