"""What is wrong with the whole, as strips on every page: expiry or dispatch lags, or the audit log was changed.

Read at most once in a few seconds for each process, however many people look; a page costs nothing by it. Owners see
their own tasks and can do nothing about the machinery, so the strips are for those who see everything.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse

from console.access import Action, principal_of
from console.present import length
from tasks_app.conf import conf
from tasks_app.engine.registry import registry
from tasks_app.store import gauges, workers
from tasks_app.store.chain import chain_state

FRESH_SECONDS = 5.0
EXPIRY_LAG_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """One strip: what is wrong, what to do, and where to look."""

    title: str
    remedy: str
    url: str = ""
    link: str = ""


class _Memory:
    """The last reading of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: tuple[Alarm, ...] = ()
        self._fresh_until = 0.0

    def read(self) -> tuple[Alarm, ...]:
        """The strips as of a few seconds ago; whoever comes while they are read takes the last ones."""
        if time.monotonic() >= self._fresh_until and self._lock.acquire(blocking=False):
            try:
                self._found = tuple(_look())
                self._fresh_until = time.monotonic() + FRESH_SECONDS
            finally:
                self._lock.release()
        return self._found

    def keep(self, found: tuple[Alarm, ...], *, seconds: float) -> None:
        """For tests: these, for so long."""
        self._found, self._fresh_until = found, time.monotonic() + seconds


memory = _Memory()


def alarms(request: HttpRequest) -> tuple[Alarm, ...]:
    """The strips for whoever asks; roles are only looked at when there is something to show."""
    if not isinstance(getattr(request, "user", None), User):
        return ()
    found = memory.read()
    try:
        return found if found and principal_of(request).may(Action.VIEW, everyone=True) else ()
    except PermissionDenied:
        return ()


def _look() -> list[Alarm]:
    return [alarm for alarm in (_chain(), _dispatch(), _expiry()) if alarm is not None]


def _chain() -> Alarm | None:
    state = chain_state()
    if state.broken is None:
        return None
    where = f"batch {state.broken}" + (f", event {state.broken_row}" if state.broken_row else "")
    remedy = f"{state.what[:1].upper()}{state.what[1:]}. Keep a copy of the database and run manage.py verify_audit."
    return Alarm(f"The audit log was changed: {where}", remedy, reverse("policy"), "Look")


def _dispatch() -> Alarm | None:
    # In this order: a slot that is free before the oldest is read was not just given back by it.
    free = workers.free_slots()
    due = workers.oldest_claimable_seconds(registry.caps()) or 0.0
    if not free or due <= conf().due_alarm:
        return None
    return Alarm(
        f"A task has been due for {length(timedelta(seconds=due))} although a worker is free",
        "Check that manage.py engine runs and that the workers use the same broker.",
        reverse("overview"),
        "Overview",
    )


def _expiry() -> Alarm | None:
    lag = gauges.expiry_lag() or 0.0
    if lag <= EXPIRY_LAG_SECONDS:
        return None
    return Alarm(
        f"Expiry is {length(timedelta(seconds=lag))} late",
        "Tasks past their time are refused, but their expiry is not recorded. Check that manage.py engine runs.",
    )
