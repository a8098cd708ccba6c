"""Finding tasks: a filter as a value, and the one statement that it becomes. By keyset, without a count.

What people type is parsed by the console; here only the parsed filter is known. Every value is a parameter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from tasks_app.store.db import rows
from tasks_app.store.rows import Snapshot, columns, snapshot

LINE_BYTES = 16_384
RECENT = 200
"""Suggestions come from this many of the newest tasks: enough to be of use, and never a scan."""
MOST_WORDS = 200


class Flag(StrEnum):
    """What `is:` can say of a task."""

    TOOL_ERROR = "toolerror"
    """It completed, and the tool reported an error."""

    EXPIRED = "expired"
    """Its time is over; without this flag such tasks are left out."""

    UNFETCHED = "unfetched"
    """It has ended, and nobody has read how."""

    STOPPING = "stopping"
    """It was cancelled or has expired, and its worker has not stopped yet."""

    HELD = "held"
    """A legal hold keeps it."""


class Sort(StrEnum):
    """In which order; only what has an index."""

    CREATED = "created"
    """The newest first."""

    EXPIRES = "expires"
    """What expires next first."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of times, as an age or distance from now or as absolute times; open ends are None."""

    after: datetime | timedelta | None = None
    before: datetime | timedelta | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: any of these values, or, negated, none of them."""

    values: tuple[str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """All conditions, each of which must hold."""

    ids: tuple[Term, ...] = ()
    statuses: tuple[Term, ...] = ()
    tools: tuple[Term, ...] = ()
    owners: tuple[Term, ...] = ()
    """Ids of owners, as text."""
    flags: tuple[Term, ...] = ()
    clients: tuple[Term, ...] = ()
    labels: tuple[tuple[str, Term], ...] = ()
    words: tuple[str, ...] = ()
    created: tuple[Span, ...] = ()
    expires: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ends: the time that it is sorted by, and the id that breaks ties."""

    at: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Found:
    """A page of tasks, and where the next one begins (None: this was the last)."""

    tasks: tuple[Snapshot, ...]
    following: Place | None


@dataclass(slots=True)
class _Where:
    """The conditions gathered so far, with their parameters under names of their own."""

    parts: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def add(self, text: str, negated: bool = False, **values: Any) -> None:
        names = {name: f"p{len(self.params) + index}" for index, name in enumerate(values)}
        self.params |= {names[name]: value for name, value in values.items()}
        condition = text.format(**{name: f"%({place})s" for name, place in names.items()})
        self.parts.append(f"NOT ({condition})" if negated else f"({condition})")


_FLAGS = {
    Flag.TOOL_ERROR: "coalesce(t.outcome = 'tool_error', false)",
    Flag.EXPIRED: "(t.expires_at <= tasks_now() AND NOT t.held)",
    Flag.UNFETCHED: "(t.finished_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks_fetch f WHERE f.task_id = t.id))",
    Flag.STOPPING: "(t.finished_at IS NOT NULL AND EXISTS (SELECT 1 FROM tasks_attempt a WHERE a.task_id = t.id AND a.ended_at IS NULL))",
    Flag.HELD: "t.held",
}
# Newest first, or next to expire first; the id breaks ties, so that a page always ends at one place.
_ORDER = {
    Sort.CREATED: ("t.created_at", "DESC", "<"),
    Sort.EXPIRES: ("t.expires_at", "ASC", ">"),
}
_BACKWARDS = {
    Sort.CREATED: ("t.created_at", "ASC", ">"),
    Sort.EXPIRES: ("t.expires_at", "DESC", "<"),
}


def find(
    filter_: Filter, *, owner_id: int | None, sort: Sort = Sort.CREATED, after: Place | None = None, limit: int
) -> Found:
    """One page of the tasks that match, for an owner or (None) for everyone."""
    return _read(filter_, _ORDER[sort], owner_id=owner_id, sort=sort, place=after, limit=limit)


def find_before(
    filter_: Filter, *, owner_id: int | None, sort: Sort = Sort.CREATED, before: Place, limit: int
) -> Found:
    """The page that ends where another begins, in the same order; `following` is then where it begins itself."""
    found = _read(filter_, _BACKWARDS[sort], owner_id=owner_id, sort=sort, place=before, limit=limit)
    return replace(found, tasks=found.tasks[::-1])


