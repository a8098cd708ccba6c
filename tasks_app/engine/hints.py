"""Hints: telling workers that something is due. Best effort, coalesced, and never on the path of a request.

A hint that is lost costs one tick of the engine loop, which publishes what is due; one too many costs a query.
"""

from __future__ import annotations

import logging
import os
import threading
import time

import redis
from celery import current_app

from tasks_app.engine import wake

DRAIN = "taskdeck.drain"
MOST_MESSAGES = 8
WARN_SECONDS = 10.0

logger = logging.getLogger(__name__)


def publish(due: int, *, is_first: bool = False) -> None:
    """Hint that so many tasks are due; children that wait are woken, for the others there are messages.

    The first hint at a task sends none while another waits: whoever takes that one finds the task as well. The engine
    loop, which hints at what was left lying, relies on no message that may have been lost.
    """
    if due <= 0:
        return
    try:
        if wake.push(due) or (is_first and not wake.may_send()):
            return
    except redis.RedisError as error:
        logger.debug("the wake list cannot be reached: %r", error)
    for _ in range(min(due, MOST_MESSAGES)):
        current_app.send_task(DRAIN, ignore_result=True, retry=False)


def send(due: int = 1) -> None:
    """The same, soon, from a thread of its own: takes microseconds and never raises."""
    _sender().add(due)


class _Sender:
    """Gathers hints while one is on its way, so that a burst costs a few messages."""

    def __init__(self) -> None:
        self._due = 0
        self._wanted = threading.Condition()
        self._warned = -WARN_SECONDS
        threading.Thread(target=self._run, name="hints", daemon=True).start()

    def add(self, due: int) -> None:
        with self._wanted:
            self._due += due
            self._wanted.notify()

    def _run(self) -> None:
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._due)
                due, self._due = self._due, 0
            self._publish(due)

    def _publish(self, due: int) -> None:
        try:
            publish(due, is_first=True)
        except Exception as error:  # a broker that is down must not fail a create: the loop will hint again
            if time.monotonic() - self._warned > WARN_SECONDS:
                self._warned = time.monotonic()
                logger.warning("workers cannot be hinted, the engine loop will: %r", error)


_senders: dict[int, _Sender] = {}
_lock = threading.Lock()


def _sender() -> _Sender:
    # By process: a thread stays behind in the parent when a child is forked.
    pid = os.getpid()
    with _lock:
        if pid not in _senders:
            _senders[pid] = _Sender()
        return _senders[pid]
