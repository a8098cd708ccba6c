"""What an expiration record says, in words: its row, and every field of it for whoever opens the row.

Pure but for the names, which are looked up once for a whole page. Nothing here makes HTML.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from console import present
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.policy import Policy, Terms
from tasks_app.domain.status import Status
from tasks_app.store import credentials, search
from tasks_app.store.expirations import Record

WHY = {"ended": "because it ended", "asked": "because it asks", "shown": "because its id was given out"}
TIMES = "\N{MULTIPLICATION SIGN}"
NOTHING = "\N{EN DASH}"
MACHINES = {"engine": "the server", "worker": "the worker", "system": "a command"}


@dataclass(frozen=True, slots=True)
class Names:
    """What owners and tokens are called."""

    owners: Mapping[int, str]
    tokens: Mapping[int, str]

    def owner(self, owner_id: object) -> str:
        """The name of an owner; nothing for nobody."""
        return self.owners.get(owner_id, f"owner {owner_id}") if isinstance(owner_id, int) else ""

    def token(self, credential_id: object) -> str:
        """A token by its name, or by its number once it is gone."""
        if not isinstance(credential_id, int):
            return ""
        name = self.tokens.get(credential_id)
        return f"token {credential_id}" if name is None else f"token “{name}”"


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a record: what it is, what it says, and what stands below that."""

    label: str
    value: str
    notes: tuple[str, ...] = ()
    is_code: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A record as a row shows it."""

    record: Record
    owner: str
    was: present.Chip
    ttl: str
    result: str
    is_flagged: bool
    extended: str
    purge: str
    is_held: bool
    """Held by a person, or by the policy in force."""
    policy_version: int
    """The version that decides when it is purged: the one in force, not the one that it was created under."""
    facts: tuple[Fact, ...]


def lines(records: Sequence[Record], *, policy: Policy) -> list[Line]:
    """Rows for these records, with the names that they need in two statements; the policy in force says until when."""
    names = names_for((_actors(each) for each in records), owners={each.owner_id for each in records},
                      tokens=_tokens(records))  # fmt: skip
    return [_line(each, names, policy.terms(each.tool, each.owner_id), policy.version) for each in records]


def names_for(
    actors: Iterable[Iterable[Mapping[str, Any]]], *, owners: Collection[int], tokens: Collection[int]
) -> Names:
    """The names of these owners and tokens, and of all who acted."""
    every = [actor for some in actors for actor in some]
    people = {actor["id"] for actor in every if isinstance(actor.get("id"), int)}
    keys = {actor["credential"] for actor in every if isinstance(actor.get("credential"), int)}
    return Names(search.owner_names(sorted({*owners, *people})), credentials.token_names(sorted({*tokens, *keys})))


def who(actor: Mapping[str, Any], names: Names, *, owner_id: int | None = None) -> str:
    """Who acted, and for whom: “bo for ana”."""
    kind = str(actor.get("kind", ""))
    if kind in MACHINES:
        return MACHINES[kind]
    name = names.owner(actor.get("id")) or "somebody"
    if kind == "client":
        token = names.token(actor.get("credential"))
        return f"{name} with {token}" if token else f"a client of {name}"
    if actor.get("role") and owner_id is not None and actor.get("id") != owner_id:
        return f"{name} for {names.owner(owner_id)}"
    return name


def period(time: timedelta) -> str:
    """A length of time without the parts that say nothing: `24 h`, not `24 h 0 m`."""
    seconds = round(time.total_seconds())
    for unit, size in (("d", present.DAY), ("h", present.HOUR), ("min", present.MINUTE)):
        if seconds >= size and seconds % size == 0 and (seconds >= 2 * present.DAY) == (unit == "d"):
            return f"{seconds // size} {unit}"
    return present.length(timedelta(seconds=seconds)) if seconds >= 60 else f"{seconds} s"


def moment(at: datetime) -> str:
    """A time to the second, in words and in UTC."""
    return f"{at.astimezone(UTC):%-d %b %Y, %H:%M:%S} UTC"


def _actors(record: Record) -> list[Mapping[str, Any]]:
    changes = [change.get("by", {}) for change in record.ttl_changes]
    return [*changes, *([record.cancelled_by] if record.cancelled_by else [])]


def _tokens(records: Sequence[Record]) -> set[int]:
    return {key for each in records for key in (each.credential_id, each.fetched_by) if key is not None}


def _line(record: Record, names: Names, terms: Terms, version: int) -> Line:
    result, is_flagged = _result(record)
    return Line(
        record,
        owner=names.owner(record.owner_id),
        was=present.chip(status_then(record)),
        ttl=_ttl(record),
        result=result,
        is_flagged=is_flagged,
        extended=_extended(record, names),
        purge=_purge(record, terms),
        is_held=record.is_kept and (record.held or terms.hold),
        policy_version=version,
        facts=tuple(_facts(record, names, terms)),
    )


def status_then(record: Record) -> Status:
    """What the task was when its time ran out; older records do not say, but what they say leaves one answer."""
    if record.status_then:
        return Status(record.status_then)
    if not record.was_live:
        return Status(record.status)
    return Status.INPUT_REQUIRED if record.unanswered else Status.WORKING


def _result(record: Record) -> tuple[str, bool]:
    if record.was_live:
        return ("Never answered", True) if record.unanswered else ("Stopped at expiry", False)
    if record.fetched_times:
        return ("Fetched once" if record.fetched_times == 1 else f"Fetched {record.fetched_times}{TIMES}"), False
    return ("No result", False) if record.outcome == Outcome.CANCELLED else ("Never fetched", True)


def _first_ttl(record: Record) -> timedelta:
    first = datetime.fromisoformat(record.ttl_changes[0]["from"]) if record.ttl_changes else record.due_at
    return first - record.created_at


def _ttl(record: Record) -> str:
    last = period(record.due_at - record.created_at)
    return f"{last} from {period(_first_ttl(record))}" if record.ttl_changes else last


def _extended(record: Record, names: Names) -> str:
    asked = [change for change in record.ttl_changes if change.get("why") == "extended"]
    if not asked:
        return NOTHING
    by = {names.owner(change["by"].get("id")) or str(change["by"].get("kind")) for change in asked}
    return f"{len(asked)}{TIMES} by {', '.join(sorted(by))}"


def purge_at(record: Record, terms: Terms) -> datetime:
    """When what it left is removed."""
    return record.observed_at + timedelta(seconds=terms.purge_after)


def _purge(record: Record, terms: Terms) -> str:
    if record.purged_at is not None or not record.is_kept:
        return "Purged"
    return "On hold" if record.held or terms.hold else f"{timezone.localtime(purge_at(record, terms)):%-d %b}"


def _facts(record: Record, names: Names, terms: Terms) -> Iterable[Fact]:
    late = (record.observed_at - record.due_at).total_seconds()
    yield _moment("Due", record.due_at)
    yield _moment("Observed", record.observed_at, _late(late))
    yield Fact("TTL history", _set_by(record), tuple(_change(each, names, record) for each in record.ttl_changes))
    yield Fact("Then", present.chip(status_then(record)).word, (f"ended as {record.status}, outcome {record.outcome}",))
    yield _moment("Created", record.created_at, _made_by(record, names))
    yield _moment("Ended", record.finished_at)
    yield _fetched(record, names)
    yield _questions(record)
    yield _cancelled(record, names)
    yield Fact("Payload", present.size(record.payload_bytes), (_sizes(record), _kept(record, terms)))
    yield Fact("SHA-256", record.payload_sha256.hex(), (_covered(record),), is_code=True)
    yield Fact("Policy", f"version {record.policy_version}")


def _moment(label: str, at: datetime, *notes: str) -> Fact:
    return Fact(label, moment(at), notes, at=at)


def _late(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms late" if seconds < 10 else f"{present.length(timedelta(seconds=seconds))} late"


def _set_by(record: Record) -> str:
    return f"{period(_first_ttl(record))} by {'client or tool' if record.ttl_fixed else 'the server'}"


def _change(change: Mapping[str, Any], names: Names, record: Record) -> str:
    by, before, after = (
        change.get("by", {}),
        datetime.fromisoformat(change["from"]),
        datetime.fromisoformat(change["to"]),
    )
    sign, size = ("+", after - before) if after >= before else ("-", before - after)
    at = f"{datetime.fromisoformat(change['at']).astimezone(UTC):%-d %b %H:%M} UTC"
    reason = f": “{by['reason']}”" if by.get("reason") else ""
    why = WHY.get(str(change.get("why")), "")
    return f"{sign}{period(size)} by {who(by, names, owner_id=record.owner_id)}{' ' + why if why else ''}, {at}{reason}"


def _made_by(record: Record, names: Names) -> str:
    made = [f"client {record.client}" if record.client else "", names.token(record.credential_id)]
    return ", ".join(part for part in made if part) or "from the console"


def _fetched(record: Record, names: Names) -> Fact:
    if record.first_fetched_at is None:
        return Fact("First fetch", "Never")
    by = names.token(record.fetched_by)
    notes = [f"by {by}" if by else "", f"{record.fetched_times}{TIMES}"]
    if record.last_fetched_at is not None and record.fetched_times > 1:
        notes.append(f"last {moment(record.last_fetched_at)}")
    return _moment("First fetch", record.first_fetched_at, ", ".join(note for note in notes if note))


def _questions(record: Record) -> Fact:
    if not record.unanswered:
        return Fact("Open questions", "None")
    opened = [(str(each.get("name", each["key"])), datetime.fromisoformat(each["since"])) for each in record.unanswered]
    notes = tuple(
        f"{key}, open for {present.length(record.observed_at - since)}, since {moment(since)}" for key, since in opened
    )
    return Fact("Open questions", str(len(opened)), notes)


def _cancelled(record: Record, names: Names) -> Fact:
    by = record.cancelled_by
    if by is None:
        return Fact("Cancelled", "No")
    reason = (f"“{by['reason']}”",) if by.get("reason") else ()
    return Fact("Cancelled", f"by {who(by, names, owner_id=record.owner_id)}", (moment(record.finished_at), *reason))


def _sizes(record: Record) -> str:
    return ", ".join(f"{name} {present.size(count)}" for name, count in record.payload_sizes.items() if count)


def _covered(record: Record) -> str:
    """What the digest is of; records of an older kind do not count steps, and their digest covers less."""
    is_whole = "steps" in record.payload_sizes
    return "of all of it but the output" if is_whole else "of arguments, result and error"


def _kept(record: Record, terms: Terms) -> str:
    if record.purged_at is not None:
        return f"purged {moment(record.purged_at)}"
    if not record.is_kept:
        return "purged"
    return "kept: legal hold" if record.held or terms.hold else f"kept until {moment(purge_at(record, terms))}"
