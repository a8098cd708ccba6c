"""The leaves of the chain: for each event its id and a digest of all that it says, and how two lists of them differ.

The digest does not hold the id, so that two events which changed places can be told from two that were edited. That of
an `expired` event covers the expiration record of its task, every column of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks_app.store.db import row

ID_BYTES = 8
DIGEST_BYTES = 16
LEAF_BYTES = ID_BYTES + DIGEST_BYTES

# Every column, as JSON that the database spells the same way always; times as numbers, because their text has a zone.
_EVENT = """
jsonb_build_array(e.task_id, e.owner_id, e.kind, e.from_status, e.to_status, e.attempt, e.actor, e.detail, extract(epoch FROM e.at))
"""
_RECORD = """
jsonb_build_array(x.task_id, x.owner_id, x.credential_id, x.tool, x.status, x.outcome, x.was_live,
    extract(epoch FROM x.created_at), extract(epoch FROM x.finished_at), extract(epoch FROM x.due_at),
    extract(epoch FROM x.observed_at), x.ttl_changes, x.cancelled_by, x.fetched_times, extract(epoch FROM x.first_fetched_at),
    extract(epoch FROM x.last_fetched_at), x.unanswered, x.payload_bytes, encode(x.payload_sha256, 'hex'), x.policy_version,
    x.client, x.status_then, x.ttl_fixed, x.extended_times, x.fetched_by, x.payload_sizes)
"""
_LEAVES = f"""
SELECT count(*), min(e.id), max(e.at),
       string_agg(int8send(e.id) || substring(sha256(convert_to({_EVENT}::text || coalesce({_RECORD}::text, ''), 'UTF8'))
                                              FROM 1 FOR {DIGEST_BYTES}), ''::bytea ORDER BY e.id)
  FROM tasks_event e LEFT JOIN tasks_expiration x ON e.kind = 'expired' AND x.task_id = e.task_id
 WHERE e.id > %(after)s AND e.id <= %(until)s
"""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The events of a batch as they are now."""

    count: int
    first: int
    until: datetime
    leaves: bytes


def of(*, after: int, until: int) -> Leaves | None:
    """The leaves of all events after this id up to that one; None when there is no such event."""
    count, first, newest, leaves = row(_LEAVES, {"after": after, "until": until}) or (0, 0, None, b"")
    return Leaves(count, first, newest, bytes(leaves)) if count else None


def difference(sealed: bytes, now: bytes) -> tuple[int | None, str]:
    """The first event that differs, and how: removed, added, changed places with another, or changed."""
    was, is_ = _parse(sealed), _parse(now)
    if removed := sorted(was.keys() - is_.keys()):
        return removed[0], f"event {removed[0]} was removed" + _and_more(removed)
    if added := sorted(is_.keys() - was.keys()):
        return added[0], f"event {added[0]} was added" + _and_more(added)
    changed = sorted(id_ for id_, digest in was.items() if is_[id_] != digest)
    if not changed:
        return None, "its list of events is in another order"
    first = changed[0]
    other = next((id_ for id_ in changed if id_ != first and is_[id_] == was[first]), None)
    if other is not None:
        return first, f"events {first} and {other} changed places"
    return first, f"event {first}, or its expiration record, was changed" + _and_more(changed)


def _and_more(ids: list[int]) -> str:
    return f", and {len(ids) - 1} more" if len(ids) > 1 else ""


def _parse(leaves: bytes) -> dict[int, bytes]:
    parts = (leaves[at : at + LEAF_BYTES] for at in range(0, len(leaves), LEAF_BYTES))
    return {int.from_bytes(part[:ID_BYTES], signed=True): part[ID_BYTES:] for part in parts}
