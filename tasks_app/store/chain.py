"""The chain: sealing the audit log in batches, each tied to the one before, and finding what was changed since.

A batch is sealed when all its events are older than a minute and no transaction is left that could still add one before
its end. Everything is done a batch at a time, so memory does not grow with the log.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from tasks_app.domain.identity import Actor
from tasks_app.store import leaves, policy
from tasks_app.store.db import Row, affected, atomic, row, rows
from tasks_app.store.events import record_event

BATCH = 5000
AGE_SECONDS = 60
SEAL_LOCK = 7_140_002
"""One process seals, retires or notes at a time: a second would only repeat it."""
ROUND = 5
"""So many batches the loop looks at in one go."""
PATIENCE_SECONDS = 0.5
GENESIS = bytes(32)

_LOCK = f"SELECT pg_try_advisory_xact_lock({SEAL_LOCK})"
_LAST = "SELECT number, last_id, hash FROM tasks_seal ORDER BY number DESC LIMIT 1"
# Up to the first that is still young: an order by id is one by time but for what runs at the same moment.
_RIPE = f"""
SELECT max(id) FROM (
    SELECT id, at, bool_and(at <= tasks_now() - interval '{AGE_SECONDS} seconds') OVER (ORDER BY id) AS ripe
      FROM (SELECT id, at FROM tasks_event WHERE id > %(after)s ORDER BY id LIMIT {BATCH}) following) e WHERE ripe
"""
# Whoever adds an event holds this lock on the table before the event has its id, and until the commit.
_WRITERS = """
SELECT virtualtransaction FROM pg_locks
 WHERE relation = 'tasks_event'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
   AND granted AND pid IS DISTINCT FROM pg_backend_pid()
"""
_INSERT = """
INSERT INTO tasks_seal (number, first_id, last_id, count, until, leaves, rows_hash, previous_hash, hash)
VALUES (%(number)s, %(first)s, %(last)s, %(count)s, %(until)s, %(leaves)s, %(rows_hash)s, %(previous)s, %(hash)s)
"""
_SEALS = """
SELECT number, first_id, last_id, count, until, rows_hash, previous_hash, hash, leaves, retired_at FROM tasks_seal
 WHERE number >= %(first)s ORDER BY number LIMIT %(limit)s
"""
# Batches retire in order, so the newest entry names the last of them.
_RETIRED = """
SELECT s.number FROM tasks_event e JOIN tasks_seal s ON s.number = (e.detail ->> 'batch')::bigint
 WHERE e.kind = 'retired' AND (e.detail ->> 'first')::bigint = s.first_id AND (e.detail ->> 'last')::bigint = s.last_id
 ORDER BY e.id DESC LIMIT 1
"""
_HOLDS = "SELECT number FROM tasks_seal WHERE last_id >= %(event)s ORDER BY last_id LIMIT 1"
_BEFORE = "SELECT number, last_id, hash FROM tasks_seal WHERE number = %(number)s"
_SINCE = "SELECT number FROM tasks_seal WHERE until >= %(since)s ORDER BY number LIMIT 1"
_NOTE = """
INSERT INTO tasks_chaincheck (id, cursor, verified, verified_at, broken, broken_row, what, head, head_hash)
VALUES (1, %(cursor)s, %(verified)s, tasks_now(), %(broken)s::bigint, %(row)s::bigint, %(what)s, %(head)s, %(head_hash)s)
ON CONFLICT (id) DO UPDATE SET cursor = EXCLUDED.cursor, verified = EXCLUDED.verified, verified_at = EXCLUDED.verified_at,
    broken = EXCLUDED.broken, broken_row = EXCLUDED.broken_row, what = EXCLUDED.what, head = EXCLUDED.head,
    head_hash = EXCLUDED.head_hash
"""
_STATE = """
SELECT s.number, s.last_id, s.sealed_at, c.verified, v.last_id, c.verified_at, c.broken, c.broken_row, coalesce(c.what, ''),
       coalesce(c.cursor, 0), coalesce(c.head, 0), c.head_hash
  FROM (SELECT 1) one
  LEFT JOIN (SELECT number, last_id, sealed_at FROM tasks_seal ORDER BY number DESC LIMIT 1) s ON true
  LEFT JOIN tasks_chaincheck c ON c.id = 1
  LEFT JOIN tasks_seal v ON v.number = c.verified
