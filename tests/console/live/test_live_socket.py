"""The socket of a tab: who may open it, what it hears, and what ends it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session

from console.asgi import application
from console.live.consumer import BURST, MOST_CHARACTERS, Ended, LiveConsumer
from console.live.watching import MOST_WATCHED
from tasks_app import bus, store
from tasks_app.bus import Change
from tasks_app.domain.identity import Actor, ActorKind
from tests.console.live.conftest import Someone
from tests.console.live.sockets import connected, connecting
from tests.processes import database_away

T = TypeVar("T")


async def do(work: Callable[..., T], *values: object, **named: object) -> T:
    """Something on the database, in a thread of its own."""
    done: T = await database_sync_to_async(work)(*values, **named)
    return done


def announce(task: store.Snapshot, *, version: int = 2, questions: bool = False) -> None:
    bus.announce(Change(task.id, task.owner_id, version, "working", questions))


@pytest.mark.parametrize("origin", [None, "", "null", "https://evil.example", "http://testserver.evil.example"])
async def test_page_of_another_site_cannot_open_a_socket(ana: Someone, origin: str | None) -> None:
    async with connecting(session=ana.session, origin=origin) as socket:
        assert await socket.answered() == "websocket.close"


async def test_origin_that_matches_a_host_which_is_not_ours_is_refused(ana: Someone) -> None:
    """A name that an attacker points at this machine."""
    async with connecting(session=ana.session, origin="http://rebound.example", host="rebound.example") as socket:
        assert await socket.answered() == "websocket.close"


@pytest.mark.parametrize("session", ["", "no-such-session", "%00"])
async def test_socket_without_a_session_is_told_so(transactional_db: None, session: str) -> None:
    async with connected(session) as socket:
        assert await socket.ended() == Ended.SIGNED_OUT


async def test_no_other_path_has_a_socket(transactional_db: None) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application({"type": "websocket", "path": "/mcp", "headers": []}, receive, send)

    assert sent == [{"type": "websocket.close", "code": 4404}]


async def test_owner_hears_of_their_own_tasks_by_id_version_and_status_only(ana: Someone) -> None:
    async with connected(ana.session, application=application) as socket:
        granted = await socket.watch("tasks", "inbox")
        task = await do(ana.create)
        news = await socket.hear()

    assert granted == {"t": "watching", "watch": ["inbox", "tasks"], "scope": "mine"}
    changed = {"id": str(task.id), "v": task.version, "st": "working"}
    assert news == {"t": "news", "tasks": [changed], "again": False, "inbox": False, "stats": False}


async def test_owner_hears_that_what_is_asked_changed(ana: Someone) -> None:
    task = await do(ana.create)

    async with connected(ana.session) as socket:
        await socket.watch("inbox")
        announce(task, questions=True)

        assert (await socket.hear())["inbox"] is True


async def test_owner_hears_nothing_of_a_stranger(ana: Someone, eddy: Someone) -> None:
    """check 104: the groups of the socket do not leak."""
    async with connected(eddy.session) as socket:
        granted = await socket.watch("tasks", "inbox", scope="all")
        task = await do(ana.create)
        announce(task, questions=True)

        assert granted["scope"] == "mine"
        assert await socket.is_silent()


async def test_anothers_task_is_watched_no_more_than_one_that_never_was(ana: Someone, eddy: Someone) -> None:
    """check 104: and it cannot be told from the answer which of the two it is."""
    theirs, missing, own = await do(ana.create), uuid4(), await do(eddy.create)

    async with connected(eddy.session) as socket:
        granted = await socket.watch(f"task:{theirs.id}", f"task:{missing}", f"task:{own.id}")
        announce(theirs)

        assert granted["watch"] == [f"task:{own.id}"]
        assert await socket.is_silent()
        announce(own, version=7)
        assert [task["v"] for task in (await socket.hear())["tasks"]] == [7]


async def test_operator_hears_of_everyone_only_when_asked_for(ana: Someone, opal: Someone) -> None:
    task = await do(ana.create)

    async with connected(opal.session) as mine, connected(opal.session) as everyones:
        await mine.watch("tasks", "inbox", scope="mine")
        granted = await everyones.watch("tasks", "inbox", scope="all")
        announce(task, version=5, questions=True)

        assert granted["scope"] == "all"
        heard = await everyones.hear()
        assert [each["id"] for each in heard["tasks"]] == [str(task.id)]
        # That somebody was asked something is told to every operator, who may have to approve it; of what, is not.
        assert await mine.hear() == {"t": "news", "tasks": [], "again": False, "inbox": True, "stats": False}
        assert await mine.is_silent()


async def test_owner_hears_nothing_of_what_others_are_asked(ana: Someone, eddy: Someone) -> None:
    task = await do(ana.create)

    async with connected(eddy.session) as socket:
        await socket.watch("tasks", "inbox", scope="all")
        announce(task, version=5, questions=True)

        assert await socket.is_silent()


async def test_new_subscription_takes_the_place_of_the_one_before(ana: Someone) -> None:
    one, other = await do(ana.create), await do(ana.create)

    async with connected(ana.session) as socket:
        await socket.watch(f"task:{one.id}")
        await socket.watch(f"task:{other.id}")
        announce(one)
        announce(other)

        assert [each["id"] for each in (await socket.hear())["tasks"]] == [str(other.id)]
        assert await socket.is_silent()


async def test_changes_at_nearly_the_same_time_are_one_message_with_the_latest_version(ana: Someone) -> None:
    task = await do(ana.create)

    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        for version in range(2, 30):
            announce(task, version=version)

        heard = [await socket.hear()]
        while heard[-1]["tasks"][-1]["v"] < 29:
            heard.append(await socket.hear())

    assert len(heard) < 28
    assert all(len(news["tasks"]) == 1 for news in heard)


async def test_signing_out_ends_the_socket(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        await do(ana.browser.logout)

        assert await socket.ended() == Ended.SIGNED_OUT


async def test_disabled_account_loses_its_socket(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        ana.user.is_active = False
        await do(ana.user.save)

        assert await socket.ended() == Ended.SIGNED_OUT


async def test_new_password_ends_the_sockets_of_the_old_one(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        ana.user.set_password("another long password")
        await do(ana.user.save)

        assert await socket.ended() == Ended.SIGNED_OUT


async def test_role_that_is_taken_away_ends_the_socket_and_a_new_one_hears_less(opal: Someone) -> None:
    async with connected(opal.session) as socket:
        await socket.watch("tasks", scope="all")
        await do(opal.user.groups.clear)

        assert await socket.ended() == Ended.ROLE_CHANGED

    async with connected(opal.session) as again:
        assert (await again.watch("tasks", scope="all"))["scope"] == "mine"


async def test_role_that_is_given_leaves_the_socket_alone(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        operators, _ = await do(Group.objects.get_or_create, name="operator")
        await do(ana.user.groups.add, operators)

        assert await socket.is_silent()
        assert (await socket.watch("tasks", scope="all"))["scope"] == "all"


async def test_subscription_of_an_ended_session_is_refused_before_the_next_look(ana: Someone) -> None:
    never = LiveConsumer.as_asgi(check_seconds=3600)

    async with connected(ana.session, application=never) as socket:
        await socket.watch("tasks")
        await do(Session.objects.all().delete)
        await socket.say({"watch": ["tasks"]})

        assert await socket.ended() == Ended.SIGNED_OUT


async def test_socket_ends_when_it_cannot_be_checked(ana: Someone, caplog: pytest.LogCaptureFixture) -> None:
    async with connected(ana.session) as socket:
        await socket.watch("tasks")
        away = database_away()
        await do(away.__enter__)
        try:
            assert await socket.ended() == Ended.FAULT
        finally:
            await do(away.__exit__, None, None, None)

    assert "could not be checked" in caplog.text


TEXTS = [
    ("", Ended.NOT_UNDERSTOOD),
    ("{", Ended.NOT_UNDERSTOOD),
    ("[" * 10_000, Ended.NOT_UNDERSTOOD),
    ("null", Ended.NOT_UNDERSTOOD),
    ("{}", Ended.NOT_UNDERSTOOD),
    ('{"watch": "tasks"}', Ended.NOT_UNDERSTOOD),
    ('{"watch": ["owner.1"]}', Ended.NOT_UNDERSTOOD),
    ('{"watch": ["everyone"]}', Ended.NOT_UNDERSTOOD),
    ('{"watch": ["task:*"]}', Ended.NOT_UNDERSTOOD),
    ('{"watch": [], "scope": "theirs"}', Ended.NOT_UNDERSTOOD),
    ('{"watch": [], "more": 1}', Ended.NOT_UNDERSTOOD),
    (json.dumps({"watch": ["tasks"] * (MOST_WATCHED + 1)}), Ended.NOT_UNDERSTOOD),
    ("x" * (MOST_CHARACTERS + 1), Ended.TOO_LONG),
]


@pytest.mark.parametrize(("text", "code"), TEXTS)
async def test_garbage_ends_the_socket_with_a_code_and_no_noise(
    ana: Someone, text: str, code: Ended, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(ana.session) as socket:
        await socket.send(text=text)

        assert await socket.ended() == code

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_bytes_end_the_socket(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        await socket.send(bytes=b"\x00\xff")

        assert await socket.ended() == Ended.NOT_TEXT


async def test_browser_that_talks_too_fast_is_cut_off(ana: Someone) -> None:
    async with connected(ana.session) as socket:
        for _ in range(BURST * 3):
            await socket.say({"watch": ["tasks"]})

        assert await socket.ended() == Ended.TOO_FAST


async def test_browser_that_does_not_read_is_cut_off(ana: Someone) -> None:
    task = await do(ana.create)
    impatient = LiveConsumer.as_asgi(send_seconds=0.05)
    ends: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def stuck(scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def send_slowly(message: dict[str, Any]) -> None:
            if message["type"] == "websocket.close":
                ends.set_result(message["code"])
            elif '"news"' in message.get("text", ""):
                await asyncio.Event().wait()
            await send(message)

        await impatient(scope, receive, send_slowly)

    async with connected(ana.session, application=stuck) as socket:
        await socket.watch("tasks")
        announce(task)

        assert await asyncio.wait_for(ends, 15) == Ended.TOO_SLOW


async def test_task_that_ends_is_told_with_its_status(ana: Someone) -> None:
    task = await do(ana.create)
    by = Actor(ActorKind.OWNER, id=ana.owner_id, via="console")

    async with connected(ana.session) as socket:
        await socket.watch(f"task:{task.id}")
        await do(store.cancel, task.id, owner_id=ana.owner_id, by=by)

        assert [each["st"] for each in (await socket.hear())["tasks"]] == ["cancelled"]
