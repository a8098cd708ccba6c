"""Celery's consumer through an outage of the broker: it lives on, and looks for the broker every second.

Work goes on without the broker, but a hint that a worker cannot hear starts nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

LOOK_EVERY_SECONDS = 1

logger = logging.getLogger(__name__)


class PromptConsumer(Consumer):  # type: ignore[misc]
    """A consumer whose pauses between two tries to connect do not grow, and that no lost connection ends."""

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long that takes."""
        connect = conn.ensure_connection

        def promptly(*args: Any, **kwargs: Any) -> Any:
            pauses = {"interval_start": LOOK_EVERY_SECONDS, "interval_step": 0, "interval_max": LOOK_EVERY_SECONDS}
            return connect(*args, **kwargs, **pauses)

        conn.ensure_connection = promptly
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Let go of a connection that broke; the worker goes on whatever that raises."""
        # With a message not yet acknowledged, closing tries to give it back, through a connection that was taken apart
        # already, and fails in a way that nobody expects: the worker would end. A hint need not be given back.
        self.connection.close = partial(close_quietly, self.connection.close)
        super().on_connection_error_after_connected(exc)


def close_quietly(close: Callable[[], object]) -> None:
    """Close something that may be broken; what that raises is only told."""
    try:
        close()
    except Exception as error:
        logger.info("a broken connection to the broker could not be closed: %r", error)