"""


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold: the batch, the event when one can be named, and what is wrong."""

    batch: int
    row: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look at the chain found: up to which batch and event all is in order, the hash there, and the first break."""

    batch: int
    event: int
    head: bytes
    broken: Break | None
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ChainState:
    """What is sealed, what was verified last and when, and what is broken; as noted, nothing is verified to say this."""

    sealed: int | None
    sealed_event: int | None
    sealed_at: datetime | None
    verified: int | None
    verified_event: int | None
    verified_at: datetime | None
    broken: int | None
    broken_row: int | None
    what: str
    cursor: int
    head: int
    """The last batch of the longest chain that was ever in order."""
    head_hash: bytes | None


def chain_state() -> ChainState:
    """How the chain stands, from what was noted at the last look: one cheap query."""
    found = row(_STATE)
    assert found is not None
    return ChainState(*found)


def seal() -> int:
    """Seal one batch of events that nobody can add to any more, and give how many. Any number of callers is safe."""
    with atomic():
        if not (row(_LOCK) or (False,))[0]:
            return 0
        number, after, previous = row(_LAST) or (0, 0, GENESIS)
        last = (row(_RIPE, {"after": after}) or (None,))[0]
        if last is None or not _settled():
            return 0
        batch = leaves.of(after=after, until=last)
        if batch is None:
            return 0
        params = {
            "number": number + 1,
            "first": batch.first,
            "last": last,
            "count": batch.count,
            "until": batch.until,
            "leaves": batch.leaves,
            "rows_hash": hashlib.sha256(batch.leaves).digest(),
            "previous": bytes(previous),
        }
        affected(_INSERT, {**params, "hash": _hash(params)})
        return batch.count


def _settled() -> bool:
    """Whether everyone has ended who wrote events when this was called: only such a one could still add an older one."""
    writers = {each[0] for each in rows(_WRITERS)}
    end = time.monotonic() + PATIENCE_SECONDS
    while writers and time.monotonic() < end:
        time.sleep(0.01)
        writers &= {each[0] for each in rows(_WRITERS)}
    return not writers


def _hash(seal: dict[str, object]) -> bytes:
    """What ties a batch to its rows and its place: the next one repeats it."""
    until = seal["until"]
    assert isinstance(until, datetime)
    facts = [seal["number"], seal["first"], seal["last"], seal["count"], round(until.timestamp() * 1_000_000)]
    rows_hash, previous = seal["rows_hash"], seal["previous"]
    assert isinstance(rows_hash, bytes)
    assert isinstance(previous, bytes)
    return hashlib.sha256(" ".join(map(str, facts)).encode() + rows_hash + previous).digest()


def verify(
    *,
    first: int = 1,
    limit: int | None = None,
    seconds: float | None = None,
    watch: Callable[[int], None] | None = None,
) -> Verdict:
    """Recompute the batches from this one on, at most so many or for so long, up to the first that is broken.

    `watch` is told each batch that is in order.
    """
    number, event, head = row(_BEFORE, {"number": first - 1}) or (0, 0, GENESIS)
    if number != first - 1:
        return Verdict(0, 0, GENESIS, Break(first - 1, None, "this batch is missing"), is_complete=True)
    verdict = Verdict(number, event, bytes(head), None, is_complete=False)
    end = None if seconds is None else time.monotonic() + seconds
    for count, found in enumerate(_seals(first), 1):
        broken = _check(found, verdict) and _check_again(found, verdict)
        if broken is not None:
            return replace(verdict, broken=broken, is_complete=True)
        verdict = Verdict(found[0], found[2], bytes(found[7]), None, is_complete=False)
        if watch is not None:
            watch(verdict.batch)
        if count == limit or (end is not None and time.monotonic() > end):
            return replace(verdict, broken=_policy_break(verdict))
    return replace(verdict, broken=_policy_break(verdict), is_complete=True)


def _seals(first: int) -> Iterator[Row]:
    while page := rows(_SEALS, {"first": first, "limit": ROUND}):
        yield from page
        first = page[-1][0] + 1


def _check_again(found: Row, before: Verdict) -> Break | None:
    """The same with the batch as it is now: it may have retired since it was read."""
    now = row(_SEALS, {"first": found[0], "limit": 1})
    return Break(found[0], None, "this batch is missing") if now is None else _check(now, before)


def _check(found: Row, before: Verdict) -> Break | None:
    number, first, last, count, until, rows_hash, previous, hash_ = found[:8]
    if number != before.batch + 1:
        return Break(before.batch + 1, None, "this batch is missing")
    facts = {"number": number, "first": first, "last": last, "count": count, "until": until,
             "rows_hash": bytes(rows_hash), "previous": bytes(previous)}  # fmt: skip
    if bytes(previous) != before.head:
        return Break(number, None, "it does not follow the batch before it")
    if _hash(facts) != bytes(hash_):
        return Break(number, None, "the batch itself was changed")
    return _check_left(found, after=before.event) if found[9] is not None else _check_rows(found, after=before.event)


def _check_left(found: Row, *, after: int) -> Break | None:
    """A batch that has left: the log says so, and nothing stands in its place."""
    number, last = found[0], found[2]
    if number > (row(_RETIRED) or (0,))[0]:
        return Break(number, None, "its events are gone, and the log does not say that they retired")
    present = leaves.of(after=after, until=last)
    return None if present is None else Break(number, present.first, "an event of a batch that has left")


def _check_rows(found: Row, *, after: int) -> Break | None:
    number, last, rows_hash, sealed = found[0], found[2], bytes(found[5]), bytes(found[8])
    if hashlib.sha256(sealed).digest() != rows_hash:
        return Break(number, None, "its list of events was changed")
    present = leaves.of(after=after, until=last)
    now = b"" if present is None else present.leaves
    if now == sealed:
        return None
    row_id, what = leaves.difference(sealed, now)
    return Break(number, row_id, what)


def _policy_break(verdict: Verdict) -> Break | None:
    """The first version of the policy that is not what the log says was saved, by the batch of its event."""
    wrong = policy.unproven()
    if wrong is None:
        return None
    batch = None if wrong.event is None else row(_HOLDS, {"event": wrong.event})
    return Break(batch[0] if batch else verdict.batch + 1, wrong.event, wrong.what)


def first_since(moment: datetime) -> int | None:
    """The batch in which the events of this time begin; None when there is none yet."""
    found = row(_SINCE, {"since": moment})
    return found[0] if found else None


def look_around() -> int:
    """Verify the next few batches of the loop's endless round, and note what was found; gives how many were in order."""
    before = chain_state()
    start = before.cursor if before.cursor < (before.sealed or 0) else 0
    verdict = _remembering(verify(first=start + 1, limit=ROUND), before)
    # A round ends where it found something: the next one finds it again, or that it was mended.
    _note(verdict, before, start=start, cursor=verdict.batch if verdict.broken is None else 0)
    return max(verdict.batch - start, 0)


