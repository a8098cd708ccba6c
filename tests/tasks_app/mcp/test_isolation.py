"""Who may see and do what: every method of both dialects, streams and sessions, for everyone who may come along.

What belongs to somebody else looks like what never was, byte for byte, and a call that is refused changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User

from tasks_app import store
from tasks_app.domain.identity import Actor, Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp.endpoint import endpoint
from tasks_app.mcp.pool import in_thread
from tests.accounts import deactivate, give_account
from tests.asgi_client import Answer, Client, data_of
from tests.conftest import Person
from tests.tasks_app.mcp.conftest import TokenMaker
from tests.tasks_app.mcp.helpers import result_of
from tests.tasks_app.mcp.isolation import ABOUT_TASKS, CASES, PROBES, TABLES, Probe
from tests.tasks_app.mcp.legacy_client import EVERYTHING, last_message
from tests.tasks_app.store import life
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("modern_tools")]

SYSTEM = Actor.system(via="tests")
DEACTIVATED = "token of a deactivated account"
OUT_OF_FORCE = ("no token", "expired token", "revoked token", DEACTIVATED)
ROWS = """
SELECT (SELECT array_agg((id, version, status, expires_at)::text ORDER BY id) FROM tasks_task),
       (SELECT array_agg((task_id, key, state)::text ORDER BY task_id, key) FROM tasks_question),
       (SELECT array_agg((digest, ended_at, client)::text ORDER BY digest) FROM tasks_session),
       (SELECT count(*) FROM tasks_event), (SELECT count(*) FROM tasks_fetch)
"""


@dataclass
class Ground:
    """Two people with a session each, and clients for everyone who may come along."""

    alice: Person
    eve: Person
    clients: dict[str, Client]
    sessions: dict[str, str]
    account: User
    """Alice's, which is active."""

    def lacking(self, scope: Scope) -> Client:
        """A client of alice whose token holds every scope but this one."""
        return self.clients[f"without {scope}"]

    async def enters(self, who: str) -> Client:
        """The client of this one; for the token of a deactivated account, alice's is locked out now."""
        if who == DEACTIVATED:
            await in_thread(deactivate, self.account)
        return self.clients[who]

    async def ask(self, who: str, dialect: Dialect, method: str, params: dict[str, Any]) -> Answer:
        """The answer that this one gets; whoever is not eve comes with alice's session."""
        if dialect is Dialect.MODERN:
            return await self.clients[who].modern(method, params, tasks=True, capabilities=EVERYTHING)
        session = "-" if method == "initialize" else self.sessions["eve" if who == "eve" else "alice"]
        return await self.clients[who].legacy(method, params, session=session)


@pytest.fixture
async def ground(alice: Person, eve: Person, make_token: TokenMaker, served: None) -> Ground:
    """Alice and eve, and everyone who comes without a good token."""
    old, credential = await in_thread(store.create_token, alice.id, name="old", by=SYSTEM)
    await in_thread(store.revoke_token, credential, owner_id=alice.id, by=SYSTEM)
    past = await in_thread(store.create_token, alice.id, name="past", by=SYSTEM, lifetime=timedelta(seconds=-1))
    tokens: dict[str, str | None] = {
        "alice": await in_thread(make_token, alice),
        "eve": await in_thread(make_token, eve),
        "no token": None,
        "expired token": past[0],
        "revoked token": old,
        "unknown token": "td_nobody",
        DEACTIVATED: await in_thread(make_token, alice),
    }
    for scope in Scope:
        tokens[f"without {scope}"] = await in_thread(make_token, alice, *(set(Scope) - {scope}))
    clients = {who: Client(endpoint, token=token) for who, token in tokens.items()}
    sessions = {name: await clients[name].initialize(capabilities=EVERYTHING) for name in ("alice", "eve")}
    return Ground(alice, eve, clients, sessions, await in_thread(give_account, alice))


async def rows() -> list[tuple[Any, ...]]:
    """Everything that a refused call must leave as it is."""
    return await in_thread(life.sql, ROWS)


