"""The live bus: what is announced is heard, and a broker that is down, silent or new costs nobody anything."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings
from redis.asyncio import Redis

from console.embedded.valkey import EmbeddedValkey
from tasks_app import bus
from tasks_app.bus import BACKLOG, Change, Inbox, Message, announce, inbox_group, listening, owner_group, task_group

PROJECT = Path(__file__).resolve().parents[2]
SOON = 30.0
SILENCE = 0.3
FAR_BELOW_A_THOUSAND_WAITS = 10.0
TASK = UUID("5b0e2b0c-3c1a-4f7e-9a55-0d8a1c6f2e11")
PREFIX = "bus-tests"
LAYER = "tasks_app.layer.OneTripLayer"
PLAIN_LAYER = "channels_redis.pubsub.RedisPubSubChannelLayer"


@pytest.fixture(autouse=True)
def fresh_bus(settings: Settings) -> Iterator[None]:
    """No thread or warning of another test, and groups that no parallel test knows."""
    bus.close()
    bus._warned.clear()
    use_layer(settings, django_settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"][0])
    yield
    bus.close()


@pytest.fixture
def own_valkey(tmp_path: Path, settings: Settings) -> Iterator[EmbeddedValkey]:
    """A broker of the test's own, not started yet, that the bus is to use."""
    valkey = EmbeddedValkey(tmp_path / "valkey")
    use_layer(settings, valkey.channel_url)
    yield valkey
    bus.close()
    valkey.stop()


def use_layer(settings: Settings, address: str, *, backend: str = LAYER) -> None:
    """Let the bus use this broker, with a prefix of its own."""
    config = {"hosts": [address], "prefix": f"{PREFIX}-{uuid4().hex}"}
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": config}}


def change(*, version: int = 1, questions: bool = False) -> Change:
    """A change of the one task that these tests know, owned by owner 7."""
    return Change(TASK, 7, version, "working", questions)


async def test_any_other_layer_is_given_the_messages_one_by_one(settings: Settings) -> None:
    use_layer(settings, django_settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"][0], backend=PLAIN_LAYER)

    async with listening(task_group(TASK), owner_group(7)) as inbox:
        announce(change(version=1))
        announce(change(version=2))
        messages = await heard(inbox)

    assert [message["v"] for message in messages] == [1, 1, 2, 2]


async def heard(inbox: Inbox, *, silence: float = SILENCE) -> list[Message]:
    """Everything until it has been silent for a while."""
    found: list[Message] = []
    while message := await inbox.get(SOON if not found else silence):
        found.append(message)
    return found


async def test_change_is_heard_by_who_follows_the_task_and_who_follows_the_owner() -> None:
    async with listening(task_group(TASK)) as one, listening(owner_group(7)) as all_of_owner:
        announce(Change(TASK, 7, 42, "completed", questions=False))

        expected = {"type": "task.changed", "id": str(TASK), "v": 42, "st": "completed"}
        assert await one.get(SOON) == expected
        assert await all_of_owner.get(SOON) == expected


async def test_change_is_not_heard_by_who_follows_another_task_or_owner() -> None:
    async with listening(task_group(uuid4()), owner_group(8)) as stranger, listening(task_group(TASK)) as follower:
        announce(change())
        await follower.get(SOON)

        assert await stranger.get(SILENCE) is None


async def test_inbox_hears_only_changes_of_questions() -> None:
    async with listening(inbox_group(7)) as inbox:
        announce(change(version=1, questions=False))
        announce(change(version=2, questions=True))

        assert await heard(inbox) == [{"type": "inbox.changed", "id": str(TASK)}]


async def test_changes_are_heard_in_their_order_by_everyone() -> None:
    async with listening(task_group(TASK)) as one, listening(task_group(TASK)) as other:
        for version in range(1, 101):
            announce(change(version=version))

        for inbox in (one, other):
            assert [message["v"] for message in await heard(inbox)] == list(range(1, 101))


async def test_stats_are_told_once_for_a_burst_and_once_after_it() -> None:
    async with listening(bus.STATS) as inbox:
        for version in range(50):
            announce(change(version=version))
        messages = await heard(inbox, silence=2 * bus.STATS_SECONDS)

    assert messages in ([{"type": "stats.changed"}], [{"type": "stats.changed"}] * 2)


async def test_get_gives_none_when_nothing_happens_in_time() -> None:
    async with listening(task_group(TASK)) as inbox:
        assert await inbox.get(0.01) is None


async def test_waiting_in_vain_loses_no_later_message() -> None:
    async with listening(task_group(TASK)) as inbox:
        assert await inbox.get(0.01) is None
        announce(change(version=3))

        message = await inbox.get(SOON)

    assert message is not None
    assert message["v"] == 3


async def test_leaving_ends_the_subscription() -> None:
    group = f"{django_settings.CHANNEL_LAYERS['default']['CONFIG']['prefix']}__group__{task_group(TASK)}"
    broker = Redis.from_url(django_settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"][0])
    try:
        async with listening(task_group(TASK)):
            during = await broker.pubsub_numsub(group)
        after = await broker.pubsub_numsub(group)
    finally:
        await broker.aclose()

    assert (during[0][1], after[0][1]) == (1, 0)


async def test_inbox_that_nobody_reads_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus, "INBOX", 3)

    async with listening(task_group(TASK)) as lazy, listening(task_group(TASK), owner_group(8)) as last:
        for version in range(1, 8):
            announce(change(version=version))
        announce(Change(uuid4(), 8, 99, "working", questions=False))
        await _until_heard(last, version=99)

        assert [message["v"] for message in await heard(lazy)] == [5, 6, 7]


async def _until_heard(inbox: Inbox, *, version: int) -> None:
    async with asyncio.timeout(SOON):
        while True:
            message = await inbox.get(SOON)
            if message is not None and message["v"] == version:
                return


def test_announcing_to_a_broker_that_is_down_takes_no_time(
    own_valkey: EmbeddedValkey, caplog: pytest.LogCaptureFixture
) -> None:
    announce(change())

    started = time.monotonic()
    for version in range(1000):
        announce(change(version=version))
    seconds = time.monotonic() - started
    bus.close()

    assert seconds < FAR_BELOW_A_THOUSAND_WAITS
    assert caplog.text.count("the live bus cannot be reached") == 1


def test_announcing_to_a_broker_that_is_silent_takes_no_time(own_valkey: EmbeddedValkey) -> None:
    own_valkey.start()
    assert own_valkey.pid is not None
    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        for version in range(1000):
            announce(change(version=version))
        seconds = time.monotonic() - started
        bus.close()
        closed_after = time.monotonic() - started
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)

    assert seconds < FAR_BELOW_A_THOUSAND_WAITS
    assert closed_after < seconds + 2 * bus.CLOSE_SECONDS + FAR_BELOW_A_THOUSAND_WAITS


