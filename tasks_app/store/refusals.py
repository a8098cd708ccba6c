"""What was refused: counted in memory, and put on record once a minute, off every request's path.

One event for each (credential or address, action, minute), with a count: whoever tries a door a thousand times leaves one
line. Best effort: a process that is killed loses its last minute. A refusal belongs to who was refused; the owner of a
task that somebody reached for does not see it, and the event's task is empty for that reason.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from tasks_app.conf import conf
from tasks_app.domain.identity import Actor
from tasks_app.domain.text import clean_text
from tasks_app.store import codec
from tasks_app.store.db import actor_json, affected

KIND = "refused"
MOST_KNOWN = 10_000
MOST_TASKS = 10
WORD_CHARACTERS = 80
MINUTE_SECONDS = 60

_WRITE = """
INSERT INTO tasks_event (owner_id, kind, actor, detail)
SELECT g.owner, 'refused', g.actor::jsonb, g.detail::jsonb
  FROM unnest(%(owners)s::bigint[], %(actors)s::text[], %(details)s::text[]) AS g (owner, actor, detail)
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Refusal:
    """Somebody was refused something within one minute, so many times."""

    actor: Actor
    owner_id: int | None
    detail: dict[str, Any]
    tasks: dict[str, None] = field(default_factory=dict)
    count: int = 0


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
            if task and len(refusal.tasks) < MOST_TASKS:
                refusal.tasks[clean_text(task, WORD_CHARACTERS)] = None
            self._wait()

    def flush(self) -> int:
        """Put everything on record now, and give how many events that were."""
        with self._lock:
            noted, self._noted = list(self._noted.values()), {}
        if not noted:
            return 0
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


def _detail(refusal: _Refusal) -> str:
    told = {name: value for name, value in refusal.detail.items() if value}
    return json.dumps(
        codec.storable({**told, "count": refusal.count, **({"tasks": list(refusal.tasks)} if refusal.tasks else {})})
    )


ledger = Ledger()
"""The one of this process."""
