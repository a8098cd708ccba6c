"""The engine loop: runs every duty on its schedule, for as long as the process lives.

A duty is a short function of the store that any number of processes may run at the same time. This module knows when to
run one and what to do when it fails, nothing of what it does.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from django.db import connections

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import StorageUnavailable
from tasks_app.engine import hints
from tasks_app.store import chain, expiry, hidden, loops, questions, sessions, tally, workers
from tasks_app.store.reap import BATCH as REAP_BATCH

SLOW_SECONDS = 1.0
MOST_HINTS = 100
LONGEST_BACKOFF_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Duty:
    """Something to do every so many seconds; what `run` returns is how many things it did."""

    name: str
    every_seconds: float
    run: Callable[[], int | None]
    # A run that did so many left some behind: it is run again as soon as nothing else is due. None: it always does all.
    batch: int | None = None


_registered: dict[str, Duty] = {}


def register(duty: Duty) -> None:
    """Add a duty of an app to every engine loop; to be called in its `ready()`."""
    if duty.name in _registered:
        raise ValueError(f"a duty named {duty.name!r} is already registered")
    _registered[duty.name] = duty


def default_duties() -> list[Duty]:
    """What the engine itself has to do."""
    settings = conf()
    return [
        Duty("say that the loop lives", settings.worker_beat, beat),
        Duty("dispatch", settings.tick, dispatch),
        Duty("reap", settings.reap_every, store.reap, batch=REAP_BATCH),
        Duty("expire questions", settings.sweep_every, store.expire_questions, batch=questions.SWEEP),
        Duty("cancel abandoned calls", settings.sweep_every, hidden.cancel_abandoned, batch=hidden.BATCH),
        Duty("expire tasks", settings.sweep_every, store.expire, batch=expiry.BATCH),
        Duty("purge tasks", settings.sweep_every, store.purge, batch=expiry.BATCH),
        Duty("fold the tally", settings.fold_every, store.fold, batch=tally.BATCH),
        Duty("seal the log", settings.seal_every, store.seal, batch=chain.BATCH),
        Duty("verify the chain", settings.verify_every, chain.look_around),
        Duty("retire the log", settings.retire_every, store.retire, batch=1),
        Duty("forget sessions", settings.retire_every, sessions.forget_sessions, batch=sessions.BATCH),
        Duty("forget gone workers", settings.worker_gone, workers.forget_gone),
    ]


def dispatch() -> int:
    """Hint at what has been due for longer than a tick, for as many as the live workers have room for.

    Where all slots seem taken one hint goes out now and then: a child that died holds its slot until its lease is over,
    and the one that replaced it waits for work.
    """
    free = min(workers.free_slots(), MOST_HINTS)
    due = workers.due_count(older_than=conf().tick, limit=free or 1)
    if due and not free and not any(not worker.draining for worker in workers.live_workers()):
        return 0
    hints.publish(due, is_first=not free)
    return due


def beat() -> None:
    """Say that the loop of this process lives: the console tells people when none does."""
    loops.beat(_own_id())


def leave() -> None:
    """Say that the loop of this process has stopped; without a database there is nobody to tell."""
    with suppress(StorageUnavailable):
        loops.leave(_own_id())


@cache
def _own_id() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def all_duties() -> list[Duty]:
    """The engine's own duties and those that apps have registered."""
    return [*default_duties(), *_registered.values()]


@dataclass(slots=True)
class _Turn:
    """When a duty is due next, by the monotonic clock, and how often in a row it has failed."""

    duty: Duty
    due: float = field(default_factory=time.monotonic)
    failures: int = 0


class Loop:
    """All duties in one thread; whatever a duty raises, the loop goes on until it is told to stop."""

    def __init__(self, duties: Iterable[Duty] | None = None) -> None:
        self._turns = [_Turn(duty) for duty in (all_duties() if duties is None else duties)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.run, name="engine-loop", daemon=True)

    def start(self) -> None:
        """Run in a thread of its own; returns at once."""
        self._thread.start()

    def stop(self, *, seconds: float) -> bool:
        """Ask the loop to end after the duty at hand; says whether it did within so many seconds."""
        self._stop.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def run(self) -> None:
        """Run duties in the calling thread until `stop`."""
        try:
            while not self._stop.is_set():
                self._run_next()
        finally:
            _drop_connections()

    def _run_next(self) -> None:
        turn = min(self._turns, key=lambda each: each.due, default=None)
        if turn is None:
            self._stop.wait()
        elif not self._stop.wait(max(0.0, turn.due - time.monotonic())):
            self._run_turn(turn)

    def _run_turn(self, turn: _Turn) -> None:
        started = time.monotonic()
        try:
            has_more = _perform(turn.duty)
        # Not even a duty that exits may end the loop: the others are none of its business.
        except (Exception, SystemExit) as error:
            self._put_off(turn, error)
            return
        if turn.failures:
            logger.info("%s works again", turn.duty.name)
        turn.failures = 0
        turn.due = time.monotonic() if has_more else max(started + turn.duty.every_seconds, time.monotonic())

    def _put_off(self, turn: _Turn, error: BaseException) -> None:
        turn.failures += 1
        delay = _backoff(turn.duty.every_seconds, failures=turn.failures)
        turn.due = time.monotonic() + delay
        # An outage explains itself, and a fault of ours needs its traceback only once.
        traceback = error if turn.failures == 1 and not isinstance(error, StorageUnavailable) else None
        logger.warning("%s failed, next try in %.1f s: %r", turn.duty.name, delay, error, exc_info=traceback)
        _drop_connections()


def _perform(duty: Duty) -> bool:
    """Run a duty once and say whether it may have left some behind."""
    started = time.monotonic()
    done = duty.run() or 0
    seconds = time.monotonic() - started
    if seconds > SLOW_SECONDS:
        logger.warning("%s took %.1f s", duty.name, seconds)
    return duty.batch is not None and done >= duty.batch


def _backoff(every_seconds: float, *, failures: int) -> float:
    """Twice as long after each failure, up to a few seconds or the duty's own interval."""
    return min(every_seconds * 2.0 ** min(failures - 1, 10), max(every_seconds, LONGEST_BACKOFF_SECONDS))


def _drop_connections() -> None:
    """Let go of this thread's connections, sound or not; the next query opens a new one."""
    for connection in connections.all(initialized_only=True):
        with suppress(Exception):
            connection.close()
