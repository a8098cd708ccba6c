"""Bringing a task into the world: one statement that takes a slot, stores the call and makes it due.

Quota is a slot: a live task holds one of its owner's places, and a unique index makes each place single. Nothing is
counted and nothing is locked: what loses the race for a place looks for another.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from tasks_app.conf import Conf, conf
from tasks_app.domain.errors import BytesExceeded, ConcurrentModification, KeyConflict, QuotaExceeded
from tasks_app.domain.identity import new_task_id
from tasks_app.domain.labels import labels_for
from tasks_app.domain.limits import check_arguments
from tasks_app.domain.policy import Policy, Terms
from tasks_app.domain.questions import mint_key
from tasks_app.domain.status import Status
from tasks_app.domain.text import clean_text, request_digest
from tasks_app.domain.ttl import NOT_ASKED, QUESTION_MARGIN, Ttl, decide_ttl
from tasks_app.store import codec, room
from tasks_app.store.announce import announce
from tasks_app.store.db import Params, Plan, Query, run
from tasks_app.store.expiry import expire_one
from tasks_app.store.policy import in_force
from tasks_app.store.rows import Snapshot, columns, snapshot

TRIES = 20
APPROVAL = "approval"
NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A call that becomes a task. `approval` is what an operator is asked before the first attempt."""

    owner_id: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tool_version: int = 1
    ttl_ms: object = NOT_ASKED
    tool_ttl_ms: int | None = None
    credential_id: int | None = None
    key: str | None = None
    request_id: str = ""
    client: str = ""
    client_capabilities: Mapping[str, Any] = field(default_factory=dict)
    waiting: bool = False
    max_retries: int = 3
    poll_ms: int | None = None
    labels: Collection[str] | None = None
    approval: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """The task that answers the call; not new when its idempotency key was met before."""

    task: Snapshot
    is_new: bool
    expired: tuple[Snapshot, ...] = ()
    """What was past its time and in the way, and expired with this."""


A_FEW_SLOTS = "(SELECT 1 + floor(random() * %(slots)s::int)::int AS slot FROM generate_series(1, 8))"
_ALL_SLOTS = "(SELECT n AS slot FROM generate_series(1, %(slots)s::int) n ORDER BY random())"

# A value, not an EXISTS: each place is then looked up by itself, and only until one is free. As a join it would be read
# against all the places that the owner holds.
_IS_FREE = """
(SELECT o.slot FROM tasks_task o WHERE o.owner_id = %(owner)s AND o.slot = place.slot AND o.finished_at IS NULL) IS NULL
"""

_MOMENT = "tasks_now() AS at"
# What the log says of the time that the gate adds.
_MOMENT_ASKING = f"{_MOMENT}, set_config('tasks.asked_ttl', %(asked_ttl)s, true)"
_INSERT = f"""
WITH moment AS MATERIALIZED (SELECT {{moment}}),
free AS (
    SELECT place.slot FROM {{slots}} place WHERE {_IS_FREE} LIMIT 1),
t AS (
    INSERT INTO tasks_task (id, owner_id, slot, credential_id, tool, tool_version, arguments, labels, idempotency_key,
        request_digest, request_id, client, client_capabilities, waiting, max_retries, poll_ms, created_at, updated_at,
        status_at, expires_at, ttl_fixed, held, policy_version, status, open_questions, wake_at)
    SELECT %(id)s, %(owner)s, free.slot, %(credential)s::bigint, %(tool)s, %(version)s::int, %(arguments)s, %(labels)s::jsonb,
        %(key)s, %(digest)s::bytea, %(request)s, %(client)s, %(capabilities)s::jsonb, %(waiting)s, %(retries)s::int,
        %(poll)s::int, at, at, at, at + %(ttl)s::float8 * interval '1 ms', %(fixed)s, %(held)s, %(policy)s::int, {{birth}}
      FROM moment, free
     WHERE %(room)s::bool
        OR (SELECT coalesce(sum(c.bytes), 0) FROM tasks_count c WHERE c.owner_id = %(owner)s) < %(bytes)s::bigint
    ON CONFLICT DO NOTHING
    RETURNING id, created_at, expires_at)
"""
_DUE = "'working', 0, at"
_ASKING = "'input_required', 1, NULL::timestamptz"
_ASK = """,
asked AS (
    INSERT INTO tasks_question (task_id, key, name, audience, request, expires_at)
    SELECT t.id, %(approval_key)s, %(approval_name)s, 'operator', %(approval)s,
           least(t.expires_at, t.created_at + %(approval_ttl)s::float8 * interval '1 second') FROM t)
"""
_SELECT = "SELECT created_at, expires_at FROM t"


