"""Webhooks and their outbox. Every new question becomes one row for each address; whoever leases a row sends it.

New questions are found by looking, on the engine loop's time: asking a question does no work for this.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from console.notice_models import DeliveryState
from tasks_app.domain.errors import NotAllowed, NotFound
from tasks_app.domain.identity import Actor
from tasks_app.domain.text import clean_text
from tasks_app.store.db import Row, affected, atomic, row, rows
from tasks_app.store.events import record_event
from tasks_app.store.locking import IS_LIVE

BATCH = 500
MOST_WEBHOOKS = 20
LEASE_SECONDS = 60
# Ids are given before they are committed, so a lower one may appear later; no transaction of ours lives so long.
SETTLE_SECONDS = 60
KEEP_DAYS = 7
ERROR_CHARACTERS = 300
# How long to wait after each failure; after the last of them nobody tries again: about four hours in all.
BACKOFF_SECONDS = (5, 30, 120, 600, 1800, 3600, 7200)
MOST_ATTEMPTS = len(BACKOFF_SECONDS) + 1
# So many messages to one address at a time: one that hangs must not hold up the others.
AT_ONCE = 2

_MAKE = """
INSERT INTO console_webhook (url, salt, site, names_tool, created_by_id, seen_id)
SELECT %(url)s::text, %(salt)s::text, %(site)s::text, %(names)s::boolean, %(by)s::bigint, coalesce((SELECT max(id) FROM tasks_question), 0)
 WHERE (SELECT count(*) FROM console_webhook) < %(most)s::int
RETURNING id
"""
_FIND = f"""
WITH hook AS MATERIALIZED (SELECT id, seen_id FROM console_webhook ORDER BY id FOR UPDATE SKIP LOCKED)
INSERT INTO console_delivery (webhook_id, question_id)
SELECT h.id, q.id FROM hook h JOIN tasks_question q ON q.id > h.seen_id
 WHERE q.state = 'open' AND q.kind IN ('form', 'url')
   AND NOT EXISTS (SELECT 1 FROM console_delivery d WHERE d.webhook_id = h.id AND d.question_id = q.id)
 ORDER BY q.id LIMIT {BATCH}
    ON CONFLICT DO NOTHING
"""
_ADVANCE = f"""
UPDATE console_webhook w SET seen_id = s.seen
  FROM (SELECT h.id, (SELECT q.id FROM tasks_question q
                       WHERE q.id > h.seen_id AND q.created_at < tasks_now() - interval '{SETTLE_SECONDS} seconds'
                       ORDER BY q.id DESC LIMIT 1) AS seen
          FROM console_webhook h) s
 WHERE w.id = s.id AND s.seen IS NOT NULL
"""
_LEASE = f"""
WITH due AS MATERIALIZED (
    SELECT d.id FROM (SELECT id FROM console_webhook ORDER BY random()) w CROSS JOIN LATERAL (
        SELECT id FROM console_delivery WHERE webhook_id = w.id AND state = 'waiting' AND due_at <= tasks_now()
         ORDER BY due_at, id LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED) d LIMIT %(limit)s::int),
leased AS (
    UPDATE console_delivery d SET attempts = d.attempts + 1, due_at = tasks_now() + interval '{LEASE_SECONDS} seconds'
      FROM due WHERE d.id = due.id RETURNING d.id, d.attempts, d.webhook_id, d.question_id)
SELECT l.id, l.attempts, w.url, w.salt, w.site, w.names_tool, tasks_now(), l.question_id IS NULL,
       coalesce(q.state = 'open' AND q.expires_at > tasks_now() AND {IS_LIVE}, false),
       q.task_id, q.key, q.expires_at, t.tool, t.owner_id
  FROM leased l JOIN console_webhook w ON w.id = l.webhook_id LEFT JOIN tasks_question q ON q.id = l.question_id
  LEFT JOIN tasks_task t ON t.id = q.task_id ORDER BY l.id
"""
# A row that was leased again meanwhile has another number: what an earlier try learned no longer counts.
_END = """
UPDATE console_delivery SET state = %(state)s::text, ended_at = tasks_now(), error = ''
 WHERE id = %(id)s::bigint AND attempts = %(attempt)s::int AND state = 'waiting'
"""
_FAIL = """
UPDATE console_delivery SET error = %(error)s::text, due_at = tasks_now() + %(wait)s::float8 * interval '1 second',
       state = CASE WHEN %(last)s::boolean THEN 'failed' ELSE 'waiting' END,
       ended_at = CASE WHEN %(last)s::boolean THEN tasks_now() END
 WHERE id = %(id)s::bigint AND attempts = %(attempt)s::int AND state = 'waiting'
"""
_LIST = """
SELECT w.id, w.url, w.site, w.names_tool, w.created_at, l.id, l.question_id IS NULL, l.state, l.attempts, l.due_at, l.ended_at, l.error,
       (SELECT count(*) FROM (SELECT 1 FROM console_delivery d WHERE d.webhook_id = w.id AND d.state = 'waiting' LIMIT 100) few)
  FROM console_webhook w LEFT JOIN LATERAL (
       SELECT * FROM console_delivery d WHERE d.webhook_id = w.id ORDER BY d.id DESC LIMIT 1) l ON true ORDER BY w.id
