"""News as a socket sends it: what the bus said within a moment, in one message, each task once and at its latest."""

from __future__ import annotations

import asyncio
from typing import Any

from tasks_app.bus import Inbox, Message

GATHER_SECONDS = 0.05
QUIET_SECONDS = 60.0
MOST_TASKS = 200


class News:
    """What has been heard since the last message."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[int, str]] = {}
        self._topics: set[str] = set()

    def add(self, message: Message) -> None:
        """Take in one message of the bus; an older version of a task that is known already changes nothing."""
        kind = message["type"]
        if kind == "task.changed":
            self._add_task(message)
        elif kind == "tasks.changed":
            for task in message["tasks"]:
                self._add_task(task)
        else:
            self._topics.add(kind.removesuffix(".changed"))

    def _add_task(self, changed: Message) -> None:
        if self._tasks.get(changed["id"], (-1, ""))[0] < changed["v"]:
            self._tasks[changed["id"]] = (changed["v"], changed["st"])

    def as_message(self) -> dict[str, Any]:
        """For the browser: ids, versions and statuses, or that too much changed to name it."""
        tasks = [{"id": task_id, "v": v, "st": status} for task_id, (v, status) in self._tasks.items()]
        is_much = len(tasks) > MOST_TASKS
        return {
            "t": "news",
            "tasks": [] if is_much else tasks,
            "again": is_much,
            "inbox": "inbox" in self._topics,
            "stats": "stats" in self._topics,
        }


async def next_news(inbox: Inbox) -> dict[str, Any]:
    """Wait for news, and for what else comes at nearly the same time."""
    while (message := await inbox.get(QUIET_SECONDS)) is None:
        pass
    await asyncio.sleep(GATHER_SECONDS)
    news = News()
    while message is not None:
        news.add(message)
        message = await inbox.get(0)
    return news.as_message()
