"""The load of the chaos run: clients that create tasks, look at them and answer, and do not give up in an outage.

They use the endpoint, as anybody does. What was acknowledged is written down here; the verdict compares it with what is
in the tables.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
from tests.chaos.cluster import Cluster
from tests.chaos.remote import AGAIN_SECONDS, ENDED, PATIENCE_SECONDS, Remote, Witness

T = TypeVar("T")
OWNERS = 5
# How often each tool is called, and with what.
MIX: tuple[tuple[str, int, Mapping[str, Any]], ...] = (
    ("work", 50, {"parts": 4}),
    ("work_async", 15, {}),
    ("talk", 20, {}),
    ("hurry", 5, {}),
    ("flaky", 10, {}),
)
YES = {"action": "accept", "content": {"confirm": True}}
NEWEST = 20
LOOK_SECONDS = 0.1
# Goes through any list in an order that jumps about, and misses none.
LEAP = 7919
_OPEN = """SELECT DISTINCT t.owner_id, t.id FROM tasks_question q JOIN tasks_task t ON t.id = q.task_id
            WHERE q.state = 'open' LIMIT 20"""
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
    witness: Witness = field(default_factory=Witness)
    creates: list[tuple[float, float]] = field(default_factory=list)
    """When each create began, and how long it took until it was acknowledged."""

    def recovered(self, what: str, seconds: float) -> None:
        """Remember how long it took until all was well after a fault."""
        self.recoveries.setdefault(what, []).append(seconds)


class Clients:
    """Three threads: one creates, one looks, one answers."""

    def __init__(self, journal: Journal, cluster: Cluster, *, tasks: int, seconds: float, seed: int) -> None:
        self.journal = journal
        self.ledger = cluster.ledger
        self.owners = [store.find_or_make_owner(OwnerKind.USER, subject=f"owner-{n}") for n in range(OWNERS)]
        by = Actor.system(via="chaos")
        tokens = {owner: store.create_token(owner, name="chaos", by=by)[0] for owner in self.owners}
        self._remotes = {owner: Remote(cluster.origins, token, journal.witness) for owner, token in tokens.items()}
        self._made: list[tuple[int, UUID]] = []
        self._tasks = tasks
        self._pause = seconds / tasks
        self._random = Random(seed)
        self._end = threading.Event()
        self.may_end = threading.Event()
        """Set when nothing breaks any more: until then there is always something to do."""
        self.is_done = threading.Event()
        """Set when everything was created."""
        self._number = 0
        self._looks = 0
        self._lock = threading.Lock()
        works = {"a create": self._create_next, "a look": self._look, "an answer": self._answer_all}
        self._threads = [threading.Thread(target=self._work, args=each, daemon=True) for each in works.items()]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Create, look and answer while the block runs; no error of a thread is lost."""
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
        if values:
            return self._store(store.NewTask(owner_id=owner, tool=tool, arguments=arguments, key=key, **values))
        begun = time.monotonic()
        task_id = UUID(self._remotes[owner].create(tool, arguments, key=key))
        self.journal.creates.append((begun, time.monotonic() - begun))
        self.journal.accepted[key] = task_id
        self._made.append((owner, task_id))
        return task_id

    def _store(self, new: store.NewTask) -> UUID:
        """With a time to live, which a client of the endpoint cannot ask for."""
        task = patiently(lambda: store.create(new)).task
        hints.send()
        self.journal.accepted[str(new.key)] = task.id
        self.journal.short_lived.add(task.id)
        return task.id

    def cancel(self, task_id: UUID) -> None:
        """The owner cancels the task; one that is gone is no error."""
        owner = next((owner for owner, made in reversed(self._made) if made == task_id), self.owners[0])
        with suppress(NotFound):
            self._remotes[owner].cancel(str(task_id))

    def look_at_all(self, most: int) -> Iterator[str]:
        """J1: some of the acknowledged tasks are asked for once more; each has ended, for its owner too."""
        for owner, task_id in self._random.sample(self._made, min(most, len(self._made))):
            try:
                task = self._remotes[owner].get(str(task_id))
            except NotFound:
                yield f"J1: the acknowledged task {task_id} is gone for its owner"
                continue
            if task["status"] not in ENDED:
                yield f"J1: the acknowledged task {task_id} is still {task['status']}"

    def _work(self, what: str, turn: Callable[[], float]) -> None:
        """Take turns, with the pause that each gives after it, until the end."""
        try:
            while not self._end.wait(turn()):
                pass
        except Exception as error:
            self.journal.wrong.append(f"{what} failed: {error!r}")
            self.is_done.set()
        finally:
            connections.close_all()

    def _create_next(self) -> float:
        if len(self.journal.accepted) >= self._tasks and self.may_end.is_set():
            self.is_done.set()
            return self._pause
        tool, _, arguments = self._random.choices(MIX, [weight for _, weight, _ in MIX])[0]
        self.create(tool, arguments=arguments)
        return self._pause

    def _look(self) -> float:
        """Look at one of the newest tasks, and now and then at an old one."""
        if self._made:
            newest = self._made[-NEWEST:] if self._looks % 2 else self._made
            owner, task_id = newest[self._looks * LEAP % len(newest)]
            with suppress(NotFound):
                self._remotes[owner].get(str(task_id))
        self._looks += 1
        return LOOK_SECONDS

    def _answer_all(self) -> float:
        """Answer what is asked, as the client is told it; where something is asked is looked up, to be soon."""
        for owner, task_id in patiently(lambda: rows(_OPEN)):
            remote = self._remotes[owner]
            with suppress(NotFound):
                keys = remote.get(str(task_id)).get("inputRequests", {})
                if keys:
                    remote.answer(str(task_id), dict.fromkeys(keys, YES))
        return AGAIN_SECONDS


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
