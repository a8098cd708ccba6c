"""The small client against a real web process: both dialects, errors, and the rounds of the demo."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tasks_app import store
from tasks_app.client import Client, Refused, Session, Unreachable
from tasks_app.client.demo import ASKING, FIRST, LATER, SHORT_TTL_MS, Demo
from tasks_app.client.modern import DEFAULT_POLL_SECONDS, poll_seconds
from tasks_app.domain.identity import Actor, OwnerKind, Scope
from tasks_app.models import Credential, Task
from tests.processes import free_port, start_web

SYSTEM = Actor.system(via="test")


@pytest.fixture(scope="module")
def endpoint(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The address of the endpoint of a running web process."""
    with django_db_blocker.unblock(), start_web() as (_, address):
        yield f"{address}/mcp"


def token_of(name: str, *scopes: Scope) -> str:
    owner_id = store.find_or_make_owner(OwnerKind.USER, subject=name)
    return store.create_token(owner_id, name="test", by=SYSTEM, scopes=scopes or tuple(Scope))[0]


@pytest.fixture
def client(endpoint: str, transactional_db: None) -> Client:
    """A client with every scope."""
    return Client.at(endpoint, token_of("ana"))


@pytest.fixture
def demo(endpoint: str, transactional_db: None) -> Demo:
    """A demo of two accounts."""
    return Demo(endpoint, token_of("ana"), token_of("bo"))


def test_client_lists_tools(client: Client) -> None:
    names = {tool["name"] for tool in client.list_tools()}

    assert {"hash_files", "deploy_service", "get_task_result"} <= names


def test_client_calls_a_tool_and_follows_and_cancels_its_task(client: Client) -> None:
    task = client.call_tool("hash_files", {"files": 2})

    shown = client.get_task(task["taskId"])
    client.cancel(task["taskId"])

    assert task["resultType"] == "task"
    assert shown["status"] == "working"
    assert client.get_task(task["taskId"])["status"] == "cancelled"


def test_client_answers_what_a_task_asks(client: Client) -> None:
    task = client.call_tool("deploy_service")
    claim = store.claim_next(store.Claimant("w1"))
    assert claim is not None
    request = {"message": "Go?", "requestedSchema": {"type": "object", "properties": {"go": {"type": "boolean"}}}}
    store.suspend(claim, [store.NewQuestion(name="go", request=request)])
    [key] = client.get_task(task["taskId"])["inputRequests"]

    client.answer(task["taskId"], {key: {"action": "accept", "content": {"go": True}}})

    assert client.get_task(task["taskId"])["status"] == "working"


def test_client_waits_for_a_task_as_long_as_the_server_asks_for(client: Client) -> None:
    """check 95: the hint of each answer is what the next look waits for."""
    task = client.call_tool("hash_files", {"files": 2})
    claim = store.claim_next(store.Claimant("w1"))
    assert claim is not None
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            store.complete(claim, result={"content": [{"type": "text", "text": "hashed"}]})

    ended = client.wait(task["taskId"], sleep=sleep)

    assert ended["status"] == "completed"
    assert waits == [task["pollIntervalMs"] / 1000] * 2


@pytest.mark.parametrize(("task", "seconds"), [({}, 2.0), ({"pollIntervalMs": 250}, 0.25), ({"pollIntervalMs": 0}, 0)])
def test_client_has_a_default_of_its_own_where_the_server_gives_no_hint(task: dict[str, int], seconds: float) -> None:
    """check 95."""
    assert poll_seconds(task) == seconds
    assert DEFAULT_POLL_SECONDS == 2.0


def test_session_calls_a_tool_as_a_task_with_a_lifetime(endpoint: str, transactional_db: None) -> None:
    session = Session.begin(endpoint, token_of("ana"))

    task = session.call_as_task("hash_files", {"files": 2}, ttl_ms=90_000)

    assert session.id
    assert task["ttl"] == 90_000


def test_client_is_told_why_it_is_refused(endpoint: str, client: Client) -> None:
    reader = Client.at(endpoint, token_of("ana", Scope.READ))

    with pytest.raises(Refused) as unknown:
        client.call_tool("no_such_tool")
    with pytest.raises(Refused) as forbidden:
        reader.call_tool("hash_files")
    with pytest.raises(Refused) as nobody:
        Client.at(endpoint, "td_wrong").list_tools()

    assert unknown.value.code == -32602
    assert forbidden.value.code == 403
    assert nobody.value.code == 401


def test_client_says_when_nobody_listens() -> None:
    with pytest.raises(Unreachable):
        Client.at(f"http://127.0.0.1:{free_port()}/mcp", "td_any").list_tools()


def test_first_round_and_second_question_start_something_of_everything_for_two_owners(demo: Demo) -> None:
    demo.first_round()
    demo.ask_shortly()

    tasks = {task.tool: task for task in Task.objects.all()}
    ana = store.find_or_make_owner(OwnerKind.USER, subject="ana")
    assert set(tasks) == {tool for tool, _ in ASKING + FIRST} | {"feedback_form", "provision_database"}
    assert {tool for tool, task in tasks.items() if task.owner_id != ana} == {"provision_database"}
    assert tasks["provision_database"].status == "input_required"
    short = tasks["feedback_form"]
    assert (short.expires_at - short.created_at).total_seconds() == SHORT_TTL_MS / 1000
    assert short.ttl_fixed


def test_next_round_waits_for_the_last_one_and_repeats_no_open_question(demo: Demo) -> None:
    demo.first_round()
    demo.next_round()
    assert Task.objects.count() == 7

    for task in Task.objects.exclude(tool=ASKING[0][0]):
        store.cancel(task.pk, owner_id=None, by=SYSTEM)
    demo.next_round()

    assert Task.objects.count() == 7 + len(LATER)
    assert Task.objects.filter(tool=ASKING[0][0]).count() == 1


def test_demo_that_is_begun_already_starts_nothing_at_once(demo: Demo) -> None:
    class StopAtOnce:
        def wait(self, timeout: float) -> bool:
            return True

    demo.run(StopAtOnce(), is_begun=True)
    assert Task.objects.count() == 0

    demo.run(StopAtOnce(), is_begun=False)
    assert Task.objects.count() == 7


def test_demo_whose_tokens_were_revoked_is_over(demo: Demo) -> None:
    class StopAfterThree:
        waited = 0

        def wait(self, timeout: float) -> bool:
            self.waited += 1
            for credential in Credential.objects.filter(revoked_at__isnull=True):
                store.revoke_token(credential.pk, owner_id=None, by=SYSTEM)
            return self.waited == 3

    demo.run(StopAfterThree(), is_begun=False)

    assert demo.is_over
    assert Task.objects.count() == 7


def test_demo_waits_for_a_server_that_is_not_up_yet() -> None:
    class StopAfterThree:
        waited = 0

        def wait(self, timeout: float) -> bool:
            self.waited += 1
            return self.waited == 3

    stop = StopAfterThree()

    Demo(f"http://127.0.0.1:{free_port()}/mcp", "td_a", "td_b").run(stop, is_begun=False)

    assert stop.waited == 3
