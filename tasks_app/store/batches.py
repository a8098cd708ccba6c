"""Many reads or many new tasks by one statement, for a process that is asked for many at once.

Each gives what its plan for a single one would, in the order of what was asked. The rules stand with those plans: a
batch is only the way on which nothing is special, and what is special is left to the single plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from tasks_app.conf import conf
from tasks_app.domain.identity import token_digest
from tasks_app.store.create import A_FEW_SLOTS, Created, NewTask, create_params, newborn, note_room
from tasks_app.store.db import Params, Plan, Query
from tasks_app.store.fetch import Fetched, fetching
from tasks_app.store.identity import CALLER_COLUMNS, IS_VALID, Caller, read_caller
from tasks_app.store.locking import IS_LIVE
from tasks_app.store.policy import in_force
from tasks_app.store.queries import POLL_COLUMNS, Poll, read_poll
from tasks_app.store.rows import planning
from tasks_app.store.sessions import SESSION_COLUMNS, SessionView, read_session, session_digest

Asked: TypeAlias = tuple[str, UUID]
"""A token and a task id."""
Named: TypeAlias = tuple[str, int]
"""A session id and the owner who names it."""

_POLL = f"""
SELECT asked.place, {POLL_COLUMNS}
  FROM unnest(%(digests)s::bytea[], %(tasks)s::uuid[]) WITH ORDINALITY AS asked (digest, task, place)
  JOIN tasks_credential c ON c.digest = asked.digest AND {IS_VALID}
  LEFT JOIN tasks_task t ON t.id = asked.task AND t.owner_id = c.owner_id AND {IS_LIVE}
  LEFT JOIN tasks_fetch f ON f.task_id = t.id
"""
_AUTHENTICATE = f"""
SELECT c.digest, {CALLER_COLUMNS} FROM tasks_credential c WHERE c.digest = ANY (%(digests)s::bytea[]) AND {IS_VALID}
"""
_SESSIONS = f"""
SELECT s.digest, s.owner_id, {SESSION_COLUMNS}
  FROM tasks_session s WHERE s.digest = ANY (%(digests)s::bytea[]) AND s.ended_at IS NULL
"""
# Two of one owner may be given the same place: the second is left out, and tried again by itself. In the order of the
# places, so that two batches that want the same ones do not wait for each other.
_CREATE = f"""
WITH moment AS MATERIALIZED (SELECT tasks_now() AS at),
placed AS (
    SELECT g.*, (
        SELECT place.slot FROM {A_FEW_SLOTS} place
         WHERE (SELECT o.slot FROM tasks_task o
                 WHERE o.owner_id = g.owner AND o.slot = place.slot AND o.finished_at IS NULL) IS NULL LIMIT 1) AS slot
      FROM unnest(%(id)s::uuid[], %(owner)s::bigint[], %(credential)s::bigint[], %(tool)s::text[], %(version)s::int[],
                  %(arguments)s::text[], %(labels)s::text[], %(request)s::text[], %(client)s::text[],
                  %(capabilities)s::text[], %(retries)s::int[], %(poll)s::int[], %(ttl)s::float8[], %(fixed)s::bool[],
                  %(held)s::bool[], %(policy)s::int[], %(room)s::bool[])
           AS g (id, owner, credential, tool, version, arguments, labels, request, client, capabilities, retries, poll,
                 ttl, fixed, held, policy, room)
     WHERE g.room OR (SELECT coalesce(sum(c.bytes), 0) FROM tasks_count c WHERE c.owner_id = g.owner) < %(bytes)s::bigint),
t AS (
    INSERT INTO tasks_task (id, owner_id, slot, credential_id, tool, tool_version, arguments, labels, request_id, client,
        client_capabilities, waiting, max_retries, poll_ms, created_at, updated_at, status_at, expires_at, ttl_fixed,
        held, policy_version, status, open_questions, wake_at)
    SELECT p.id, p.owner, p.slot, p.credential, p.tool, p.version, p.arguments, p.labels::jsonb, p.request, p.client,
        p.capabilities::jsonb, false, p.retries, p.poll, at, at, at, at + p.ttl * interval '1 ms', p.fixed,
        p.held, p.policy, 'working', 0, at
      FROM moment, placed p WHERE p.slot IS NOT NULL ORDER BY p.owner, p.slot
    ON CONFLICT DO NOTHING
    RETURNING id, created_at, expires_at)