async def test_full_backlog_loses_the_oldest_and_says_so(
    own_valkey: EmbeddedValkey, caplog: pytest.LogCaptureFixture
) -> None:
    for version in range(BACKLOG + 500):
        announce(change(version=version))
    await asyncio.to_thread(own_valkey.start)

    async with listening(task_group(TASK)) as inbox:
        announce(change(version=BACKLOG + 500))
        await _until_heard(inbox, version=BACKLOG + 500)

    assert caplog.text.count("the oldest are dropped") == 1


async def test_listener_that_came_while_the_broker_was_down_hears_later(
    own_valkey: EmbeddedValkey, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(task_group(TASK)) as inbox:
        silent = await inbox.get(0.01)
        await asyncio.to_thread(own_valkey.start)
        message = await _repeat_until_heard(inbox)

    assert silent is None
    assert message["id"] == str(TASK)
    assert "the live bus cannot be heard" in caplog.text


async def test_listener_hears_again_after_the_broker_was_restarted(
    own_valkey: EmbeddedValkey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="channels_redis.pubsub")
    await asyncio.to_thread(own_valkey.start)

    async with listening(task_group(TASK)) as inbox:
        announce(change(version=1))
        first = await inbox.get(SOON)
        await asyncio.to_thread(own_valkey.stop)
        await asyncio.to_thread(own_valkey.start)
        again = await _repeat_until_heard(inbox)

    assert first is not None
    assert again["id"] == str(TASK)


async def _repeat_until_heard(inbox: Inbox) -> Message:
    async with asyncio.timeout(2 * SOON):
        while True:
            announce(change(version=9))
            if message := await inbox.get(0.2):
                return message


async def test_entering_and_leaving_are_quick_while_the_broker_is_down(own_valkey: EmbeddedValkey) -> None:
    started = time.monotonic()

    async with listening(task_group(TASK)) as inbox:
        assert await inbox.get(0) is None

    assert time.monotonic() - started < bus.SEND_SECONDS


async def test_without_a_channel_layer_the_bus_is_merely_silent(settings: Settings) -> None:
    settings.CHANNEL_LAYERS = {}

    async with listening(task_group(TASK)) as inbox:
        announce(change())

        assert await inbox.get(0.05) is None


async def test_closing_sends_what_waits() -> None:
    async with listening(task_group(TASK)) as inbox:
        for version in range(1, 21):
            announce(change(version=version))
        await asyncio.to_thread(bus.close)

        assert [message["v"] for message in await heard(inbox)] == list(range(1, 21))


def test_closing_twice_or_without_any_announcement_is_harmless() -> None:
    bus.close()
    announce(change())

    bus.close()
    bus.close()


async def test_announcement_after_the_thread_has_ended_is_sent_by_another() -> None:
    announce(change(version=1))
    await asyncio.to_thread(bus._announcer().close)

    async with listening(task_group(TASK)) as inbox:
        announce(change(version=2))

        assert [message["v"] for message in await heard(inbox)] == [2]


def test_announcing_does_not_fail_when_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        announce(change())

    assert "a change could not be announced" in caplog.text


FORKING = """
import os, sys, uuid
import django
django.setup()
from tasks_app import bus

task = uuid.UUID(sys.argv[1])
bus.announce(bus.Change(task, 1, 1, "working", False))
child = os.fork()
if child == 0:
    bus.announce(bus.Change(task, 1, 2, "working", False))
    bus.close()
    os._exit(0)
os.waitpid(child, 0)
bus.announce(bus.Change(task, 1, 3, "working", False))
"""


async def test_process_and_its_forked_child_are_both_heard_also_when_they_end_at_once(settings: Settings) -> None:
    task = uuid4()
    config = {"hosts": django_settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"]}
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": LAYER, "CONFIG": config}}

    async with listening(task_group(task)) as inbox:
        command = [sys.executable, "-W", "error", "-c", FORKING, str(task)]
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings.test"}
        run = partial(subprocess.run, capture_output=True, timeout=30, text=True, check=False)
        done = await asyncio.to_thread(run, command, cwd=PROJECT, env=environment)
        versions = {message["v"] for message in await heard(inbox)}

    assert (done.returncode, done.stderr) == (0, "")
    assert versions == {1, 2, 3}
