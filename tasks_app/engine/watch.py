"""The watch over the attempt that this process runs: a thread that renews the lease, and ends what will not end.

It stops a tool whose task was cancelled, whose time is up, or whose worker shuts down: first by a signal that the tool
meets at its next call of the context, then, after a grace, by ending the process. Nothing of the task is lost by that:
the attempt is closed first, and the row decides.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connection

from tasks_app import bus, store
from tasks_app.conf import conf
from tasks_app.domain.errors import ControlFlow, LeaseLost, Stop, TaskdeckError
from tasks_app.domain.outcome import AttemptEnd
from tasks_app.domain.retry import backoff_seconds, should_retry
from tasks_app.engine import liveness
from tasks_app.engine.journal import Release
from tasks_app.engine.registry import Tool

# No heartbeat for this share of the lease: believe it lost before anybody else may start.
SELF_FENCE = 25 / 30
EXIT_CODE = 70

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Watched:
    """An attempt under watch. `signal` is what its context raises next."""

    claim: store.Claim
    tool: Tool
    begun: float = field(default_factory=time.monotonic)
    signal: ControlFlow | None = None
    renewed: float = 0.0
    beat_at: float = 0.0
    kill_at: float | None = None
    is_told_to_stop: bool = False
    is_over_time: bool = False
    is_timed_out: bool = False

    def __post_init__(self) -> None:
        self.renewed = self.begun
        self.beat_at = self.begun + conf().heartbeat


class Watch:
    """One thread for each process, with a connection of its own; it sleeps while nothing runs."""

    def __init__(self, *, index: int = 0, leave: Callable[[], None] | None = None) -> None:
        self._index = index
        self._leave = leave or (lambda: os._exit(EXIT_CODE))
        self._watched: Watched | None = None
        self._is_asleep = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def begin(self, claim: store.Claim, tool: Tool) -> Watched:
        """Watch over this attempt from now on."""
        watched = Watched(claim, tool)
        with self._changed:
            self._watched = watched
            liveness.tick(self._index, pid=os.getpid(), is_busy=True)
            # Otherwise it looks by itself in a moment: to wake it for every attempt would cost more than a short tool.
            if self._is_asleep:
                self._changed.notify()
        return watched

    def end(self) -> None:
        """The tool has come to its end by itself."""
        with self._changed:
            self._watched = None
            liveness.tick(self._index, pid=os.getpid(), is_busy=False)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_asleep = self._watched is None
                self._changed.wait(None if self._is_asleep else _pause())
                self._is_asleep = False
                watched = self._watched
            if watched is not None:
                self._look_after(watched)

    def _look_after(self, watched: Watched) -> None:
        with self._changed:
            if self._watched is not watched:
                # Said now, it would make the child look busy, and in a while silent, though it only waits for work.
                return
            liveness.tick(self._index, pid=os.getpid(), is_busy=True)
        now = time.monotonic()
        try:
            for duty in (self._beat, self._check_time, self._check_shutdown):
                duty(watched, now)
        except TaskdeckError as error:
            logger.warning("the watch cannot reach the database: %s", error)
            connection.close()
        except Exception:  # the watch must outlive anything, or nobody would notice a tool that hangs
            logger.exception("the watch failed")
            connection.close()
        self._fence(watched, now)
        self._kill(watched, now)

    def _beat(self, watched: Watched, now: float) -> None:
        if now < watched.beat_at:
            return
        watched.beat_at = now + conf().heartbeat
        beat = store.heartbeat(watched.claim)
        if beat is store.Beat.LOST:
            self._stop(watched, now, Stop("the lease was lost"), since=conf().heartbeat)
            return
        watched.renewed = now
        if beat is store.Beat.STOP:
            watched.is_told_to_stop = True
            self._stop(watched, now, Stop("the task was cancelled or has expired"), since=conf().heartbeat)

    def _check_time(self, watched: Watched, now: float) -> None:
        if watched.is_timed_out or now < watched.begun + watched.tool.timeout:
            return
        if watched.signal is not None and not watched.is_over_time:
            return
        watched.is_over_time = True
        try:
            # Again after an outage: unsaid, it would count as the loss of a worker.
            time_out(watched)
            watched.is_timed_out = True
        finally:
            # Told only now: a tool that returns as soon as it is told would be in time after all.
            self._stop(watched, now, Stop("the tool ran longer than it may"))

    def _check_shutdown(self, watched: Watched, now: float) -> None:
        if not liveness.is_shutting_down() or watched.signal is not None:
            return
        watched.signal = Release()
        watched.kill_at = now + conf().release_after

    def _fence(self, watched: Watched, now: float) -> None:
        if watched.signal is None and now - watched.renewed > SELF_FENCE * conf().lease:
            self._stop(watched, now, Stop("the lease could not be renewed"), since=conf().heartbeat)

    def _stop(self, watched: Watched, now: float, signal: Stop, *, since: float = 0.0) -> None:
        """Tell the tool to stop, and when its process ends: a request that a heartbeat found may be as old as that."""
        if watched.kill_at is None or isinstance(watched.signal, Release):
            watched.kill_at = now + max(conf().grace - since, 0.0)
        watched.signal = signal

    def _kill(self, watched: Watched, now: float) -> None:
        """End the process, unless the tool came to its end in this very moment."""
        if watched.kill_at is None or now < watched.kill_at:
            return
        with self._changed:
            if self._watched is not watched:
                return
            logger.warning(
                "tool %s of task %s does not stop: its process ends", watched.tool.name, watched.claim.task_id
            )
            close_unfinished(watched)
            bus.close()  # or what was just announced would end with the process
            self._leave()


def _pause() -> float:
    return min(0.5, conf().heartbeat / 2)


def time_out(watched: Watched) -> None:
    """Settle an attempt whose time is up: another try if the tool wants one for that, otherwise the end."""
    claim, tool = watched.claim, watched.tool
    detail = f"The tool ran longer than its {tool.timeout:g} s."
    if should_retry(TimeoutError(detail), tool.retry_on) and claim.retries < claim.max_retries:
        delay = backoff_seconds(claim.retries + 1)
        ending = store.retrying(claim, delay=delay, end=AttemptEnd.TIMED_OUT, detail=detail)
    else:
        error = {"code": -32603, "message": detail, "data": {"reason": "timeout"}}
        ending = store.failure(claim, error=error, end=AttemptEnd.TIMED_OUT, detail=detail)
    try:
        store.record(ending)
    except LeaseLost:
        logger.info("task %s was settled before its time was up", claim.task_id)


def close_unfinished(watched: Watched) -> None:
    """Say in the row what becomes of an attempt whose process is about to end."""
    try:
        if watched.is_told_to_stop:
            store.killed(watched.claim)
        elif isinstance(watched.signal, Release):
            store.release(watched.claim)
    except Exception as error:  # then the lease runs out, which says the same a little later
        logger.warning("the end of an attempt could not be recorded: %r", error)