def _text(*, slots: str, approval: bool) -> str:
    moment, birth = (_MOMENT_ASKING, _ASKING) if approval else (_MOMENT, _DUE)
    return _INSERT.format(moment=moment, slots=slots, birth=birth) + (_ASK if approval else "") + _SELECT


_TEXTS = {
    (thorough, approval): _text(slots=_ALL_SLOTS if thorough else A_FEW_SLOTS, approval=approval)
    for thorough in (False, True)
    for approval in (False, True)
}
_BY_KEY = f"""
SELECT {columns()}, t.request_digest, t.expires_at <= tasks_now() AND NOT t.held FROM tasks_task t
 WHERE t.owner_id = %(owner)s AND t.idempotency_key = %(key)s
"""
_STALE = """
SELECT id FROM tasks_task
 WHERE owner_id = %(owner)s AND finished_at IS NULL AND expires_at <= tasks_now() AND NOT held LIMIT 1
"""
_BYTES = "SELECT coalesce(sum(bytes), 0) FROM tasks_count WHERE owner_id = %(owner)s"


def create(new: NewTask) -> Created:
    """Store a call as a task that is due, or find the one that its key already made.

    Raises QuotaExceeded, BytesExceeded, KeyConflict, ArgumentsTooLarge or InvalidTtl; then nothing was stored.
    """
    created = run(create_plan(new))
    for gone in created.expired:
        announce(gone, questions=True)
    if created.is_new:
        announce(created.task, questions=created.task.open_questions > 0)
    return created


def create_plan(new: NewTask) -> Plan[Created]:
    """The steps of `create`, for any connection. The caller announces."""
    settings = conf()
    policy = yield from in_force()
    params = create_params(new, policy)
    expired: list[Snapshot] = []
    for attempt in range(TRIES):
        # A few random places are enough for most owners; all are looked at only when those were taken.
        born = yield Query(_TEXTS[attempt > 0, new.approval is not None], params)
        if born:
            note_room(params)
            return Created(
                newborn(params, *born[0], asks=new.approval is not None), is_new=True, expired=tuple(expired)
            )
        known = yield from _known(new, params, expired)
        if known:
            return Created(known, is_new=False, expired=tuple(expired))
        yield from _make_room(new.owner_id, settings, expired)
    raise ConcurrentModification


def _known(new: NewTask, params: Params, expired: list[Snapshot]) -> Plan[Snapshot | None]:
    if new.key is None:
        return None
    found = yield Query(_BY_KEY, {"owner": new.owner_id, "key": new.key})
    if not found:
        return None
    *row, digest, is_expired = found[0]
    task = snapshot(tuple(row))
    if is_expired:
        # The key is free again once the task is expired; the loop has not seen it yet.
        yield from _expire(task.id, expired)
        return None
    if bytes(digest) != params["digest"]:
        raise KeyConflict
    return task


def _make_room(owner_id: int, settings: Conf, expired: list[Snapshot]) -> Plan[None]:
    """Expire what holds a place past its time; without any, say which quota is used up."""
    [[kept]] = yield Query(_BYTES, {"owner": owner_id})
    if kept >= settings.owner_bytes:
        raise BytesExceeded(settings.owner_bytes)
    stale = yield Query(_STALE, {"owner": owner_id})
    if stale:
        yield from _expire(stale[0][0], expired)
        return
    free = yield Query(_FREE, {"owner": owner_id, "slots": settings.live_tasks})
    if not free:
        raise QuotaExceeded(settings.live_tasks)


