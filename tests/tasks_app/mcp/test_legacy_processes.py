"""Clients of 2025-11-25 and two web processes: whatever begins on one goes on with the other."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.conftest import Person
from tests.processes import start_engine, start_web, start_worker
from tests.tasks_app.mcp.conftest import TokenMaker
from tests.tasks_app.mcp.remote_client import Remote
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
TOOLS = {"TASKDECK_TOOL_MODULES": "tests.tasks_app.mcp.modern_tools"}
YES = {"action": "accept", "content": {"confirm": True}}
DELETE = {"name": "confirm_delete", "arguments": {"filename": "a.txt"}}


@pytest.fixture(scope="module")
def origins(django_db_setup: None) -> Iterator[tuple[str, str]]:
    """The addresses of two web processes; a worker and an engine loop are up."""
    with (
        start_worker(slots=2, **TOOLS) as worker,
        start_engine(**TOOLS),
        start_web(**TOOLS) as (_, first),
        start_web(**TOOLS) as (_, second),
    ):
        until(lambda: " ready." in worker.output(), 30)
        yield first, second


@pytest.fixture
def token(alice: Person, make_token: TokenMaker) -> str:
    """A token of alice."""
    return make_token(alice)


@pytest.fixture
def one(origins: tuple[str, str], token: str) -> Remote:
    """A client of the first process, with a session that began there."""
    return Remote(origins[0], token)


@pytest.fixture
def other(origins: tuple[str, str], token: str, one: Remote) -> Remote:
    """A client of the second process, in the session of the first."""
    return Remote(origins[1], token, session=one.session)


def make(client: Remote, name: str, **arguments: object) -> str:
    """The id of a new task."""
    made = client.request("tools/call", {"name": name, "arguments": arguments, "task": {}})
    return str(made["result"]["task"]["taskId"])


def test_session_is_the_same_everywhere(one: Remote, other: Remote) -> None:
    """Trap 19."""
    assert other.request("ping")["result"] == {}
    assert other.status("DELETE") == 204
    assert one.status("POST", {"id": 1, "method": "ping"}) == 404


def test_task_of_one_process_is_read_listed_and_cancelled_on_the_other(one: Remote, other: Remote) -> None:
    """check 1: it is there as soon as its id is."""
    task_id = make(one, "sleep")

    read = other.request("tasks/get", {"taskId": task_id})
    listed = other.request("tasks/list")
    cancelled = other.request("tasks/cancel", {"taskId": task_id})

    assert read["result"]["status"] == "working"
    assert [task["taskId"] for task in listed["result"]["tasks"]] == [task_id]
    assert cancelled["result"]["status"] == "cancelled"
    assert one.request("tasks/get", {"taskId": task_id})["result"]["status"] == "cancelled"


def test_question_on_a_stream_of_one_is_answered_through_the_other(one: Remote, other: Remote) -> None:
    """Trap 19: the stream stays open and ends with the result."""
    task_id = make(one, "confirm_delete", filename="a.txt")

    with one.stream("tasks/result", {"taskId": task_id}) as waiting:
        request = waiting.asked()
        accepted = other.status("POST", {"id": request["id"], "result": YES})
        message = waiting.response()

    assert accepted == 202
    assert message["result"]["content"][0]["text"] == "a.txt deleted"


def test_question_of_a_waiting_call_is_answered_through_the_other(one: Remote, other: Remote) -> None:
    with one.stream("tools/call", DELETE, id="call") as waiting:
        request = waiting.asked()
        other.status("POST", {"id": request["id"], "result": YES})
        message = waiting.response()

    assert message["id"] == "call"
    assert message["result"]["content"][0]["text"] == "a.txt deleted"


def test_waiting_call_is_taken_back_through_the_other(one: Remote, other: Remote) -> None:
    taken_back = {"method": "notifications/cancelled", "params": {"requestId": "slow"}}

    with one.stream("tools/call", {"name": "sleep"}, id="slow") as waiting:
        waiting.primed()
        assert other.status("POST", taken_back) == 202
        message = waiting.response()

    [task] = one.request("tasks/list")["result"]["tasks"]
    assert message["error"]["code"] == -32603
    assert task["status"] == "cancelled"


def test_task_outlives_the_process_that_made_it(origins: tuple[str, str], token: str) -> None:
    """check 1, check 4, check 5: killed right after its answer, with the connection of the client."""
    with start_web(**TOOLS) as (doomed, origin):
        task_id = make(Remote(origin, token), "echo")
        doomed.send(signal.SIGKILL)
        doomed.wait()

    answer = Remote(origins[0], token)
    with answer.stream("tasks/result", {"taskId": task_id}) as waiting:
        message = waiting.response()

    assert message["result"]["content"][0]["text"] == "hello as a task"


def test_stream_of_a_process_that_stops_is_resumed_on_another(other: Remote, token: str) -> None:
    """The stream ends at once, and its last event leads to the answer."""
    with start_web(**TOOLS) as (stopping, origin):
        client = Remote(origin, token)
        with client.stream("tools/call", DELETE, id="lost") as waiting:
            request = waiting.asked()
            stopping.send(signal.SIGTERM)
            rest = list(waiting.messages())
            stopping.wait()

    with Remote(other.origin, token, session=client.session).resumed(waiting.last_event) as resumed:
        again = resumed.asked()
        other.status("POST", {"id": again["id"], "result": YES})
        message = resumed.response()

    assert rest == []
    assert again["id"] == request["id"]
    assert message["id"] == "lost"
    assert message["result"]["content"][0]["text"] == "a.txt deleted"
