"""The worker's side of Celery: its name, its row in the table of workers, and the beat that keeps the row fresh.

The parent process beats; the children that run tools only inherit the name, to put it on their attempts. A worker that
cannot reach the database keeps trying: its row grows old, and it counts as gone until it is back.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from billiard import current_process
from celery import shared_task, signals
from django.db import connections

from tasks_app import bus
from tasks_app.conf import conf
from tasks_app.engine import liveness
from tasks_app.engine.drain import drain
from tasks_app.engine.hints import DRAIN
from tasks_app.store import workers

# In the environment, because a child may be forked or be a new interpreter.
WORKER_ID = "TASKDECK_WORKER_ID"
GOODBYE_SECONDS = 3.0

logger = logging.getLogger(__name__)


class Pulse(threading.Thread):
    """Beats for one worker until it leaves, whatever happens to the database meanwhile."""

    def __init__(
        self, worker_id: str, *, slots: Callable[[], int], children: Callable[[], Collection[int]] = frozenset
    ) -> None:
        super().__init__(name="worker-pulse", daemon=True)
        self._worker_id = worker_id
        self._count_slots = slots
        self._list_children = children
        self._slots = 0
        self._draining = False
        self._leaving = False
        self._hurry = threading.Event()
        self._failing = False

    def drain(self) -> None:
        """Say as soon as possible that the worker takes no more work; safe in a signal handler, also twice."""
        if not self._draining:
            self._draining = True
            self._hurry.set()

    def leave(self, *, seconds: float) -> None:
        """Take the worker off the list and end; waits so many seconds at most."""
        self._leaving = True
        self._hurry.set()
        self.join(seconds)

    def run(self) -> None:
        """Beat, and wait for the next beat or for something new to say."""
        while not self._leaving:
            self._try(self._beat)
            self._end_silent_children()
            self._hurry.wait(conf().worker_beat)
            self._hurry.clear()
        self._try(self._say_goodbye)

    def _beat(self) -> None:
        if not self._draining:  # a pool that is being taken down can no longer be asked
            self._slots = self._count_slots()
        workers.beat(self._worker_id, slots=self._slots, draining=self._draining)

    def _end_silent_children(self) -> None:
        """Kill a child whose tool holds the interpreter lock: its watch cannot run, and its lease is over."""
        for pid in set(liveness.silent(conf().lease)) & set(self._list_children()):
            logger.warning("the child %s has not been heard for longer than a lease: it is killed", pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _say_goodbye(self) -> None:
        workers.leave(self._worker_id)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # the database may be away for as long as it likes
            if not self._failing:
                logger.warning("the worker cannot say that it is alive, and keeps trying: %r", error)
            self._failing = True
        else:
            if self._failing:
                logger.info("the worker is heard again")
            self._failing = False
        finally:
            # Not kept between beats: a child that is forked meanwhile would inherit it.
            connections.close_all()


_pulse: Pulse | None = None


def worker_id() -> str:
    """The name of the worker that this process is, or is a child of; empty in any other process."""
    return os.environ.get(WORKER_ID, "")


def _take_a_name(**_: Any) -> None:
    # Before the first child is started. A worker that restarts in place is another worker.
    os.environ[WORKER_ID] = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def _start_beating(*, sender: Any, **_: Any) -> None:
    # Sent again after each reconnection to the broker.
    global _pulse  # noqa: PLW0603 - one worker a process
    if _pulse is None:
        _pulse = Pulse(
            worker_id(), slots=lambda: int(sender.pool.num_processes), children=lambda: _children(sender.pool)
        )
        _pulse.start()


def _children(pool: Any) -> set[int]:
    return {process.pid for process in getattr(getattr(pool, "_pool", None), "_pool", ())}


@shared_task(name=DRAIN, ignore_result=True)  # type: ignore[untyped-decorator]
def drain_due_tasks() -> int:
    """What a hint does: run whatever is due."""
    return drain(worker_id(), index=getattr(current_process(), "index", 0))


def _stop_taking_work(**_: Any) -> None:
    liveness.shut_down()
    if _pulse is not None:
        _pulse.drain()


def _leave(**_: Any) -> None:
    if _pulse is not None:
        _pulse.leave(seconds=GOODBYE_SECONDS)


def _send_last_announcements(**_: Any) -> None:
    bus.close()


signals.worker_init.connect(_take_a_name)
signals.worker_ready.connect(_start_beating)
signals.worker_shutting_down.connect(_stop_taking_work)
signals.worker_shutdown.connect(_leave)
signals.worker_process_shutdown.connect(_send_last_announcements)
