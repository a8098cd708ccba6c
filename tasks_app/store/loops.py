"""Which engine loops are alive. Only their own table is written here."""

from __future__ import annotations

from tasks_app.store import db

FORGET_AFTER_SECONDS = 3600

_BEAT = """
    INSERT INTO tasks_loop (id, seen_at) VALUES (%(id)s::text, tasks_now())
    ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at
"""
_LEAVE = "DELETE FROM tasks_loop WHERE id = %(id)s::text"
_UNSEEN = "SELECT extract(epoch FROM tasks_now() - max(seen_at))::float8 FROM tasks_loop"
_FORGET = "DELETE FROM tasks_loop WHERE seen_at < tasks_now() - make_interval(secs => %(seconds)s::float8)"


def beat(loop_id: str) -> None:
    """Say that this loop is alive now, and forget those that have been silent for long."""
    db.affected(_BEAT, {"id": loop_id})
    db.affected(_FORGET, {"seconds": FORGET_AFTER_SECONDS})


def leave(loop_id: str) -> None:
    """Take a loop that stops off the list; harmless when it is not on it."""
    db.affected(_LEAVE, {"id": loop_id})


def unseen_seconds() -> float | None:
    """For how long no loop has said anything, by the database's clock; None when none is known."""
    found = db.row(_UNSEEN)
    return None if found is None or found[0] is None else float(found[0])
