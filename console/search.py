"""What people type into the search box, as a filter for the store. Errors are told, and the rest still counts.

`key:value`, a comma for "or", a repeated key for "and", `-key:value` for "not", quotes for blanks. Bare words match the
beginning of an id, the tool, and what live tasks say of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from console import zone
from tasks_app.domain.status import Status
from tasks_app.domain.text import clean_text
from tasks_app.store.search import Filter, Flag, Span, Term, id_range

MINE = "mine"
WEEK = "created:<7d"
KEYS = ("id", "status", "tool", "owner", "is", "created", "expires", "arg", "client")
LONGEST = 500

_TOKEN = re.compile(r'(?P<minus>-?)(?:(?P<key>[a-z]+(?:\.[^\s:"]+)?):)?(?P<value>(?:"[^"]*"|[^\s"])+)')
_AGE = re.compile(r"([<>])(\d{1,6})([smhdw])")
_FARTHEST = timedelta(days=365_000)
"""A distance that every calculation of the database has room for."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

FindOwners = Callable[[Sequence[str]], Mapping[str, list[int]]]


@dataclass(slots=True)
class Search:
    """What was understood, and what was not."""

    filter: Filter
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Parts:
    me: int | None = None
    values: dict[str, list[object]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, name: str, value: object) -> None:
        self.values.setdefault(name, []).append(value)


def parse(text: str, *, find_owners: FindOwners, me: int | None = None) -> Search:
    """Understand a search; names of owners are looked up by `find_owners`, and `me` is the owner who searches."""
    parts = _Parts(me)
    for match in _TOKEN.finditer(clean_text(text, LONGEST)):
        _take(parts, match, find_owners)
    return Search(Filter(**{name: tuple(values) for name, values in parts.values.items()}), parts.errors)  # type: ignore[arg-type]


def _take(parts: _Parts, match: re.Match[str], find_owners: FindOwners) -> None:
    key, negated = match["key"], bool(match["minus"])
    values = tuple(value.replace('"', "") for value in _split(match["value"]))
    if key is None:
        word = " ".join(values)
        parts.add("words", f"-{word}" if negated else word)
        return
    name, _, path = key.partition(".")
    if name not in KEYS or (name == "arg") != bool(path):
        parts.errors.append(f"“{key}:” is no search key. Keys: {', '.join(KEYS).replace('arg', 'arg.<name>')}.")
        return
    problem = _READERS[name](parts, path, Term(values, negated), find_owners)
    if problem:
        parts.errors.append(problem)


def values_of(text: str, key: str) -> tuple[str, ...]:
    """The values that a search asks for under this key; those that it excludes are not among them."""
    for match in _TOKEN.finditer(text[:LONGEST]):
        if match["key"] == key and not match["minus"]:
            return tuple(value.replace('"', "") for value in _split(match["value"]))
    return ()


def toggled(text: str, key: str, value: str) -> str:
    """The same search with this value allowed too, or, if it was allowed, no longer."""
    text = text[:LONGEST].strip()
    term = next((each for each in _TOKEN.finditer(text) if each["key"] == key and not each["minus"]), None)
    if term is None:
        return f"{text} {key}:{quoted(value)}".strip()
    values = list(values_of(text, key))
    rest = [each for each in values if each != value] if value in values else [*values, value]
    new = f"{key}:{','.join(map(quoted, rest))}" if rest else ""
    before, after = text[: term.start()].rstrip(), text[term.end() :].lstrip()
    return " ".join(part for part in (before, new, after) if part)


def without_last_term(text: str) -> str:
    """The same search without its last condition."""
    terms = list(_TOKEN.finditer(text[:LONGEST]))
    return text[: terms[-1].start()].strip() if terms else ""


def widened(text: str) -> str:
    """The same search over a week of creation; empty when it names no time of creation, or that one."""
    term = next((each for each in _TOKEN.finditer(text[:LONGEST]) if each["key"] == "created"), None)
    if term is None or term[0] == WEEK:
        return ""
    return f"{text[: term.start()]}{WEEK}{text[term.end() :]}"


def quoted(value: str) -> str:
    """A value as it is typed: in quotes where a blank or a comma would end it."""
    return f'"{value}"' if re.search(r"[\s,]", value) else value