SELECT id, created_at, expires_at FROM t
"""
# In the order of the tasks, so that two batches do not wait for each other.
_FETCH = fetching(
    "unnest(%(tasks)s::uuid[], %(credentials)s::bigint[], %(requests)s::text[]) AS g (task, credential, request)"
)
_GIVEN = ("id", "owner", "credential", "tool", "version", "arguments", "labels", "request", "client", "capabilities",
          "retries", "poll", "ttl", "fixed", "held", "policy", "room")  # fmt: skip


class Alone:
    """Stands for an answer that the batch could not give: the single plan will."""


ALONE: Final = Alone()


def poll_many(asked: Sequence[Asked], *, planned: Sequence[str] = ()) -> Plan[list[Poll | None]]:
    """What `poll_plan` gives for each token and task."""
    digests = [token_digest(token) for token, _ in asked]
    tasks = [task_id for _, task_id in asked]
    found = yield Query(_POLL, {"digests": digests, "tasks": tasks, "planned": planning(tuple(planned))})
    polls = {place: read_poll(tuple(row)) for place, *row in found}
    return [polls.get(place) for place in range(1, len(asked) + 1)]


def authenticate_many(tokens: Sequence[str]) -> Plan[list[Caller | None]]:
    """What `authenticate_plan` gives for each token."""
    digests = [token_digest(token) for token in tokens]
    found = yield Query(_AUTHENTICATE, {"digests": list(set(digests))})
    callers: dict[bytes, Caller] = {}
    for digest, *row in found:
        callers[bytes(digest)] = yield from read_caller(tuple(row))
    return [callers.get(digest) for digest in digests]


def find_sessions(named: Sequence[Named]) -> Plan[list[SessionView | None]]:
    """What `find_session` gives for each session id and owner."""
    digests = [session_digest(id_) for id_, _ in named]
    found = yield Query(_SESSIONS, {"digests": list(set(digests))})
    rows = {(bytes(digest), owner_id): tuple(row) for digest, owner_id, *row in found}
    sessions: list[SessionView | None] = []
    for digest, (id_, owner_id) in zip(digests, named, strict=True):
        row = rows.get((digest, owner_id))
        sessions.append(None if row is None else (yield from read_session(row, id_=id_, owner_id=owner_id)))
    return sessions


def is_plain(new: NewTask) -> bool:
    """Whether a call may be stored in a batch: it has no key, asks for no approval, and nobody waits for its result."""
    return new.key is None and new.approval is None and not new.waiting


def create_many(calls: Sequence[NewTask]) -> Plan[list[Created | Alone]]:
    """What `create_plan` gives for each plain call; ALONE for one that found no place or no room at once."""
    policy = yield from in_force()
    params = [create_params(new, policy) for new in calls]
    given = {name: [each[name] for each in params] for name in _GIVEN}
    settings = conf()
    found = yield Query(_CREATE, {**given, "slots": settings.live_tasks, "bytes": settings.owner_bytes})
    born = {id_: times for id_, *times in found}
    return [_created(each, born) if each["id"] in born else ALONE for each in params]


def _created(params: Params, born: Mapping[UUID, Sequence[datetime]]) -> Created:
    note_room(params)
    return Created(newborn(params, *born[params["id"]]), is_new=True)


def fetch_many(fetches: Sequence[Fetched]) -> Plan[list[bool]]:
    """What `fetch_plan` gives for each; of several at once of one task the last is noted."""
    by_task = {each.task_id: each for each in fetches}
    some = by_task.values()
    found = yield Query(
        _FETCH,
        {
            "tasks": list(by_task),
            "credentials": [each.credential_id for each in some],
            "requests": [each.request_id for each in some],
        },
    )
    noted = {task_id for [task_id] in found}
    return [by_task[each.task_id] is each and each.task_id in noted for each in fetches]