def _expire(task_id: UUID, expired: list[Snapshot]) -> Plan[None]:
    ended = yield from expire_one(task_id)
    if ended is not None:
        expired.append(ended)


_FREE = f"SELECT 1 FROM {_ALL_SLOTS} place WHERE {_IS_FREE} LIMIT 1"


def create_params(new: NewTask, policy: Policy) -> dict[str, Any]:
    """What a statement that stores a call needs. Raises ArgumentsTooLarge or InvalidTtl."""
    settings = conf()
    terms = policy.terms(new.tool, new.owner_id)
    check_arguments(new.arguments, limits=settings.limits)
    asked = new.tool_ttl_ms if new.ttl_ms is NOT_ASKED and new.tool_ttl_ms is not None else new.ttl_ms
    default_ms, max_ms = round(terms.default_ttl * 1000), round(terms.max_ttl * 1000)
    ttl = decide_ttl(asked, default_ms=default_ms, max_ms=max_ms, overflow=settings.ttl_overflow)
    return {
        "id": new_task_id(),
        "owner": new.owner_id,
        "slots": settings.live_tasks,
        "bytes": settings.owner_bytes,
        "room": room.had_room(new.owner_id),
        "credential": new.credential_id,
        "tool": new.tool,
        "version": new.tool_version,
        "arguments": codec.encode(new.arguments),
        "labels": json.dumps(labels_for(new.arguments, new.labels)),
        "key": new.key,
        "digest": request_digest(new.tool, new.arguments) if new.key is not None else None,
        "request": clean_text(new.request_id, NAME_CHARACTERS),
        "client": clean_text(new.client, NAME_CHARACTERS),
        "capabilities": json.dumps(codec.storable(new.client_capabilities)),
        "waiting": new.waiting,
        "retries": new.max_retries,
        "poll": new.poll_ms or settings.limits.default_poll_interval_ms,
        "ttl": _lifetime_ms(new, ttl, terms),
        "asked_ttl": str(ttl.ms),
        "fixed": ttl.fixed,
        "held": terms.hold,
        "policy": terms.version,
        "approval": new.approval and codec.encode(new.approval),
        "approval_key": mint_key(APPROVAL) if new.approval else None,
        "approval_name": APPROVAL,
        "approval_ttl": terms.question_ttl,
    }


def note_room(params: Params) -> None:
    """A task was stored: if that took a look at the bytes of its owner, there was room."""
    if not params["room"]:
        room.found_room(params["owner"])


def newborn(params: Mapping[str, Any], created_at: datetime, expires_at: datetime, *, asks: bool = False) -> Snapshot:
    """What a task looks like right after its birth: all but the times is known, and need not travel back."""
    return Snapshot(
        id=params["id"],
        owner_id=params["owner"],
        credential_id=params["credential"],
        tool=params["tool"],
        tool_version=params["version"],
        status=Status.INPUT_REQUIRED if asks else Status.WORKING,
        outcome=None,
        status_message="",
        progress_done=None,
        progress_total=None,
        attempt=0,
        active_attempt=None,
        losses=0,
        retries=0,
        max_retries=params["retries"],
        wake_at=None if asks else created_at,
        open_questions=int(asks),
        poll_ms=params["poll"],
        created_at=created_at,
        updated_at=created_at,
        status_at=created_at,
        finished_at=None,
        expires_at=expires_at,
        ttl_fixed=params["fixed"],
        expired_at=None,
        held=params["held"],
        waiting=params["waiting"],
        client=params["client"],
        request_id=params["request"],
        output_bytes=0,
        version=1,
    )


def _lifetime_ms(new: NewTask, ttl: Ttl, terms: Terms) -> float:
    """A task that begins by asking for approval outlives the question, as one that asks later does."""
    if new.approval is None or ttl.fixed or new.waiting:
        return ttl.ms
    return max(ttl.ms, 1000 * (terms.question_ttl + QUESTION_MARGIN.total_seconds()))
