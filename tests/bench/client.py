"""The load: many HTTP connections on one event loop of a process of its own. `python -m tests.bench.client`.

Reads one order a line and answers with one line. The standard library only, and little of it: what the client spends
must not be what is measured. Every body is read and checked; the first that is wrong ends the run.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.bench.connection import Connection
from tests.bench.measure import server_cpu
from tests.bench.messages import Dialect, dialect

LONGEST_SECONDS = 90.0
DRAIN_LOOK = 0.02


@dataclass(frozen=True)
class Order:
    """What to do: `act` is create, poll or life; with a `rate` the clients do not wait for each other."""

    ports: tuple[int, ...]
    dialect: str
    tokens: tuple[str, ...]
    act: str
    clients: int
    seconds: float
    interval: float = 0.0
    rate: float = 0.0
    processes: dict[str, int] = field(default_factory=dict)


@dataclass
class Outcome:
    """What came of an order; times in seconds."""

    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: dict[str, float] = field(default_factory=dict)
    polls: int = 0


class Clock:
    """Measures what a block takes: the time, and the CPU of each process with its children."""

    def __init__(self, order: Order, outcome: Outcome) -> None:
        self._processes = order.processes
        self._outcome = outcome

    def __enter__(self) -> float:
        self._used = self._cpu()
        self._begun = time.perf_counter()
        return self._begun

    def __exit__(self, *_: object) -> None:
        self._outcome.seconds = time.perf_counter() - self._begun
        self._outcome.cpu = {name: used - self._used[name] for name, used in self._cpu().items()}

    def _cpu(self) -> dict[str, float]:
        return {name: server_cpu(pid) for name, pid in self._processes.items()} | {"client": time.process_time()}


class Caller:
    """One client: a connection, its dialect, and the task that it made last."""

    def __init__(self, connection: Connection, speaks: Dialect) -> None:
        self._connection = connection
        self._speaks = speaks
        self.made = ""
        self.polls = 0

    async def create(self) -> None:
        """Make a task."""
        self.made = self._speaks.made(await self._connection.request(self._speaks.create()))

    async def is_done(self, task_id: str) -> bool:
        """Look at a task once."""
        self.polls += 1
        return self._speaks.is_done(await self._connection.request(self._speaks.poll(task_id)), task_id)

    async def live(self, interval: float) -> None:
        """Make a task and look at it, at intervals, until it is done."""
        await self.create()
        is_done = False
        while not is_done:
            await asyncio.sleep(interval)
            is_done = await self.is_done(self.made)

    async def drain(self) -> None:
        """Wait until the task that was made last is done, and with it those before."""
        is_done = not self.made
        while not is_done:
            is_done = await self.is_done(self.made)
            await asyncio.sleep(DRAIN_LOOK)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


async def connect(order: Order, number: int) -> Caller:
    """One client, spread over the addresses and the tokens."""
    connection = await Connection.open(order.ports[number % len(order.ports)])
    speaks = dialect(order.dialect, order.tokens[number % len(order.tokens)])
    await speaks.greet(connection)
    return Caller(connection, speaks)


async def closed_loop(callers: list[Caller], order: Order, outcome: Outcome) -> None:
    """Each client begins again as soon as it is done."""
    # At the same time: a server hangs up on those who wait too long before they say something.
    acts = await asyncio.gather(*(_act(caller, order) for caller in callers))

    async def repeat(act: Callable[[], Awaitable[Any]], until: float) -> None:
        while (begun := time.perf_counter()) < until:
            await act()
            outcome.latencies.append(time.perf_counter() - begun)

    with Clock(order, outcome) as begun:
        await asyncio.gather(*(repeat(act, begun + order.seconds) for act in acts))


async def open_loop(callers: list[Caller], order: Order, outcome: Outcome) -> None:
    """One begins at each beat, whether others are done or not; who has to wait for a client has begun all the same."""
    free = deque(callers)
    returned = asyncio.Condition()

    async def one(planned: float) -> None:
        async with returned:
            await returned.wait_for(lambda: free)
            caller = free.popleft()
        await caller.live(order.interval)
        outcome.latencies.append(time.perf_counter() - planned)
        async with returned:
            free.append(caller)
            returned.notify()

    with Clock(order, outcome) as begun:
        running = []
        for number in range(int(order.rate * order.seconds)):
            planned = begun + number / order.rate
            await asyncio.sleep(max(0.0, planned - time.perf_counter()))
            running.append(asyncio.create_task(one(planned)))
        await asyncio.gather(*running)


async def _act(caller: Caller, order: Order) -> Callable[[], Awaitable[Any]]:
    if order.act == "create":
        return caller.create
    if order.act == "life":
        return lambda: caller.live(order.interval)
    await caller.create()
    await caller.drain()
    task_id = caller.made

    async def poll() -> None:
        if not await caller.is_done(task_id):
            raise AssertionError("a task that was done is not done")

    return poll


async def carry_out(order: Order) -> Outcome:
    """Do what is ordered, and leave nothing under way; never longer than a server may need that works at all."""
    outcome = Outcome()
    callers: list[Caller] = []
    try:
        async with asyncio.timeout(order.seconds + LONGEST_SECONDS):
            callers += await asyncio.gather(*(connect(order, number) for number in range(order.clients)))
            await (open_loop if order.rate else closed_loop)(callers, order, outcome)
            outcome.polls = sum(caller.polls for caller in callers)
            await asyncio.gather(*(caller.drain() for caller in callers))
    finally:
        for caller in callers:
            caller.close()
    return outcome


def _loop() -> asyncio.AbstractEventLoop:
    # Unlike epoll, select waits for less than a millisecond when it is asked to.
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main() -> None:
    """Carry out the orders as they come."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        for line in sys.stdin:
            outcome = runner.run(carry_out(Order(**json.loads(line))))
            sys.stdout.write(json.dumps(asdict(outcome)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
