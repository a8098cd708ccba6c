"""The load of the chaos run: clients that create tasks and answer questions, and that do not give up in an outage.

What was acknowledged is written down here; the verdict compares it with what is in the tables.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection, connections

from tasks_app import store
from tasks_app.domain.errors import ConcurrentModification, NotFound, StorageUnavailable
from tasks_app.domain.identity import Actor, ActorKind, OwnerKind
from tasks_app.domain.questions import AnswerAction, Via
from tasks_app.engine import hints
from tasks_app.store.db import rows

T = TypeVar("T")
OWNERS = 5
PATIENCE_SECONDS = 60.0
AGAIN_SECONDS = 0.05
# How often each tool is called, and with what.
MIX: tuple[tuple[str, int, Mapping[str, Any]], ...] = (
    ("work", 50, {"parts": 4}),
    ("work_async", 15, {}),
    ("talk", 20, {}),
    ("hurry", 5, {}),
    ("flaky", 10, {}),
)
RETRIES = {"flaky": 5, "storm": 12}
_OPEN = "SELECT task_id, key FROM tasks_question WHERE state = 'open' LIMIT 20"
_OWNER = "SELECT owner_id FROM tasks_task WHERE id = %(task)s"


@dataclass
class Journal:
    """What the clients know: the task behind each key, what each was asked to be, and what went wrong."""

    accepted: dict[str, UUID] = field(default_factory=dict)
    short_lived: set[UUID] = field(default_factory=set)
    faults: Counter[str] = field(default_factory=Counter)
    recoveries: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def recovered(self, what: str, seconds: float) -> None:
        """Remember how long it took until all was well after a fault."""
        self.recoveries.setdefault(what, []).append(seconds)


class Clients:
    """Two threads: one creates, one answers."""

    def __init__(self, journal: Journal, *, ledger: Path, tasks: int, seconds: float, seed: int) -> None:
        self.journal = journal
        self.ledger = ledger
        self.owners = [store.find_or_make_owner(OwnerKind.USER, subject=f"owner-{n}") for n in range(OWNERS)]
        self._tasks = tasks
        self._pause = seconds / tasks
        self._random = Random(seed)
        self._end = threading.Event()
        self.may_end = threading.Event()
        """Set when nothing breaks any more: until then there is always something to do."""
        self.is_done = threading.Event()
        """Set when everything was created."""
        self._number = 0
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._create_all, self._answer_all)]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Create and answer while the block runs; no error of a thread is lost."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in self._threads:
                thread.join(PATIENCE_SECONDS)

    def create(self, tool: str, *, key: str | None = None, owner: int | None = None, **values: Any) -> UUID:
        """Create a task as a client does: with a key, again and again until it is acknowledged."""
        with self._lock:
            self._number += 1
            key = key or f"key-{self._number}"
            owner = owner or self.owners[self._number % OWNERS]
        arguments = {"ledger": str(self.ledger), **values.pop("arguments", {})}
        retries = RETRIES.get(tool, 3)
        new = store.NewTask(owner_id=owner, tool=tool, arguments=arguments, key=key, max_retries=retries, **values)
        task = patiently(lambda: store.create(new)).task
        hints.send()
        self.journal.accepted[key] = task.id
        if "ttl_ms" in values:
            self.journal.short_lived.add(task.id)
        return task.id

    def _create_all(self) -> None:
        names, weights, arguments = zip(*MIX, strict=True)
        try:
            while len(self.journal.accepted) < self._tasks or not self.may_end.is_set():
                index = self._random.choices(range(len(names)), weights)[0]
                self.create(names[index], arguments=arguments[index])
                self._end.wait(self._pause)
                if self._end.is_set():
                    return
        except Exception as error:
            self.journal.wrong.append(f"a create failed: {error!r}")
        finally:
            self.is_done.set()
            connections.close_all()

    def _answer_all(self) -> None:
        try:
            while not self._end.wait(AGAIN_SECONDS):
                for task_id, key in patiently(lambda: rows(_OPEN)):
                    answer(task_id, key)
        except Exception as error:
            self.journal.wrong.append(f"an answer failed: {error!r}")
        finally:
            connections.close_all()


def answer(task_id: UUID, key: str) -> bool:
    """The owner says yes; true when this was the answer that counts. A task that has expired is no error."""
    found = patiently(lambda: rows(_OWNER, {"task": task_id}))
    if not found:
        return False
    by = Actor(ActorKind.OWNER, id=found[0][0], via="mcp")
    given = {key: store.Answer(AnswerAction.ACCEPT, {"confirm": True})}
    try:
        done = patiently(lambda: store.answer(task_id, given, owner_id=None, by=by, via=Via.MCP))
    except NotFound:
        return False
    hints.send()
    return bool(done.recorded)


def patiently(call: Callable[[], T]) -> T:
    """Try again for as long as the database is away; any other error is one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return call()
        except (StorageUnavailable, ConcurrentModification, DatabaseError):
            if time.monotonic() > deadline:
                raise
            connection.close()
            time.sleep(AGAIN_SECONDS)