def _read(
    filter_: Filter, order: tuple[str, str, str], *, owner_id: int | None, sort: Sort, place: Place | None, limit: int
) -> Found:
    where = _conditions(filter_)
    if owner_id is not None:
        where.add("t.owner_id = {owner}", owner=owner_id)
    column, direction, beyond = order
    if place is not None:
        where.add(f"({column}, t.id) {beyond} ({{at}}, {{id}})", at=place.at, id=place.id)
    text = f"""
        SELECT {columns()} FROM tasks_task t WHERE {" AND ".join(where.parts)}
         ORDER BY {column} {direction}, t.id {direction} LIMIT {int(limit) + 1}
    """
    tasks = tuple(snapshot(found) for found in rows(text, where.params))
    last = tasks[limit - 1] if len(tasks) > limit else None
    return Found(tasks[:limit], None if last is None else place_of(last, sort))


def place_of(task: Snapshot, sort: Sort) -> Place:
    """Where a task stands in that order."""
    return Place(task.created_at if sort is Sort.CREATED else task.expires_at, task.id)


def narrowed(filter_: Filter, *, statuses: Term) -> Filter:
    """The same filter with one more condition on the status."""
    return replace(filter_, statuses=(*filter_.statuses, statuses))


def _conditions(filter_: Filter) -> _Where:
    where = _Where()
    for column, terms in (("t.status", filter_.statuses), ("t.owner_id::text", filter_.owners)):
        for term in terms:
            where.add(f"{column} = ANY({{values}})", term.negated, values=list(term.values))
    for term in filter_.tools:
        where.add("t.tool LIKE ANY({patterns})", term.negated, patterns=[_wildcard(value) for value in term.values])
    for term in filter_.clients:
        where.add(
            "t.client ILIKE ANY({patterns})", term.negated, patterns=[f"%{_literal(each)}%" for each in term.values]
        )
    for term in filter_.ids:
        _any_id(where, term)
    for name, term in filter_.labels:
        _any_label(where, name, term)
    for word in filter_.words:
        _word(where, word)
    for column, spans in (("t.created_at", filter_.created), ("t.expires_at", filter_.expires)):
        for span in spans:
            _within(where, column, span)
    _flags(where, filter_.flags)
    return where


def _flags(where: _Where, terms: Sequence[Term]) -> None:
    for term in terms:
        where.add(" OR ".join(_FLAGS[Flag(value)] for value in term.values), term.negated)
    asks_for_expired = any(Flag.EXPIRED in term.values and not term.negated for term in terms)
    if not asks_for_expired:
        where.add(f"t.expired_at IS NULL AND NOT {_FLAGS[Flag.EXPIRED]}")


def _any_id(where: _Where, term: Term) -> None:
    bounds = [bound for bound in map(id_range, term.values) if bound is not None]
    if not bounds:
        where.add("false", term.negated)
        return
    values = {
        f"{name}{index}": bound[side] for index, bound in enumerate(bounds) for side, name in enumerate(("lo", "hi"))
    }
    text = " OR ".join(f"t.id BETWEEN {{lo{index}}} AND {{hi{index}}}" for index in range(len(bounds)))
    where.add(text, term.negated, **values)