def _split(value: str) -> list[str]:
    return [part for part in re.findall(r'(?:"[^"]*"|[^,"])+', value) if part]


def _status(parts: _Parts, _: str, term: Term, __: FindOwners) -> str | None:
    known = {status.value for status in Status}
    wrong = [value for value in term.values if value not in known]
    if wrong:
        return f"There is no status “{wrong[0]}”. Statuses: {', '.join(sorted(known))}."
    parts.add("statuses", term)
    return None


def _flag(parts: _Parts, _: str, term: Term, __: FindOwners) -> str | None:
    known = {flag.value for flag in Flag}
    wrong = [value for value in term.values if value not in {*known, MINE}]
    if wrong:
        return f"“is:{wrong[0]}” means nothing here. Try is:{', is:'.join(sorted({*known, MINE}))}."
    if MINE not in term.values:
        parts.add("flags", term)
        return None
    if len(term.values) > 1:
        return "“is:mine” stands for itself: write is:mine is:toolerror, without a comma."
    parts.add("owners", Term(() if parts.me is None else (str(parts.me),), term.negated))
    return None


def _id(parts: _Parts, _: str, term: Term, __: FindOwners) -> str | None:
    wrong = [value for value in term.values if id_range(value) is None]
    if wrong:
        return f"“{wrong[0]}” is not the beginning of an id: ids are made of 0-9 and a-f."
    parts.add("ids", term)
    return None


def _owner(parts: _Parts, _: str, term: Term, find_owners: FindOwners) -> str | None:
    found = find_owners(term.values)
    ids = tuple(str(owner_id) for owner_ids in found.values() for owner_id in owner_ids)
    parts.add("owners", Term(ids, term.negated))
    unknown = [name for name, owner_ids in found.items() if not owner_ids]
    return f"There is no owner “{unknown[0]}”." if unknown else None


def _text(name: str) -> Callable[[_Parts, str, Term, FindOwners], str | None]:
    def read(parts: _Parts, _: str, term: Term, __: FindOwners) -> str | None:
        parts.add(name, term)
        return None

    return read


def _argument(parts: _Parts, path: str, term: Term, _: FindOwners) -> str | None:
    parts.add("labels", (path, term))
    return None


def _time(name: str, *, in_the_past: bool) -> Callable[[_Parts, str, Term, FindOwners], str | None]:
    def read(parts: _Parts, _: str, term: Term, __: FindOwners) -> str | None:
        if term.negated or len(term.values) != 1:
            return f"“{name}:” takes one time and no minus: {name}:<10m, {name}:2026-11-01..2026-11-18."
        span = _span(term.values[0], in_the_past=in_the_past)
        if span is None:
            return f"“{term.values[0]}” is no time. Try {name}:<10m, {name}:>24h or {name}:2026-11-01..2026-11-18."
        parts.add(name, span)
        return None

    return read


def _span(text: str, *, in_the_past: bool) -> Span | None:
    """`<10m` is nearer than ten minutes, `>24h` further away, `a..b` from the one to the end of the other."""
    age = _AGE.fullmatch(text)
    if age:
        distance = min(timedelta(seconds=int(age[2]) * _UNITS[age[3]]), _FARTHEST)
        edge = -distance if in_the_past else distance
        return Span(after=edge) if (age[1] == "<") == in_the_past else Span(before=edge)
    first, dots, last = text.partition("..")
    try:
        after = zone.moment(first) if first else None
        before = (_end(last) if last else None) if dots else _end(first)
    except ValueError:
        return None
    return Span(after, before)


def _end(text: str) -> datetime:
    """A day until it is over, a time as it is."""
    moment = zone.moment(text)
    return zone.end(moment.date()) if len(text) == len("2026-11-18") else moment


_READERS: dict[str, Callable[[_Parts, str, Term, FindOwners], str | None]] = {
    "id": _id,
    "status": _status,
    "tool": _text("tools"),
    "owner": _owner,
    "is": _flag,
    "created": _time("created", in_the_past=True),
    "expires": _time("expires", in_the_past=False),
    "arg": _argument,
    "client": _text("clients"),
}