def verify_now(
    *, by: Actor, first: int = 1, seconds: float | None = None, watch: Callable[[int], None] | None = None
) -> Verdict:
    """Verify from this batch on, note what was found, and write down who asked. Without a limit it verifies all."""
    verdict = verify(first=first, seconds=seconds, watch=watch)
    with atomic():
        before = chain_state()
        verdict = _remembering(verdict, before)
        _note(verdict, before, start=first - 1, cursor=verdict.batch if first == 1 else before.cursor)
        broken = verdict.broken
        detail: dict[str, object] = {"batch": verdict.batch, "event": verdict.event}
        if first > 1:
            detail["first"] = first
        if broken is not None:
            detail |= {"broken_batch": broken.batch, "broken_row": broken.row, "what": broken.what}
        if broken is not None or first == 1 or verdict.batch >= first:
            record_event("chain_verified" if broken is None else "chain_broken", by=by, detail=detail)
    return verdict


def _remembering(verdict: Verdict, before: ChainState) -> Verdict:
    """The same, unless the chain no longer leads to where it once did: what is cut off leaves no trace in the rest."""
    if verdict.broken is not None or not before.head:
        return verdict
    found = row(_BEFORE, {"number": before.head})
    if found is None:
        broken = Break((before.sealed or 0) + 1, None, "batches that were verified before are gone")
    elif bytes(found[2]) != bytes(before.head_hash or b""):
        broken = Break(before.head, None, "this batch is another than the one that was verified before")
    else:
        return verdict
    return replace(verdict, broken=broken, is_complete=True)


def _note(verdict: Verdict, before: ChainState, *, start: int, cursor: int) -> None:
    """Remember a look that began after batch `start`."""
    broken = verdict.broken
    # A look at other batches says nothing about the one that was broken.
    was = before.broken
    if broken is None and was is not None and not start < was <= verdict.batch:
        broken = Break(was, before.broken_row, before.what)
    verified = before.verified or 0
    # Nor does it say anything about those before it.
    reached = verdict.batch if start <= verified else verified
    is_further = broken is None and reached > before.head
    params = {
        "cursor": cursor,
        "verified": max(reached, verified) if broken is None else min(reached, broken.batch - 1),
        "broken": broken and broken.batch,
        "row": broken and broken.row,
        "what": broken.what if broken else "",
        "head": reached if is_further else before.head,
        "head_hash": verdict.head if is_further else before.head_hash,
    }
    affected(_NOTE, params)
