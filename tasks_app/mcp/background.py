"""Small work that no answer waits for: noting a fetch, cancelling what a caller left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger(__name__)

_running: set[asyncio.Task[Any]] = set()


def spawn(work: Coroutine[Any, Any, Any]) -> None:
    """Do this soon; what goes wrong is logged."""
    task = asyncio.get_running_loop().create_task(work)
    # The loop itself holds a task only weakly.
    _running.add(task)
    task.add_done_callback(_ended)


async def finish(seconds: float = 5.0) -> None:
    """Wait until everything of this event loop is done, so many seconds at most: before the pool is closed."""
    loop = asyncio.get_running_loop()
    own = {task for task in _running if task.get_loop() is loop}
    if own:
        await asyncio.wait(own, timeout=seconds)


def _ended(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.warning("work in the background failed: %r", error)
