"""`/healthz`: this process is up. `/readyz`: the whole can take work, or which part cannot and what to do about it.

Both are open to everyone, so an answer names parts and remedies only: no addresses, no errors, no counts. Every part is
asked in a thread with a deadline, because a database or a broker that is there but silent must not silence us; however
often we are asked, at most one such question to each is under way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from django.contrib.auth.decorators import login_not_required
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.celery import app
from tasks_app.conf import conf
from tasks_app.engine.registry import registry
from tasks_app.store import workers

# A part that has not answered by then does not answer. The probes themselves give up sooner where they can.
DEADLINE_SECONDS = 2.5
PROBE_SECONDS = 2

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the whole: in order, or what is wrong with it and what to do."""

    problem: str = ""
    remedy: str = ""

    def as_json(self) -> dict[str, bool | str]:
        """What a caller sees of it."""
        return {"ok": False, "problem": self.problem, "remedy": self.remedy} if self.problem else {"ok": True}


Parts: TypeAlias = dict[str, Part]

FINE = Part()
NO_DATABASE = Part(
    "The database cannot be used.",
    "Check that Postgres runs, that DATABASE_URL is right, and that `manage.py migrate` has run.",
)
NOT_KNOWN = Part("Not known while the database cannot be used.", "See the part `database`.")
NO_BROKER = Part("The broker does not answer.", "Check that Redis or Valkey runs and that BROKER_URL is right.")
NO_WORKER = Part("No live worker takes work.", "Start one: celery -A console.celery worker")
STUCK = Part(
    "A task has been due for too long although a worker is free.",
    "Check that `manage.py engine` runs and that the workers use the same broker.",
)


@login_not_required
@never_cache
@require_safe
def healthz(_: HttpRequest) -> HttpResponse:
    """Say that this process serves requests; nothing else is asked."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(_: HttpRequest) -> HttpResponse:
    """Say whether tasks can be taken and run now; 503 and the part that is missing when not."""
    parts = _ask_all()
    is_ready = all(part == FINE for part in parts.values())
    shown = {name: part.as_json() for name, part in parts.items()}
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"ready": is_ready, "parts": shown}, status=status)


class Probe:
    """One question to a part that may never answer; all who ask while it is under way share it."""

    def __init__(self, question: Callable[[], Parts], *, otherwise: Parts) -> None:
        self._question = question
        self._otherwise = otherwise
        self._lock = threading.Lock()
        self._answer: Future[Parts] | None = None

    def ask(self) -> Future[Parts]:
        """The answer to come."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer = Future()
                # No pool: its threads are waited for when the process ends, and this one may hang.
                threading.Thread(target=self._run, args=(self._answer,), name="readyz", daemon=True).start()
            return self._answer

    def read(self, answer: Future[Parts], *, deadline: float) -> Parts:
        """What the answer says, or that there is none in time."""
        try:
            return answer.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            return self._otherwise

    def _run(self, answer: Future[Parts]) -> None:
        try:
            parts = self._question()
        except Exception as error:
            logger.warning("not ready: %r", error)
            parts = self._otherwise
        connections.close_all()
        answer.set_result(parts)


def _ask_all() -> Parts:
    deadline = time.monotonic() + DEADLINE_SECONDS
    asked = [(probe, probe.ask()) for probe in (_DATABASE, _BROKER)]
    found: Parts = {}
    for probe, answer in asked:
        found |= probe.read(answer, deadline=deadline)
    return found


def _ask_database() -> Parts:
    be_impatient()
    takes_work = any(not worker.draining for worker in workers.live_workers())
    # In this order: a slot that is free before the oldest is read was not just given back by it.
    is_stuck = (
        workers.free_slots() > 0 and (workers.oldest_claimable_seconds(registry.caps()) or 0.0) > conf().due_alarm
    )
    return {
        "database": FINE,
        "workers": FINE if takes_work else NO_WORKER,
        "dispatch": STUCK if is_stuck else FINE,
    }


def be_impatient() -> None:
    """Make the connection of this thread, which is not open yet, give up soon."""
    options = connection.settings_dict["OPTIONS"] | {
        "connect_timeout": PROBE_SECONDS,
        "tcp_user_timeout": PROBE_SECONDS * 1000,
        "options": f"-c statement_timeout={PROBE_SECONDS}s",
    }
    connection.settings_dict = connection.settings_dict | {"OPTIONS": options}


def ask_broker() -> Parts:
    """Whether the broker takes a connection."""
    patience = {"socket_timeout": PROBE_SECONDS, "socket_connect_timeout": PROBE_SECONDS}
    address = app.conf.broker_write_url
    with app.connection(address, connect_timeout=PROBE_SECONDS, transport_options=patience) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
    return {"broker": FINE}


_DATABASE = Probe(_ask_database, otherwise={"database": NO_DATABASE, "workers": NOT_KNOWN, "dispatch": NOT_KNOWN})
_BROKER = Probe(ask_broker, otherwise={"broker": NO_BROKER})
