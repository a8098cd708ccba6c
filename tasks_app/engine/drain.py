"""Draining: what a worker's child does with a hint. It claims and runs due tasks until there is none.

A hint says only that something is due. Each task is its own attempt with its own lease; the statement that settles one
claims the next. A child that has drained waits a moment on the wake list before it returns to Celery: the next task
then starts without a message.
"""

from __future__ import annotations

import logging
import os
import time

from django.db import connection

from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, StorageUnavailable
from tasks_app.engine import liveness, wake
from tasks_app.engine.registry import registry
from tasks_app.engine.run import run_attempt, settle
from tasks_app.engine.watch import Watch

# Back to Celery now and then, so that it can replace the child or shut it down.
LONGEST_SECONDS = 5.0
PARK_SECONDS = 0.2

logger = logging.getLogger(__name__)

_watches: dict[int, Watch] = {}


def drain(worker: str, *, index: int = 0) -> int:
    """Run what is due, for a bounded time, and give how many attempts that were."""
    wake.taken()
    watch = _watch(index)
    claimant = store.Claimant(f"{worker}/{os.getpid()}", registry.caps())
    try:
        return _drain(claimant, watch)
    except (StorageUnavailable, ConcurrentModification) as outage:
        logger.warning("cannot claim: %s", outage)
        connection.close()
        return 0


def _watch(index: int) -> Watch:
    """The watch of this process; one that was inherited by a fork has no thread here."""
    pid = os.getpid()
    if pid not in _watches:
        _watches[pid] = Watch(index=index)
    return _watches[pid]


def _drain(claimant: store.Claimant, watch: Watch) -> int:
    attempts = 0
    until = time.monotonic() + LONGEST_SECONDS
    claim = _claim(claimant)
    while True:
        while claim is not None:
            attempts += 1
            claim = _turn(claim, claimant, watch, is_last=time.monotonic() > until)
        # A hint that found nothing ends at once, or hints would pile up while what is due waits for a cap.
        if not attempts or time.monotonic() > until or not wake.park(PARK_SECONDS):
            return attempts
        claim = _claim(claimant)


def _claim(claimant: store.Claimant) -> store.Claim | None:
    return None if liveness.is_shutting_down() else store.claim_next(claimant)


def _turn(claim: store.Claim, claimant: store.Claimant, watch: Watch, *, is_last: bool) -> store.Claim | None:
    ending = run_attempt(claim, watch)
    following = None if is_last or liveness.is_shutting_down() else claimant
    if ending is None:
        return None if following is None else store.claim_next(following)
    return settle(ending, following)
