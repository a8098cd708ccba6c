"""What keeps the whole from working: no worker, no engine loop, no broker. A strip on every page says so.

It costs a page nothing: every process asks for itself, in a thread, at most once in some seconds for all its viewers,
and a page shows what is known already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.access import Action, Principal, require
from console.pages.health import FINE, NO_BROKER, NO_WORKER, Part, Parts, Probe, ask_broker, be_impatient
from tasks_app.conf import conf
from tasks_app.store import loops, workers

FRESH_SECONDS = 5.0
# A worker needs some seconds to start: who opens the page at once must not read that there is none.
PATIENCE_SECONDS = 20.0

NO_LOOP = Part("The engine loop does not run.", "Start one: python manage.py engine")


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong: what, what comes of it, and the command or the setting that mends it."""

    what: str
    so: str
    mend: str
    code: str


KNOWN = {
    NO_WORKER: Trouble(
        "No worker is up.",
        so="New tasks are kept and wait.",
        mend="Start one:",
        code="celery -A console.celery worker",
    ),
    NO_LOOP: Trouble(
        "The engine loop does not run.",
        so="Nothing expires, and lost work is not started again.",
        mend="Start it:",
        code="python manage.py engine",
    ),
    NO_BROKER: Trouble(
        "The broker does not answer.",
        so="New tasks are kept and wait; pages poll instead of following live.",
        mend="Start Redis or Valkey at the address of",
        code="BROKER_URL",
    ),
}


class Watch:
    """What the probes said last, asked again when that is no longer fresh."""

    def __init__(self, probes: Sequence[Probe], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._probes = probes
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._asked: float | None = None
        self._answers: list[Future[Parts]] = []
        self._known: Parts = {}

    def troubles(self) -> list[Trouble]:
        """What is known to be wrong; never waits, so the first page of a process knows of nothing."""
        with self._lock:
            now = self._clock()
            self._learn()
            if self._asked is None or now - self._asked >= FRESH_SECONDS:
                self._asked = now
                self._answers = [probe.ask() for probe in self._probes]
            if now - self._began < PATIENCE_SECONDS:
                return []
            return [KNOWN[part] for part in self._known.values() if part in KNOWN]

    def _learn(self) -> None:
        for answer in self._answers:
            if answer.done():
                self._known |= answer.result()


def _ask_machinery() -> Parts:
    be_impatient()
    takes_work = any(not worker.draining for worker in workers.live_workers())
    unseen = loops.unseen_seconds()
    is_looping = unseen is not None and unseen < conf().worker_gone
    return {"workers": FINE if takes_work else NO_WORKER, "loop": FINE if is_looping else NO_LOOP}


# Without a database there is no page to show a strip on, so that is not said here.
watch = Watch([Probe(_ask_machinery, otherwise={}), Probe(ask_broker, otherwise={"broker": NO_BROKER})])


@never_cache
@require_safe
@require(Action.VIEW)
def trouble(request: HttpRequest, principal: Principal) -> HttpResponse:  # noqa: ARG001
    """The strip alone, for a page that cannot be read again because it answered a form."""
    return render(request, "parts/trouble.html", {"troubles": watch.troubles})
