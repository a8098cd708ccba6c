"""Everything that a socket may ask to hear, by every role: as the table says; another's is as silent as nothing."""

from __future__ import annotations

import re
from typing import Any, get_args
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async

from console.live.watching import Topic
from tests.console.authorization.table import ROLES, TOPICS
from tests.console.live.conftest import Someone, own_bus
from tests.console.live.sockets import connected

__all__ = ["own_bus"]


pytestmark = pytest.mark.usefixtures("own_bus")


def known_topics() -> set[str]:
    """The words that the pattern of a topic begins with."""
    pattern: str = get_args(Topic)[1].metadata[0].pattern
    inner = re.sub(r"\[.*", "", pattern.removeprefix("^("))
    return {word.rstrip(":") for word in inner.split("|")}


def test_every_topic_has_its_line_and_every_line_its_topic() -> None:
    assert known_topics() == set(TOPICS)


def people(role: str) -> tuple[Someone, dict[str, str]]:
    me = Someone("me") if role == "owner" else Someone("me", role)
    topics = {"own": me.create().id, "others": Someone("stranger").create().id, "missing": uuid4()}
    return me, {whose: f"task:{task_id}" for whose, task_id in topics.items()}


@pytest.mark.parametrize("role", ROLES)
async def test_socket_hears_what_the_table_says(transactional_db: None, role: str) -> None:
    me, tasks = await database_sync_to_async(people)(role)
    async with connected(me.session) as socket:
        for topic in set(TOPICS) - {"task"}:
            for scope in ("mine", "all"):
                said: dict[str, Any] = await socket.watch(topic, scope=scope)
                assert said["watch"] == [topic]
                # Who may not hear everyone's hears their own: the answer says which it is.
                may = role in TOPICS[topic][scope]
                assert said["scope"] == (scope if may else "mine"), (topic, scope)
        heard = {whose: (await socket.watch(topic))["watch"] == [topic] for whose, topic in tasks.items()}
    assert heard == {"own": True, "others": role in TOPICS["task"]["others"], "missing": False}
