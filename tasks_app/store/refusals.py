"""What was refused: counted in memory, and put on record once a minute, off every request's path.

One event for each (credential or address, action, minute), with a count: whoever tries a door a thousand times leaves one
line. Best effort: a process that is killed loses its last minute. A refusal belongs to who was refused; the owner of a
task that somebody reached for does not see it, and the event's task is empty for that reason.

Whoever reaches for a task that is another's, has expired or never was gets one and the same answer. Which of them it was
is found out here, for operators: it goes on record and into the metrics. Who was refused does not see it either
(`tasks_app.store.audit`).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connections

from tasks_app.conf import conf
from tasks_app.counters import count_denials
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.text import clean_text
from tasks_app.store import codec
from tasks_app.store.db import actor_json, affected, rows
from tasks_app.store.locking import IS_LIVE

KIND = "refused"
NOT_FOUND = NotFound.reason
FOREIGN, EXPIRED, UNKNOWN, OTHER = "foreign", "expired", "unknown", "other"
GRAVEST_FIRST = (FOREIGN, EXPIRED, UNKNOWN, OTHER)
"""Why a task was denied: it is another's, its time is over, there is none, or too many were tried to look at all."""
MOST_KNOWN = 10_000
MOST_TASKS = 10
WORD_CHARACTERS = 80
MINUTE_SECONDS = 60

_WRITE = """
INSERT INTO tasks_event (owner_id, kind, actor, detail)
SELECT g.owner, 'refused', g.actor::jsonb, g.detail::jsonb
  FROM unnest(%(owners)s::bigint[], %(actors)s::text[], %(details)s::text[]) AS g (owner, actor, detail)
"""
# Whose a task is or was, and whether its time is over: by two primary keys, for all of a minute at once.
_WHOSE = f"""
SELECT asked.id, coalesce(t.owner_id, x.owner_id), t.id IS NULL OR NOT ({IS_LIVE})
  FROM unnest(%(tasks)s::uuid[]) AS asked (id)
  LEFT JOIN tasks_task t ON t.id = asked.id LEFT JOIN tasks_expiration x ON x.task_id = asked.id
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Refusal:
    """Somebody was refused something within one minute, so many times."""

    actor: Actor
    owner_id: int | None
    detail: dict[str, Any]
    tasks: Counter[str] = field(default_factory=Counter)
    count: int = 0
    left_out: int = 0
    """How often it was a task beyond those that are remembered."""


class Ledger:
    """The refusals of this process that are not on record yet, in bounded memory."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: dict[tuple[object, ...], _Refusal] = {}
        self._timer: threading.Timer | None = None

    def note(self, action: str, *, by: Actor, owner_id: int | None = None, address: str = "", why: str = "",
             task: str = "") -> None:  # fmt: skip
        """Count one refusal. Costs no I/O, and never fails."""
        what = clean_text(action, WORD_CHARACTERS)
        with self._lock:
            who = by.credential or by.id or address
            key = (who, what, int(self._clock() // MINUTE_SECONDS))
            if key not in self._noted and len(self._noted) >= MOST_KNOWN:
                return
            detail = {"action": what, "address": address, "why": clean_text(why, WORD_CHARACTERS)}
            refusal = self._noted.setdefault(key, _Refusal(by, owner_id, detail))
            refusal.count += 1
            named = clean_text(task, WORD_CHARACTERS)
            if named in refusal.tasks or (named and len(refusal.tasks) < MOST_TASKS):
                refusal.tasks[named] += 1
            elif named:
                refusal.left_out += 1
            self._wait()

    def flush(self) -> int:
        """Put everything on record now, and give how many events that were."""
        with self._lock:
            noted, self._noted = list(self._noted.values()), {}
        if not noted:
            return 0
        _tell_apart([each for each in noted if each.detail["why"] == NOT_FOUND])
        return affected(
            _WRITE,
            {
                "owners": [each.owner_id for each in noted],
                "actors": [actor_json(each.actor) for each in noted],
                "details": [_detail(each) for each in noted],
            },
        )

    def forget(self) -> None:
        """Drop what was not put on record."""
        with self._lock:
            self._noted = {}

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(conf().refusals_every, self._flush_in_thread)
            self._timer.daemon = True
            self._timer.start()

    def _flush_in_thread(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self.flush()
        except Exception as error:
            logger.warning("refusals of the last minute are not on record: %r", error)
        finally:
            with suppress(Exception):
                connections.close_all()


def _tell_apart(noted: Iterable[_Refusal]) -> None:
    """Say of each refusal, and count, why the tasks in it were denied; the gravest reason is the one of the whole."""
    refusals = list(noted)
    whose = _whose({task for each in refusals for task in each.tasks})
    for refusal in refusals:
        reasons: Counter[str] = Counter()
        for task, times in refusal.tasks.items():
            reasons[_reason(*whose.get(task, (None, True)), asked_by=refusal.owner_id)] += times
        reasons[OTHER] += refusal.left_out
        # What could not even be an id was never a task.
        reasons[UNKNOWN] += refusal.count - reasons.total()
        found = {reason: reasons[reason] for reason in GRAVEST_FIRST if reasons[reason]}
        refusal.detail["why"] = next(iter(found))
        refusal.detail["reasons"] = found if len(found) > 1 else {}
        for reason, times in found.items():
            count_denials(reason, times)


def _reason(owner_id: int | None, is_over: bool, *, asked_by: int | None) -> str:
    if owner_id is None:
        return UNKNOWN
    if owner_id != asked_by:
        return FOREIGN
    # One's own that lives was denied for something else about it, such as a question that it does not ask.
    return EXPIRED if is_over else OTHER


def _whose(tasks: Iterable[str]) -> dict[str, tuple[int | None, bool]]:
    ids = []
    for text in tasks:
        with suppress(ValueError):
            ids.append(UUID(text))
    found = rows(_WHOSE, {"tasks": ids}) if ids else []
    return {str(task_id): (owner_id, bool(is_over)) for task_id, owner_id, is_over in found}


def _detail(refusal: _Refusal) -> str:
    told = {name: value for name, value in refusal.detail.items() if value}
    return json.dumps(
        codec.storable({**told, "count": refusal.count, **({"tasks": list(refusal.tasks)} if refusal.tasks else {})})
    )


ledger = Ledger()
"""The one of this process."""