def id_range(prefix: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin so; None for what no id begins with."""
    digits = prefix.replace("-", "").lower()
    if not digits or len(digits) > 32 or set(digits) - set("0123456789abcdef"):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def _any_label(where: _Where, name: str, term: Term) -> None:
    values = {f"v{index}": json.dumps({name: value}) for index, value in enumerate(term.values)}
    where.add(" OR ".join(f"t.labels @> {{{key}}}::jsonb" for key in values), term.negated, **values)


def _word(where: _Where, word: str) -> None:
    """A bare word: the beginning of an id, part of a tool's name, or part of what a live task says of itself."""
    parts = ["t.tool ILIKE {pattern}", "(t.finished_at IS NULL AND t.status_message ILIKE {pattern})"]
    values: dict[str, Any] = {"pattern": f"%{_literal(word)}%"}
    bounds = id_range(word)
    if bounds is not None:
        parts.append("t.id BETWEEN {lo} AND {hi}")
        values |= {"lo": bounds[0], "hi": bounds[1]}
    where.add(" OR ".join(parts), **values)


def _within(where: _Where, column: str, span: Span) -> None:
    for edge, comparison in ((span.after, ">="), (span.before, "<")):
        if isinstance(edge, timedelta):
            where.add(
                f"{column} {comparison} tasks_now() + {{seconds}}::float8 * interval '1 second'",
                seconds=edge.total_seconds(),
            )
        elif edge is not None:
            where.add(f"{column} {comparison} {{edge}}", edge=edge)


def _wildcard(value: str) -> str:
    return _literal(value).replace("*", "%")


def _literal(value: str) -> str:
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def owner_names(owner_ids: Sequence[int]) -> Mapping[int, str]:
    """What to call these owners: the name of the account, or the subject that its issuer gave."""
    return dict(rows(f"SELECT o.id, {_named()} WHERE o.id = ANY(%(ids)s)", {"ids": list(owner_ids)}))


def owners_named(names: Sequence[str]) -> Mapping[str, list[int]]:
    """The owners that go by each of these names."""
    found: dict[str, list[int]] = {name: [] for name in names}
    text = f"SELECT * FROM (SELECT o.id, {_named()}) named WHERE name = ANY(%(names)s)"
    for owner_id, name in rows(text, {"names": list(names)}):
        found[name].append(owner_id)
    return found


def owners_like(part: str) -> list[str]:
    """Names of owners that have this in them, for those who may see everyone."""
    text = f"SELECT name FROM (SELECT {_named()}) named WHERE name ILIKE %(pattern)s ORDER BY name LIMIT {MOST_WORDS}"
    return [name for (name,) in rows(text, {"pattern": f"%{_literal(part)}%"})]


_RECENT = f"""
SELECT DISTINCT {{what}} AS word FROM (
    SELECT t.client, t.labels FROM tasks_task t WHERE {{scope}} ORDER BY t.created_at DESC, t.id DESC LIMIT {RECENT}) recent
 ORDER BY word LIMIT {MOST_WORDS}
"""
_WORDS = {"client": "client", "arg": "jsonb_object_keys(labels)"}


def recent_words(key: str, *, owner_id: int | None) -> list[str]:
    """What newer tasks have under a key: `client`, `arg` for the names of arguments, `arg.<name>` for their values."""
    what = "labels ->> %(name)s::text" if key.startswith("arg.") else _WORDS.get(key)
    if what is None:
        return []
    text = _RECENT.format(what=what, scope="true" if owner_id is None else "t.owner_id = %(owner)s")
    found = rows(text, {"owner": owner_id, "name": key.removeprefix("arg.")})
    return [word for (word,) in found if word]


@cache
def _named() -> str:
    """The name of an owner and where it comes from; another project may have accounts of its own kind."""
    account = get_user_model()
    username = f'u."{account.USERNAME_FIELD}"'
    return f"coalesce({username}, o.subject) AS name FROM tasks_owner o LEFT JOIN {account._meta.db_table} u ON u.id = o.user_id"


@dataclass(frozen=True, slots=True)
class Line:
    """What the second line of a row is made of: what the task asks, how it failed, whether its worker still stops."""

    question: str | None
    answered: int
    error: str | None
    tool_error: str | None
    is_stopping: bool


_LINES = f"""
SELECT t.id,
       CASE WHEN t.status = 'input_required' THEN
           (SELECT q.request FROM tasks_question q WHERE q.task_id = t.id AND q.state = 'open' ORDER BY q.id LIMIT 1) END,
       CASE WHEN t.status = 'input_required' THEN
           (SELECT count(*) FROM tasks_question q WHERE q.task_id = t.id AND q.state = 'answered') ELSE 0 END,
       t.error, CASE WHEN t.outcome = 'tool_error' AND octet_length(t.result) < {LINE_BYTES} THEN t.result END,
       t.finished_at IS NOT NULL AND EXISTS (SELECT 1 FROM tasks_attempt a WHERE a.task_id = t.id AND a.ended_at IS NULL)
  FROM tasks_task t WHERE t.id = ANY(%(ids)s)
"""


def lines(task_ids: Sequence[UUID]) -> Mapping[UUID, Line]:
    """What to say about each of these tasks, in one statement for a whole page."""
    return {task_id: Line(*values) for task_id, *values in rows(_LINES, {"ids": list(task_ids)})}