def seen(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """All that a client sees of an answer, but for the id that every request has of its own."""
    return answer.status, {name: value for name, value in answer.headers.items() if name != "x-request-id"}, answer.body


async def made(probe: Probe, owner: Person) -> tuple[str, str]:
    """A task for the probe, and the key of its question if it has one."""
    assert probe.make is not None
    task_id = await in_thread(probe.make, owner)
    keys = await in_thread(life.sql, "SELECT key FROM tasks_question WHERE task_id = %(task)s", task=task_id)
    return str(task_id), keys[0][0] if keys else "in-1"


async def expired(owner: Person) -> UUID:
    """A task of this owner whose time is over."""
    task = await in_thread(life.created, owner, ttl_ms=1)
    await in_thread(until, store.expire)
    return task.id


@pytest.mark.parametrize("dialect", TABLES)
def test_every_method_says_what_it_may_show_to_whom(dialect: Dialect) -> None:
    assert PROBES[dialect].keys() == TABLES[dialect].names


@pytest.mark.parametrize(("dialect", "method"), CASES)
def test_every_method_needs_the_scopes_that_it_should(dialect: Dialect, method: str) -> None:
    found = TABLES[dialect].find(method)

    assert found.scopes == PROBES[dialect][method].scopes


@pytest.mark.parametrize(("dialect", "method"), CASES)
async def test_method_serves_its_owner(ground: Ground, dialect: Dialect, method: str) -> None:
    probe = PROBES[dialect][method]
    people = {"alice": ground.alice, "eve": ground.eve}
    named = {who: await made(probe, person) if probe.make else ("", "") for who, person in people.items()}

    for who, (task_id, key) in named.items():
        answer = await ground.ask(who, dialect, method, probe.params(task_id, key))

        assert answer.status == 200
        assert "result" in last_message(answer)
        assert not probe.leaves_out or task_id.encode() in data_of(answer.body)[0]


@pytest.mark.parametrize("who", OUT_OF_FORCE)
@pytest.mark.parametrize(("dialect", "method"), CASES)
async def test_nobody_without_a_token_in_force_learns_anything(
    ground: Ground, dialect: Dialect, method: str, who: str
) -> None:
    """Whatever the call is about, the answer is the one that an unknown token gets."""
    probe = PROBES[dialect][method]
    named = await _everything(probe, mine=ground.alice, theirs=ground.eve)
    unknown = "no token" if who == "no token" else "unknown token"
    await ground.enters(who)
    before = await rows()

    answers = [await ground.ask(who, dialect, method, probe.params(*each)) for each in named.values()]
    expected = await ground.ask(unknown, dialect, method, {})

    assert expected.status == 401
    assert all(seen(answer) == seen(expected) for answer in answers)
    assert await rows() == before


@pytest.mark.parametrize(("dialect", "method"), [case for case in CASES if PROBES[case[0]][case[1]].scopes])
async def test_token_without_the_scope_learns_nothing_but_that(ground: Ground, dialect: Dialect, method: str) -> None:
    probe = PROBES[dialect][method]
    named = await _everything(probe, mine=ground.alice, theirs=ground.eve)
    before = await rows()

    for scope in probe.scopes:
        asked = [await ground.ask(f"without {scope}", dialect, method, probe.params(*each)) for each in named.values()]

        assert {answer.status for answer in asked} == {403}
        assert f'scope="{scope}"' in asked[0].headers["www-authenticate"]
        assert all(seen(answer) == seen(asked[0]) for answer in asked)
    assert await rows() == before


async def _everything(probe: Probe, *, mine: Person, theirs: Person) -> dict[str, tuple[str, str]]:
    """What a call may be about: one's own, another's, what never was and what is over. One thing if it names none."""
    if probe.make is None:
        return {"": ("", "")}
    return {
        "own": await made(probe, mine),
        "another's": await made(probe, theirs),
        "missing": (str(uuid4()), "in-1"),
        "expired": (str(await expired(mine)), "in-1"),
    }


@pytest.mark.parametrize("who", ["alice", "eve"])
@pytest.mark.parametrize(("dialect", "method"), ABOUT_TASKS)
async def test_task_of_another_looks_like_one_that_never_was(
    ground: Ground, dialect: Dialect, method: str, who: str
) -> None:
    """check 54, section 2 item 8, trap 16."""
    probe = PROBES[dialect][method]
    mine, theirs = (ground.alice, ground.eve) if who == "alice" else (ground.eve, ground.alice)
    named = await _everything(probe, mine=mine, theirs=theirs)
    named["another's, expired"] = str(await expired(theirs)), "in-1"
    before = await rows()

    answers = {
        name: await ground.ask(who, dialect, method, probe.params(*named[name])) for name in named if name != "own"
    }

    missing = answers["missing"]
    assert all(seen(answer) == seen(missing) for answer in answers.values())
    if probe.leaves_out:
        assert result_of(missing)["resultType"] == "complete"
    else:
        assert missing.error["code"] == -32602
        assert missing.status == (400 if dialect is Dialect.MODERN else 200)
    assert await rows() == before


@pytest.mark.parametrize("dialect", TABLES)
async def test_fetching_tool_finds_only_ones_own(ground: Ground, dialect: Dialect) -> None:
    own, others = await in_thread(life.completed, ground.alice), await in_thread(life.completed, ground.eve)
    over = await expired(ground.alice)

    async def fetch(task_id: UUID) -> Answer:
        params = {"name": "get_task_result", "arguments": {"task_id": str(task_id)}}
        return await ground.ask("alice", dialect, "tools/call", params)

    found = await fetch(own)
    before = await rows()
    answers = [await fetch(task_id) for task_id in (others, uuid4(), over)]

    assert not result_of(found).get("isError")
    assert result_of(answers[0])["isError"]
    assert all(seen(answer) == seen(answers[0]) for answer in answers)
    assert await rows() == before


async def test_list_holds_ones_own_and_nothing_else(ground: Ground) -> None:
    own = await in_thread(life.completed, ground.alice)
    await in_thread(life.completed, ground.eve)
    await expired(ground.alice)

    listed = result_of(await ground.ask("alice", Dialect.LEGACY, "tasks/list", {}))

    assert [task["taskId"] for task in listed["tasks"]] == [str(own)]


async def test_key_of_one_owner_means_nothing_to_another(ground: Ground) -> None:
    params = {"name": "echo", "arguments": {}, "_meta": {"taskdeck/idempotencyKey": "k"}}

    mine = result_of(await ground.ask("alice", Dialect.MODERN, "tools/call", params))
    theirs = result_of(await ground.ask("eve", Dialect.MODERN, "tools/call", params))

    assert mine["taskId"] != theirs["taskId"]
