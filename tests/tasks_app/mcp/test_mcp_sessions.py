"""Legacy sessions: in the database, of one owner, usable from any process, and ended for good."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from tasks_app.domain.outcome import Dialect
from tasks_app.engine.loop import default_duties
from tasks_app.mcp import legacy, pool
from tasks_app.mcp.call import Call, Methods
from tasks_app.models import Session
from tasks_app.store import sessions
from tasks_app.store.db import run
from tasks_app.store.sessions import (
    IDLE,
    SessionView,
    end_session,
    find_session,
    forget_sessions,
    open_session,
    session_digest,
    set_log_level,
)
from tests.asgi_client import Client
from tests.conftest import DatabaseClock, Person

pytestmark = pytest.mark.django_db(transaction=True)


def _open(owner: Person, **client: object) -> str:
    said = {"name": "agent", "version": "3"} | client
    return run(open_session(owner.id, version="2025-11-25", capabilities={"elicitation": {}}, client=said))


def test_session_keeps_what_was_agreed(alice: Person) -> None:
    id_ = _open(alice)

    found = run(find_session(id_, owner_id=alice.id))

    assert found == SessionView(id_, alice.id, "2025-11-25", {"elicitation": {}}, {"name": "agent", "version": "3"})


def test_ids_are_long_random_and_visible_ascii(alice: Person) -> None:
    ids = {_open(alice) for _ in range(20)}

    assert len(ids) == 20
    assert all(len(id_) >= 43 and all(0x21 <= ord(each) <= 0x7E for each in id_) for id_ in ids)


def test_only_the_digest_is_stored(alice: Person) -> None:
    id_ = _open(alice)

    with connection.cursor() as cursor:
        cursor.execute("SELECT s::text FROM tasks_session s")
        stored = cursor.fetchone()[0]

    assert id_ not in stored


def test_one_session_too_many_ends_the_one_that_was_quiet_longest(
    alice: Person, eve: Person, monkeypatch: pytest.MonkeyPatch, clock: DatabaseClock
) -> None:
    monkeypatch.setattr(sessions, "MOST_OPEN", 2)
    hers = _open(eve)
    first, second = _open(alice), _open(alice)
    clock.advance(timedelta(minutes=2))
    run(find_session(first, owner_id=alice.id))

    third = _open(alice)

    found = {id_: run(find_session(id_, owner_id=alice.id)) is not None for id_ in (first, second, third)}
    assert found == {first: True, second: False, third: True}
    assert run(find_session(hers, owner_id=eve.id)) is not None


def test_ended_and_long_idle_sessions_are_deleted_and_no_others(alice: Person, clock: DatabaseClock) -> None:
    idle, ended, used = _open(alice), _open(alice), _open(alice)
    clock.advance(IDLE)
    run(find_session(used, owner_id=alice.id))
    clock.advance(timedelta(seconds=1))
    run(end_session(ended, owner_id=alice.id))

    deleted = forget_sessions()

    assert deleted == 2
    assert [bytes(each) for each in Session.objects.values_list("digest", flat=True)] == [session_digest(used)]
    assert run(find_session(idle, owner_id=alice.id)) is None
    assert forget_sessions() == 0


def test_sessions_are_deleted_by_the_engine_loop_until_no_batch_is_full(alice: Person) -> None:
    [duty] = [each for each in default_duties() if each.run is forget_sessions]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_session (digest, owner_id, version, capabilities, ended_at)"
            " SELECT sha256(n::text::bytea), %s, 'x', '{}', tasks_now() FROM generate_series(0, %s) n",
            [alice.id, duty.batch],
        )

    assert [duty.run(), duty.run()] == [duty.batch, 1]


def test_session_of_another_owner_is_not_found(alice: Person, eve: Person) -> None:
    id_ = _open(alice)

    assert run(find_session(id_, owner_id=eve.id)) is None
    assert run(end_session(id_, owner_id=eve.id)) is False
    assert run(set_log_level(id_, owner_id=eve.id, level="info")) is False
    assert run(find_session(id_, owner_id=alice.id)) is not None


@pytest.mark.parametrize("id_", ["", "nobody", "\x00", "\ud800", "é", "x" * 10_000])
def test_strange_id_is_not_found(alice: Person, id_: str) -> None:
    assert run(find_session(id_, owner_id=alice.id)) is None


def test_ended_session_is_gone(alice: Person) -> None:
    id_ = _open(alice)

    assert run(end_session(id_, owner_id=alice.id)) is True
    assert run(find_session(id_, owner_id=alice.id)) is None
    assert run(end_session(id_, owner_id=alice.id)) is False


def test_log_level_is_remembered_apart_from_what_the_client_said(alice: Person) -> None:
    id_ = _open(alice, logLevel="forged")
    before = run(find_session(id_, owner_id=alice.id))

    run(set_log_level(id_, owner_id=alice.id, level="warning"))
    after = run(find_session(id_, owner_id=alice.id))

    assert before is not None
    assert before.log_level is None
    assert after is not None
    assert (after.log_level, after.client) == ("warning", {"name": "agent", "version": "3"})


def test_client_may_say_what_jsonb_cannot_hold(alice: Person) -> None:
    id_ = _open(alice, title="a\x00b\ud800")

    found = run(find_session(id_, owner_id=alice.id))

    assert found is not None
    assert found.client["title"] == "a\ufffdb\ufffd"


def test_use_is_noted_at_most_once_a_minute(alice: Person, clock: DatabaseClock) -> None:
    id_ = _open(alice)
    seen = _seen_at()

    run(find_session(id_, owner_id=alice.id))
    within = _seen_at()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_session SET seen_at = seen_at - interval '61 seconds'")
    run(find_session(id_, owner_id=alice.id))

    assert within == seen
    assert _seen_at() >= seen


def _seen_at() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT seen_at FROM tasks_session")
        return cursor.fetchone()[0]  # type: ignore[no-any-return]


async def test_session_is_found_on_the_pool_too(alice: Person, served: None) -> None:
    plan = open_session(alice.id, version="2025-06-18", capabilities={"a": {}}, client={"name": "x"})

    id_ = await pool.run(plan)
    found = await pool.run(find_session(id_, owner_id=alice.id))

    assert found == SessionView(id_, alice.id, "2025-06-18", {"a": {}}, {"name": "x"})


async def test_session_serves_requests_until_it_is_deleted(client: Client) -> None:
    session = await client.initialize()
    during = await client.legacy("tools/list", session=session)

    deleted = await client.request("DELETE", headers={"mcp-session-id": session})
    after = await client.legacy("tools/list", session=session)
    again = await client.request("DELETE", headers={"mcp-session-id": session})

    assert during.status == 200
    assert (deleted.status, deleted.body) == (204, b"")
    assert (after.status, after.error["code"], after.json["id"]) == (404, -32600, 1)
    assert again.status == 404


async def test_session_of_another_owner_reads_like_an_unknown_one(client: Client, eve_client: Client) -> None:
    session = await client.initialize()

    foreign = await eve_client.legacy("tools/list", session=session)
    unknown = await eve_client.legacy("tools/list", session="nobody")
    deleted = await eve_client.request("DELETE", headers={"mcp-session-id": session})

    assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (404, unknown.body)
    assert deleted.status == 404
    assert (await client.legacy("tools/list", session=session)).status == 200


async def test_request_without_session_is_400(client: Client) -> None:
    answer = await client.legacy("tools/list")

    assert (answer.status, answer.error["code"]) == (400, -32600)


async def test_notification_is_accepted_within_a_session(client: Client) -> None:
    session = await client.initialize()
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}

    inside = await client.post(message, headers={"mcp-session-id": session})
    outside = await client.post(message)

    assert (inside.status, inside.body) == (202, b"")
    assert outside.status == 400


async def test_session_is_not_asked_for_where_it_is_not_needed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Methods(Dialect.LEGACY)

    @table.method("test/free", needs_session=False)
    async def free(call: Call) -> dict[str, Any]:
        return {"version": call.version, "session": call.session}

    monkeypatch.setattr(legacy, "METHODS", table)

    answer = await client.legacy("test/free")
    unsaid = await client.post({"jsonrpc": "2.0", "id": 1, "method": "test/free"})

    assert (answer.status, answer.json["result"]) == (200, {"version": "2025-11-25", "session": None})
    assert unsaid.json["result"]["version"] == "2025-03-26"


async def test_revision_of_the_session_is_in_force_without_a_header(client: Client) -> None:
    session = await client.initialize(version="2025-06-18")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    answer = await client.post(message, headers={"mcp-session-id": session})

    assert answer.status == 200


async def test_session_header_is_ignored_by_modern_requests(client: Client) -> None:
    answer = await client.modern("server/discover", headers={"mcp-session-id": "nobody", "last-event-id": "7"})

    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers


async def test_thread_with_a_connection_of_its_own_reads_the_same_database(alice: Person, served: None) -> None:
    id_ = await pool.in_thread(_open, alice)

    found = await pool.in_thread(lambda: run(find_session(id_, owner_id=alice.id)))

    assert found is not None
