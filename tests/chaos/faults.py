"""The faults, each by its number in the test plan. A fault breaks something, and waits for its end if it must.

They run one after the other in the main thread, while clients and workers go on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from random import Random
from uuid import UUID

import redis
from celery import current_app
from django.db import connections

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, ActorKind
from tasks_app.engine import hints
from tasks_app.store import queries
from tasks_app.store.db import rows
from tests.acceptance.remote_modern import Modern
from tests.chaos.cluster import TOOLS, Cluster
from tests.chaos.dying_web import EXIT_CODE
from tests.chaos.load import Clients, Journal, answer, patiently
from tests.chaos.remote import answers
from tests.processes import Running

LOOK_EVERY = 0.02
# What a busy machine may add to anything.
MARGIN_SECONDS = 5.0
STARTS_WITHIN = 5.0
STORM_SECONDS = 120.0
STORM_SHARE = 0.10
SMALL_STORM_SHARE = 0.40
OPERATOR = Actor(ActorKind.SYSTEM, via="chaos", reason="a fault")


@dataclass
class Arena:
    """What a fault may touch, and how long it may take: `scale` divides the long waits of the test plan."""

    cluster: Cluster
    clients: Clients
    journal: Journal
    random: Random
    scale: float

    def until(self, condition: Callable[[], object], seconds: float, *, what: str) -> float | None:
        """Wait until it holds, and give how long that took; otherwise it is written down as wrong."""
        begun = time.monotonic()
        while not patiently(condition):
            if time.monotonic() > begun + seconds:
                self.journal.wrong.append(f"{what}: not within {seconds:.0f} s")
                return None
            time.sleep(LOOK_EVERY)
        return time.monotonic() - begun


def kill_child(arena: Arena) -> bool:
    """C1: kill -9 a process in the middle of a tool."""
    text = "SELECT task_id, number, worker FROM tasks_attempt WHERE ended_at IS NULL"
    if arena.until(lambda: rows(text), 30, what="C1: something runs") is None:
        return False
    running = patiently(lambda: rows(text))
    arena.random.shuffle(running)
    for task_id, number, worker in running:
        pid = arena.cluster.child_of_ours(worker)
        if pid is None:
            continue
        os.kill(pid, signal.SIGKILL)
        # Only what it interrupted has to be given up: the attempt may have ended just before.
        seconds = conf().lease + conf().reap_every + MARGIN_SECONDS
        noticed = arena.until(partial(_has_ended, task_id, number), seconds, what="C1: the attempt is given up")
        took = arena.until(partial(_went_on, task_id, number), 30, what="C1: the task goes on")
        if noticed is not None and took is not None:
            arena.journal.recovered("C1 killed worker process, until it was noticed", noticed)
            arena.journal.recovered("C1 killed worker process, until the task went on", noticed + took)
        return True
    return False


def _has_ended(task_id: UUID, number: int) -> bool:
    text = "SELECT 1 FROM tasks_attempt WHERE task_id = %(task)s AND number = %(number)s AND ended_at IS NULL"
    return not rows(text, {"task": task_id, "number": number})


def _went_on(task_id: UUID, last: int) -> bool:
    text = "SELECT attempt, finished_at, open_questions FROM tasks_task WHERE id = %(task)s"
    found = rows(text, {"task": task_id})
    return not found or found[0][0] > last or found[0][1] is not None or found[0][2] > 0


def die_before_commit(arena: Arena) -> None:
    """C2: a worker whose processes die between the return of the tool and the commit, for a while."""
    faulty = arena.cluster.start_worker(slots=1, TASKDECK_FAULT="after_tool:exit")
    has_died = f"SELECT 1 FROM tasks_attempt WHERE outcome = 'lost' AND worker LIKE '%%:{faulty.pid}:%%'"
    try:
        arena.until(lambda: rows(has_died), 90, what="C2: the faulty worker loses an attempt")
    finally:
        faulty.end()


def die_during_create(arena: Arena) -> None:
    """C3: a web process dies before and after the commit of a create; the same key then makes, or finds, one task."""
    for when in ("before", "after"):
        key = f"crash-{when}-{arena.random.getrandbits(64):x}"
        modules = {"TASKDECK_TOOL_MODULES": f"{TOOLS},tests.chaos.dying_web", "CHAOS_DIE": when}
        web, origin = arena.cluster.start_web(**modules)
        try:
            if arena.until(partial(answers, origin), 90, what="C3: the doomed web process starts") is None:
                return
            code = _die(arena, web, origin, key=key)
        finally:
            web.end()
        asked = partial(rows, "SELECT id FROM tasks_task WHERE idempotency_key = %(key)s", {"key": key})
        found = [task_id for (task_id,) in patiently(asked)]
        if code != EXIT_CODE or len(found) != (1 if when == "after" else 0):
            arena.journal.wrong.append(f"C3: killed {when} the commit (exit {code}), there are {len(found)} tasks")
        again = arena.clients.create("work", key=key, owner=arena.clients.owners[0])
        if (found and found != [again]) or len(patiently(asked)) != 1:
            arena.journal.wrong.append(f"C3: killed {when} the commit, the key gave {again} beside {found}")


def _die(arena: Arena, web: Running, origin: str, *, key: str) -> int | None:
    """Create a task at a web process that dies with it, and give the exit code; None when it lives on."""
    token, _ = patiently(partial(store.create_token, arena.clients.owners[0], name="chaos", by=OPERATOR))
    # The arguments of the clients, so that the key stands for the same call.
    call = {"name": "work", "arguments": {"ledger": str(arena.cluster.ledger)}}
    with suppress(OSError, HTTPException):
        Modern(origin, token).request("tools/call", call, idempotency_key=key)
    with suppress(subprocess.TimeoutExpired):
        return web.wait()
    return None


def freeze_worker(arena: Arena) -> None:
    """C4: a whole worker is stopped for three leases, and comes back as a zombie."""
    worker = arena.random.choice(arena.cluster.workers)
    os.killpg(worker.pid, signal.SIGSTOP)
    try:
        time.sleep(3 * conf().lease)
    finally:
        os.killpg(worker.pid, signal.SIGCONT)


def restart_postgres(arena: Arena) -> None:
    """C5: the database restarts, cleanly or not."""
    at_once = arena.random.random() < 0.5
    with arena.journal.witness.outage():
        away = arena.cluster.restart_postgres(at_once=at_once)
    took = arena.until(lambda: rows("SELECT 1"), 5, what="C5: the store answers after the restart")
    arena.journal.notes.append(f"C5 {'immediate' if at_once else 'fast'}: away for {away:.1f} s")
    if took is not None:
        arena.journal.recovered("C5 Postgres restart, until the store answered", took)


def cut_connections(arena: Arena) -> None:
    """C7: a random connection is ended every second, five times."""
    text = """SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND backend_type = 'client backend'"""
    with arena.journal.witness.outage():
        for _ in range(5):
            pids = [pid for (pid,) in patiently(lambda: rows(text))]
            if pids:
                victim = arena.random.choice(pids)
                patiently(partial(rows, "SELECT pg_terminate_backend(%(pid)s::int)", {"pid": victim}))
            time.sleep(1)


def stop_broker(arena: Arena) -> None:
    """C8: the broker is away for a minute, or a part of it; creates go on, and work starts again soon after."""
    gone = time.monotonic()
    arena.cluster.valkey.stop()
    time.sleep(60 / arena.scale)
    probe = arena.clients.create("work")
    since = patiently(lambda: rows("SELECT tasks_now(), max(started_at) FROM tasks_attempt"))[0]
    took = sorted(seconds for begun, seconds in arena.journal.creates if begun > gone)
    arena.journal.notes.append(
        f"C8: {len(took)} creates without a broker, 99 % within {took[int(0.99 * len(took))]:.2f} s (goal 0.3 s)"
    )
    arena.cluster.valkey.start()
    begun = "SELECT 1 FROM tasks_attempt WHERE started_at > greatest(%(now)s, %(latest)s) LIMIT 1"
    again = {"now": since[0], "latest": since[1]}
    soon = STARTS_WITHIN + 3 * MARGIN_SECONDS
    first = arena.until(lambda: rows(begun, again), soon, what="C8: work begins again after the outage")
    rest = arena.until(lambda: _went_on(probe, 0), soon, what="C8: a task that was created without a broker starts")
    if first is not None and rest is not None:
        arena.journal.recovered("C8 broker outage, until work began again (goal 5 s)", first)
        arena.journal.recovered("C8 broker outage, until all created meanwhile had begun (goal 5 s)", first + rest)


def lose_hints(arena: Arena) -> None:
    """C9: the broker forgets everything, or restarts."""
    if arena.random.random() < 0.5:
        redis.Redis.from_url(arena.cluster.valkey.channel_url).flushall()
        return
    arena.cluster.valkey.stop()
    arena.cluster.valkey.start()


def repeat_hints(arena: Arena) -> None:
    """C10: hints come ten times, for nothing."""
    for _ in range(10):
        current_app.send_task(hints.DRAIN, ignore_result=True, retry=False)
        hints.publish(1)


def answer_together(arena: Arena) -> None:
    """C12: three answer the same question at once; one answer is recorded."""
    for _ in range(5):
        task_id = arena.clients.create("talk")
        if arena.until(partial(_asked_or_over, task_id), 30, what="C12: the task asks") is None:
            return
        asked = patiently(partial(queries.questions, task_id))
        if asked:
            recorded = sum(_at_once([partial(answer, task_id, asked[0].key)] * 3))
            if recorded > 1:
                arena.journal.wrong.append(f"C12: {recorded} answers to {asked[0].key} were recorded")


def _at_once(calls: list[Callable[[], bool]]) -> list[bool]:
    barrier, outcomes = threading.Barrier(len(calls)), []

    def run(call: Callable[[], bool]) -> None:
        barrier.wait(30)
        outcomes.append(call())
        connections.close_all()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def cancel_at_the_end(arena: Arena) -> None:
    """C13: tasks are cancelled about when they complete."""
    for _ in range(20):
        task_id = arena.clients.create("work", arguments={"parts": 1})
        time.sleep(arena.random.uniform(0, 0.15))
        arena.clients.cancel(task_id)


def answer_at_the_deadline(arena: Arena) -> None:
    """C14: questions are answered about when their deadline gives the default."""
    for _ in range(10):
        task_id = arena.clients.create("hurry")
        if arena.until(partial(_asked_or_over, task_id), 30, what="C14: the task asks") is None:
            return
        time.sleep(arena.random.uniform(0.3, 0.6))
        for asked in patiently(partial(queries.open_questions, task_id)):
            answer(task_id, asked.key)


def _asked_or_over(task_id: UUID) -> bool:
    found = rows("SELECT 1 FROM tasks_question WHERE task_id = %(task)s", {"task": task_id})
    return bool(found) or _went_on(task_id, 1)


def expire_at_the_end(arena: Arena) -> None:
    """C15: tasks expire about when they complete, while they are read."""
    tasks = [arena.clients.create("work", ttl_ms=arena.random.randint(50, 600)) for _ in range(20)]
    for task_id in tasks:
        try:
            patiently(partial(queries.get, task_id, owner_id=None))
        except NotFound:
            continue


def retry_storm(arena: Arena) -> None:
    """C19: many tasks fail together until what they need is up again; they do not come back together."""
    down = arena.cluster.folder / "down"
    down.touch()
    tasks = min(1000, int(6000 / arena.scale**2))
    made = [arena.clients.create("storm", arguments={"down": str(down)}) for _ in range(tasks)]
    time.sleep(30 / arena.scale)
    down.unlink()
    text = """SELECT count(*) FROM tasks_attempt a WHERE a.task_id = ANY(%(tasks)s) AND a.number > 1
               GROUP BY date_trunc('second', a.started_at) ORDER BY 1 DESC"""
    ended = partial(rows, "SELECT 1 FROM tasks_task WHERE id = ANY(%(tasks)s) AND finished_at IS NULL", {"tasks": made})
    if arena.until(lambda: not ended(), STORM_SECONDS, what="C19: the storm is over") is None:
        return
    retries = [number for (number,) in patiently(partial(rows, text, {"tasks": made}))]
    share = retries[0] / sum(retries)
    arena.journal.notes.append(f"C19: {sum(retries)} retries of {tasks} tasks, {share:.0%} of them in one second")
    # The fewer tasks, the fewer retries, and the more of them meet by chance.
    most = STORM_SHARE if tasks >= 1000 else SMALL_STORM_SHARE
    if share > most:
        arena.journal.wrong.append(f"C19: {share:.0%} of all retries began in the same second, at most {most:.0%}")


def swallow_poison(arena: Arena) -> None:
    """C20: a tool that takes its process down fails after three losses."""
    task_id = arena.clients.create("poison")
    arena.journal.notes.append(f"C20: poison is task {task_id}")


def ignore_cancel(arena: Arena) -> None:
    """C21: a tool that never looks up is cancelled; its process is gone after the grace."""
    task_id = arena.clients.create("stubborn")
    running = {"task": task_id}
    has_begun = "SELECT 1 FROM tasks_attempt WHERE task_id = %(task)s AND ended_at IS NULL"
    if arena.until(lambda: rows(has_begun, running), 30, what="C21: the stubborn tool begins") is None:
        return
    arena.clients.cancel(task_id)
    took = arena.until(lambda: not rows(has_begun, running), conf().grace + 5, what="C21: the stubborn tool is gone")
    if took is not None:
        arena.journal.recovered("C21 cancel of a tool that ignores it, until it was gone", took)


def roll_workers(arena: Arena) -> None:
    """C22: every worker is told to go and replaced; what it ran is given back, not lost."""
    for index, worker in enumerate(arena.cluster.workers[:]):
        before = _lost(worker)
        code = arena.cluster.replace_worker(index)
        of_worker = f"worker LIKE '%%:{worker.pid}:%%'"
        open_ = patiently(partial(rows, f"SELECT 1 FROM tasks_attempt WHERE ended_at IS NULL AND {of_worker}"))
        lost = _lost(worker) - before
        if code or open_ or lost:
            arena.journal.wrong.append(
                f"C22: worker ended with {code}, left {len(open_)} attempts open and lost {len(lost)}"
            )


def _lost(worker: Running) -> set[tuple[UUID, int]]:
    """The attempts that this worker has lost, but for those of the poison, which are lost anyway."""
    text = """SELECT a.task_id, a.number FROM tasks_attempt a JOIN tasks_task t ON t.id = a.task_id
               WHERE a.outcome = 'lost' AND a.worker LIKE %(worker)s AND t.tool <> 'poison'"""
    return set(patiently(partial(rows, text, {"worker": f"%:{worker.pid}:%"})))


SHORT: dict[str, Callable[[Arena], bool | None]] = {
    "C1": kill_child,
    "C4": freeze_worker,
    "C5": restart_postgres,
    "C9": lose_hints,
    "C13": cancel_at_the_end,
    "C20": swallow_poison,
}
FAULTS: dict[str, Callable[[Arena], bool | None]] = {
    **SHORT,
    "C2": die_before_commit,
    "C3": die_during_create,
    "C7": cut_connections,
    "C8": stop_broker,
    "C10": repeat_hints,
    "C12": answer_together,
    "C14": answer_at_the_deadline,
    "C15": expire_at_the_end,
    "C19": retry_storm,
    "C21": ignore_cancel,
    "C22": roll_workers,
}