"""
_DELETE = "DELETE FROM console_webhook WHERE id = %(id)s::bigint RETURNING url"
_FORGET = f"""
DELETE FROM console_delivery WHERE id = ANY (ARRAY(
    SELECT id FROM console_delivery WHERE ended_at < tasks_now() - interval '{KEEP_DAYS} days' LIMIT {BATCH}))
"""


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """The latest message to an address, and what became of it."""

    is_test: bool
    state: DeliveryState
    attempts: int
    due_at: datetime
    ended_at: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class WebhookView:
    """An address, and how it does."""

    id: int
    url: str
    site: str
    names_tool: bool
    created_at: datetime
    last: DeliveryView | None
    waiting: int


@dataclass(frozen=True, slots=True)
class Told:
    """The question that a message is about."""

    task_id: UUID
    key: str
    expires_at: datetime
    tool: str
    owner_id: int


@dataclass(frozen=True, slots=True)
class Lease:
    """A message that is ours to send for a while: to where, about what, and which try it is."""

    id: int
    attempt: int
    url: str
    salt: str
    site: str
    names_tool: bool
    at: datetime
    is_test: bool
    is_needed: bool
    question: Told | None


def create_webhook(*, url: str, salt: str, site: str, names_tool: bool, by: Actor) -> int:
    """Tell this address about every question from now on. Raises NotAllowed when there are too many."""
    params = {"url": url, "salt": salt, "site": site, "names": names_tool, "by": by.id, "most": MOST_WEBHOOKS}
    with atomic():
        made = row(_MAKE, params)
        if made is None:
            raise NotAllowed(f"There can be {MOST_WEBHOOKS} webhooks. Delete one first.")
        # An address of this sort is a secret of its own: the log names its host only.
        record_event("webhook_created", by=by, detail={"webhook": made[0], "host": _host(url)})
        return int(made[0])


def delete_webhook(webhook_id: int, *, by: Actor) -> None:
    """Forget an address and what was still to be sent to it. Raises NotFound."""
    with atomic():
        affected("DELETE FROM console_delivery WHERE webhook_id = %(id)s::bigint", {"id": webhook_id})
        gone = row(_DELETE, {"id": webhook_id})
        if gone is None:
            raise NotFound
        record_event("webhook_deleted", by=by, detail={"webhook": webhook_id, "host": _host(gone[0])})


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def queue_test(webhook_id: int) -> None:
    """Send a message about nothing, to see whether the address works. Raises NotFound."""
    text = "INSERT INTO console_delivery (webhook_id) SELECT id FROM console_webhook WHERE id = %(id)s::bigint"
    if affected(text, {"id": webhook_id}) == 0:
        raise NotFound


def webhooks() -> list[WebhookView]:
    """Every address with the latest that was sent to it."""
    return [_webhook(found) for found in rows(_LIST)]


def _webhook(found: Row) -> WebhookView:
    id_, url, site, names_tool, created_at, last_id, *last, waiting = found
    is_test, state, attempts, due_at, ended_at, error = last
    seen = None if last_id is None else DeliveryView(is_test, DeliveryState(state), attempts, due_at, ended_at, error)
    return WebhookView(id_, url, site, names_tool, created_at, seen, waiting)


def find_new_questions() -> int:
    """Put what was asked since the last look into the outbox, at most one batch; two who look at once do it once."""
    with atomic():
        found = affected(_FIND)
        if found < BATCH:
            affected(_ADVANCE)
    return found


def lease_deliveries(*, limit: int) -> list[Lease]:
    """Take some messages that are due; nobody else sends them until the lease has run out."""
    return [_lease(found) for found in rows(_LEASE, {"limit": limit})]


def _lease(found: Row) -> Lease:
    *values, task_id, key, expires_at, tool, owner_id = found
    told = None if task_id is None else Told(task_id, key, expires_at, tool, owner_id)
    return Lease(*(*values, told))


def delivered(leased: Lease) -> bool:
    """The other side took it; false when the lease was lost meanwhile."""
    return affected(_END, {"id": leased.id, "attempt": leased.attempt, "state": DeliveryState.SENT.value}) > 0


def drop_delivery(leased: Lease) -> bool:
    """Nobody needs to hear of it any more."""
    return affected(_END, {"id": leased.id, "attempt": leased.attempt, "state": DeliveryState.DROPPED.value}) > 0


def failed(leased: Lease, *, error: str) -> bool:
    """The other side did not take it: again later, or never after the last try."""
    is_last = leased.attempt >= MOST_ATTEMPTS
    wait = 0 if is_last else BACKOFF_SECONDS[leased.attempt - 1]
    said = clean_text(error, ERROR_CHARACTERS)
    params = {"id": leased.id, "attempt": leased.attempt, "error": said, "wait": wait, "last": is_last}
    return affected(_FAIL, params) > 0


def forget_deliveries() -> int:
    """Drop one batch of what ended long ago."""
    return affected(_FORGET)
