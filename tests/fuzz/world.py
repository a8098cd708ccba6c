"""What the cases are about: alice's and eve's tasks, a session and a token, made anew when a case changed them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from uuid import UUID

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.mcp.endpoint import running
from tasks_app.store.db import run
from tasks_app.store.invariants import violations
from tasks_app.store.sessions import find_session, open_session
from tests.asgi_client import Answer
from tests.conftest import Person
from tests.fuzz import cases
from tests.fuzz.cases import Case
from tests.fuzz.oracle import is_refused, judge, no_faults, send
from tests.tasks_app.store import life
from tests.waiting import until

SYSTEM = Actor.system(via="tests")


class World:
    """The endpoint in this process with its own event loop, and something for the cases to be about."""

    def __init__(self, alice: Person, eve: Person) -> None:
        self._alice = alice
        self._eve = eve
        self._runner = asyncio.Runner()
        self._served = AsyncExitStack()
        self.names: dict[str, str] = {}

    def __enter__(self) -> World:
        self._runner.__enter__()
        self._runner.run(self._served.enter_async_context(running()))
        token, _ = store.create_token(self._alice.id, name="fuzz", by=SYSTEM)
        expired = life.created(self._alice, ttl_ms=1).id
        until(store.expire)
        # Not due, so that no claim ever finds it.
        foreign = life.asking(self._eve)
        self.names = {cases.TOKEN: token, cases.EXPIRED: str(expired), cases.FOREIGN: str(foreign)}
        self._make()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._served.aclose())
        self._runner.__exit__(kind, error, trace)

    def ask(self, case: Case) -> Answer:
        """The answer to a case, held against everything that must be true of any answer."""
        before = _rows()
        told = case.told(self.names)
        with no_faults():
            answer = self._runner.run(send(told))
        judge(answer, told)
        if is_refused(answer):
            assert _rows() == before, f"a refused request changed something: {answer}"
        self._renew()
        return answer

    def gather(self, *asked: Case) -> list[Answer]:
        """The answers to cases that come all at once."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(send(case.told(self.names)) for case in asked))

        with no_faults():
            return self._runner.run(together())

    def check(self) -> None:
        """Raise when something is not true of the tables that always must be."""
        assert violations() == []

    def _renew(self) -> None:
        untouched = (
            "SELECT 1 FROM tasks_task WHERE (id, status) IN ((%(working)s, 'working'), (%(asking)s, 'input_required'))"
        )
        fresh = life.sql(untouched, working=UUID(self.names[cases.WORKING]), asking=UUID(self.names[cases.ASKING]))
        session = run(find_session(self.names[cases.SESSION], owner_id=self._alice.id))
        if len(fresh) < 2 or session is None:
            self._make()

    def _make(self) -> None:
        self._end_everything()
        asking = life.asking(self._alice, life.ask(request=cases.FORM))
        finished = life.completed(self._alice)
        capabilities = cases.ANSWERS
        session = run(open_session(self._alice.id, version="2025-11-25", capabilities=capabilities, client={}))
        self.names |= {
            cases.ASKING: str(asking),
            cases.FINISHED: str(finished),
            cases.KEY: life.key(asking),
            cases.SESSION: session,
            cases.WORKING: str(life.created(self._alice).id),
        }

    def _end_everything(self) -> None:
        """Of alice's: only what is new may be due, so that a claim finds it."""
        live = "SELECT id FROM tasks_task WHERE finished_at IS NULL AND id::text <> %(foreign)s"
        for [task_id] in life.sql(live, foreign=self.names[cases.FOREIGN]):
            assert isinstance(task_id, UUID)
            store.cancel(task_id, owner_id=None, by=SYSTEM)


def _rows() -> list[tuple[object, ...]]:
    """What a request that is refused must not change; that somebody looked may be noted."""
    return life.sql(
        "SELECT (SELECT (count(*), sum(version))::text FROM tasks_task),"
        " (SELECT count(*) FROM tasks_session), (SELECT count(*) FROM tasks_question WHERE state = 'open'),"
        " (SELECT count(*) FROM tasks_event WHERE to_status IS NOT NULL OR kind = 'answered')"
    )
