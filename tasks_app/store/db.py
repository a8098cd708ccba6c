"""How the store talks to Postgres: statements as text, plans that run on any connection, errors translated.

A *plan* is a generator that yields queries and is sent their rows. So the logic of a hot path stands once, whether it
runs on Django's connection (`run`) or on the web process's own pool (`tasks_app.store.aio`).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import psycopg
from django.db import DatabaseError, Error, IntegrityError, InterfaceError, OperationalError, connection, transaction
from psycopg.pq.abc import PGresult

from tasks_app.domain.errors import (
    ConcurrentModification,
    DuplicateQuestion,
    InvalidTransition,
    MissingActor,
    StorageUnavailable,
    TaskdeckError,
)
from tasks_app.domain.identity import Actor

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = list[Row]
Params: TypeAlias = Mapping[str, Any]
T = TypeVar("T")

# First in a WITH list, and read in a FROM: names the actor for the triggers, which fire at the end of the statement.
ACTOR = "acting AS MATERIALIZED (SELECT set_config('tasks.actor', %(actor)s, true) AS who)"
SET_ACTOR = "SELECT set_config('tasks.actor', %(actor)s, true)"


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with its parameters."""

    text: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Atomic:
    """A plan whose statements commit together or not at all."""

    plan: Generator[Query | Atomic, Any, Any]


Plan: TypeAlias = Generator[Query | Atomic, Any, T]


def run(plan: Plan[T]) -> T:
    """Carry out a plan on Django's connection and give what it returns."""
    try:
        request = next(plan)
        while True:
            request = plan.send(_answer(request))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _answer(request: Query | Atomic) -> Any:
    if isinstance(request, Query):
        return rows(request.text, request.params)
    with atomic():
        return run(request.plan)


@contextmanager
def atomic() -> Iterator[None]:
    """A transaction whose failure at commit is translated too."""
    with _translated(), transaction.atomic():
        yield


def rows(text: str, params: Params | None = None) -> Rows:
    """All rows of one statement; the statement is its own transaction unless one is open."""
    with _translated(), connection.cursor() as cursor:
        cursor.execute(text, params)
        return cursor.fetchall() if has_rows(cursor.pgresult) else []


def has_rows(result: PGresult | None) -> bool:
    """Whether a statement gives rows at all. Asking for the cursor's description would build an object a column."""
    return result is not None and result.nfields > 0


def row(text: str, params: Params | None = None) -> Row | None:
    """The first row of one statement, if there is one."""
    found = rows(text, params)
    return found[0] if found else None


def affected(text: str, params: Params | None = None) -> int:
    """How many rows a statement changed."""
    with _translated(), connection.cursor() as cursor:
        cursor.execute(text, params)
        return int(cursor.rowcount)


def actor_json(actor: Actor) -> str:
    """An actor as the database keeps it."""
    return json.dumps(actor.as_json())


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except Error as error:
        raise translate(error) from error


def translate(error: Exception) -> Exception:
    """The domain's word for what the database refused; anything else stays what it is: a fault of ours."""
    cause = error.__cause__ if isinstance(error, Error) else error
    state = getattr(cause, "sqlstate", None)
    if state in _BY_STATE:
        return _BY_STATE[state]()
    constraint = getattr(getattr(cause, "diag", None), "constraint_name", None)
    if constraint in {"question_key_once", "question_name_once"}:
        return DuplicateQuestion()
    if state == "23000":
        return InvalidTransition.refused(str(cause).splitlines()[0])
    if isinstance(error, IntegrityError):
        return error
    return StorageUnavailable() if _is_outage(error, state) else error


_BY_STATE: dict[str, type[TaskdeckError]] = {
    "TD001": MissingActor,
    "40001": ConcurrentModification,
    "40P01": ConcurrentModification,
    "55P03": ConcurrentModification,
}
# Connection lost, resources used up, an operator stepped in, statement or idle time-out.
_OUTAGE_CLASSES = ("08", "53", "57", "58", "25P03")
# As Django's connection says it, and as the pool does.
_LOST = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


def _is_outage(error: Exception, state: str | None) -> bool:
    if state is not None:
        return state.startswith(_OUTAGE_CLASSES)
    return isinstance(error, _LOST) or type(error) is DatabaseError
