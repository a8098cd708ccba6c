"""Driving a chaos run from its start to its report; the plan of faults follows from the seed."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from django.core.management import call_command

from console.celery import app
from tasks_app.store.workers import live_workers
from tests.chaos import verdict
from tests.chaos.cluster import SLOTS, WORKERS, Cluster
from tests.chaos.edge_faults import silent_database, wrong_clocks
from tests.chaos.faults import FAULTS, SHORT, Arena
from tests.chaos.load import Clients, Journal, patiently
from tests.chaos.remote import answers

ALL_FAULTS_FROM_SECONDS = 60
IN_FULL_FROM_SECONDS = 600
START_SECONDS = 90.0
END_SECONDS = 60.0
MOST_SHOWN = 20
MOST_LOOKS = 2000
MORE_KILLS = 2
MOST_TRIES = 10
BETWEEN_SECONDS = (0.3, 2.0)

Fault = Callable[[Arena], bool | None]
ALL: dict[str, Fault] = {**FAULTS, "C6": silent_database, "C11": wrong_clocks}


class Drive:
    """One run."""

    def __init__(self, cluster: Cluster, options: argparse.Namespace) -> None:
        self._cluster = cluster
        self._seconds: float = options.seconds
        self._tasks: int = options.tasks
        self._seed: int = options.seed
        self._faults = _chosen(options.faults, seconds=options.seconds)
        self._journal = Journal()
        # Divides the long waits of the test plan, which is for half an hour.
        self._scale = 1.0 if options.seconds >= IN_FULL_FROM_SECONDS else 6.0

    def run(self) -> bool:
        """Break everything, wait for the end of it all, print the report; true when every promise was kept."""
        app.set_default()
        print(
            f"seed {self._seed}: {self._tasks} tasks in {self._seconds:.0f} s, faults {' '.join(self._faults)}",
            flush=True,
        )
        self._start()
        clients = Clients(self._journal, self._cluster, tasks=self._tasks, seconds=self._seconds, seed=self._seed)
        with clients.at_work():
            self._break_things(clients)
            clients.may_end.set()
            ended_after = self._wait_for_the_end(clients)
        self._journal.wrong += [*clients.look_at_all(MOST_LOOKS), *self._cluster.deaths()]
        wrong = verdict.everything_wrong(self._journal, self._cluster.ledger)
        self._report(wrong, ended_after)
        return not wrong

    def _start(self) -> None:
        call_command("migrate", verbosity=0)
        self._cluster.start_processes()
        deadline = time.monotonic() + START_SECONDS
        while not self._is_up():
            if time.monotonic() > deadline:
                raise SystemExit("The processes did not start.")
            time.sleep(0.1)

    def _is_up(self) -> bool:
        slots = sum(worker.slots for worker in live_workers())
        return slots >= WORKERS * SLOTS and all(answers(origin) for origin in self._cluster.origins)

    def _break_things(self, clients: Clients) -> None:
        random = Random(self._seed)
        arena = Arena(self._cluster, clients, self._journal, random, self._scale)
        until, tries = time.monotonic() + self._seconds, Counter[str]()
        for name, fault in self._plan(random):
            # Every fault happens once, however long that takes.
            if time.monotonic() > until and len(+self._journal.faults) == len(self._faults):
                return
            print(f"  {name} {(fault.__doc__ or '').partition(': ')[2]}", flush=True)
            happened = fault(arena) is not False
            self._journal.faults[name] += happened
            tries[name] += not happened
            if tries[name] > MOST_TRIES:
                self._journal.wrong.append(f"{name} could not be made to happen")
                return
            time.sleep(random.uniform(*BETWEEN_SECONDS))

    def _plan(self, random: Random) -> Iterator[tuple[str, Fault]]:
        while True:
            # A killed process is what happens most often.
            names = [*self._faults, *(name for name in self._faults if name == "C1" for _ in range(MORE_KILLS))]
            random.shuffle(names)
            yield from ((name, self._faults[name]) for name in names)

    def _wait_for_the_end(self, clients: Clients) -> float:
        begun = time.monotonic()
        deadline = begun + END_SECONDS + self._tasks / 20
        while time.monotonic() < deadline and not (clients.is_done.is_set() and not patiently(verdict.unfinished)):
            time.sleep(0.2)
        return time.monotonic() - begun

    def _report(self, wrong: list[str], ended_after: float) -> None:
        journal, ledger = self._journal, self._cluster.ledger
        print(
            f"\nfaults: {', '.join(f'{name} x{times}' for name, times in sorted(journal.faults.items(), key=_number))}"
        )
        print(f"tasks: {len(journal.accepted)} accepted; {_listed(verdict.outcomes())}")
        print(f"attempts: {_listed(verdict.attempt_ends())}")
        witness = journal.witness
        print(f"requests: {witness.answered} answered, {len(witness.failures)} failed in declared outages or wrongly")
        print(f"lost: {verdict.unfinished()}; all had ended {ended_after:.1f} s after the last fault")
        print(f"double records: {verdict.double_records()}; steps that ran again: {verdict.repeated_steps(ledger)}")
        for what, seconds in sorted(journal.recoveries.items()):
            ordered = sorted(seconds)
            print(f"recovery: {what}: median {ordered[len(ordered) // 2]:.2f} s, longest {ordered[-1]:.2f} s")
        for text in journal.notes:
            print(f"note: {text}")
        print(f"broken promises: {len(wrong) or 'none'}")
        for text in wrong[:MOST_SHOWN]:
            print(f"  {text}")


def _chosen(names: str, *, seconds: float) -> dict[str, Fault]:
    if names:
        return {name: ALL[name] for name in names.split(",")}
    return ALL if seconds >= ALL_FAULTS_FROM_SECONDS else SHORT


def _listed(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counted.items()))


def _number(fault: tuple[str, int]) -> int:
    return int(fault[0][1:])
