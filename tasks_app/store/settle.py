"""How an attempt ends: with the task's outcome, back in the queue, or waiting for an answer.

Every write carries the attempt's number: `active_attempt` is the fence, and no row means that the lease is lost.
`record` ends an attempt; `turn` also claims the next due task in the same statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks_app.bus import Change
from tasks_app.conf import conf
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.identity import Actor
from tasks_app.domain.limits import check_result
from tasks_app.domain.outcome import AttemptEnd, Outcome
from tasks_app.domain.text import clean_text
from tasks_app.store import codec, policy
from tasks_app.store.announce import announce, announce_change
from tasks_app.store.claim import Claimant, begun, claim_params, claiming
from tasks_app.store.db import ACTOR, actor_json, row
from tasks_app.store.rows import Claim, Snapshot, columns, snapshot

MESSAGE_CHARACTERS = 1000
DETAIL_CHARACTERS = 20_000

_HELD = "s.id = %(task)s AND s.active_attempt = %(number)s AND (s.expires_at > tasks_now() OR s.held)"
_FINISH = f"""
settled AS (
    UPDATE tasks_task s SET active_attempt = NULL, status = %(status)s, outcome = %(outcome)s, result = %(result)s,
           error = %(error)s, finished_at = tasks_now(), policy_version = %(policy)s::int,
           expires_at = greatest(s.expires_at, tasks_now() + %(keep)s::float8 * interval '1 second')
      FROM acting WHERE {_HELD} RETURNING {columns("s")})
"""
_PUT_BACK = f"""
settled AS (
    UPDATE tasks_task s SET active_attempt = NULL, retries = s.retries + %(retried)s::int,
           wake_at = tasks_now() + %(delay)s::float8 * interval '1 second',
           status_message = coalesce(%(message)s, s.status_message)
      FROM acting WHERE {_HELD} RETURNING {columns("s")})
"""
END_ATTEMPT = """
ended AS (
    UPDATE tasks_attempt SET ended_at = tasks_now(), outcome = %(end)s, detail = %(detail)s, failed_step = %(failed_step)s
     WHERE task_id = (SELECT id FROM settled) AND number = %(number)s AND ended_at IS NULL)
"""
_RECORD = f"SELECT {columns('settled')} FROM settled"
# Always one row: the task that was settled, as far as it is announced, beside the one that was claimed; each empty when
# there is none.
_TURN = """
SELECT settled.id, settled.owner_id, settled.version, settled.status, t.*
  FROM (SELECT 1) one LEFT JOIN settled ON true LEFT JOIN t ON true
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ends, ready to be recorded: the statement that does it and whether it asks something."""

    held: Claim
    change: str
    params: Mapping[str, Any]
    asks: bool = False
    failed_step: str | None = None
    """In which step the tool failed, if it was in one."""

    def all_params(self, actor: Actor) -> dict[str, Any]:
        """What the statement needs, with who acts."""
        return {**self.params, "failed_step": self.failed_step, "actor": actor_json(actor)}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of a worker did: the task that it settled (None: the lease was lost) and its next claim, if any."""

    settled: Change | None
    following: Claim | None


def completion(held: Claim, *, result: Mapping[str, Any], is_error: bool = False, detail: str | None = None) -> Ending:
    """The tool returned; `is_error` makes it a tool error. Raises ResultTooLarge."""
    check_result(result, limits=conf().limits)
    outcome = Outcome.TOOL_ERROR if is_error else Outcome.RESULT
    end = AttemptEnd.FAILED if is_error else AttemptEnd.COMPLETED
    return _ending(held, _FINISH, _finish(held, outcome, result=codec.encode(result)), end=end, detail=detail)


def failure(
    held: Claim, *, error: Mapping[str, Any], end: AttemptEnd = AttemptEnd.FAILED, detail: str | None = None
) -> Ending:
    """The call ends with a protocol error: code, message and data, verbatim."""
    return _ending(held, _FINISH, _finish(held, Outcome.RPC_ERROR, error=codec.encode(error)), end=end, detail=detail)


def retrying(held: Claim, *, delay: float, end: AttemptEnd = AttemptEnd.FAILED, message: str | None = None,
             detail: str | None = None) -> Ending:  # fmt: skip
    """The task runs again after `delay` seconds; this counts as one of its retries."""
    params = {"retried": 1, "delay": delay, "message": clean_text(message, MESSAGE_CHARACTERS) if message else None}
    return _ending(held, _PUT_BACK, params, end=end, detail=detail)


def releasing(held: Claim) -> Ending:
    """The worker shuts down and gives the task back: due at once, and nothing is counted."""
    return _ending(held, _PUT_BACK, {"retried": 0, "delay": 0, "message": None}, end=AttemptEnd.RELEASED, detail=None)


def _finish(held: Claim, outcome: Outcome, *, result: str | None = None, error: str | None = None) -> dict[str, Any]:
    terms = policy.terms(held.tool, held.owner_id)
    return {
        "status": outcome.status.value,
        "outcome": outcome.value,
        "result": result,
        "error": error,
        "keep": terms.minimum_retention,
        "policy": terms.version,
    }


def _ending(held: Claim, change: str, params: Mapping[str, Any], *, end: AttemptEnd, detail: str | None) -> Ending:
    fence = {
        "task": held.task_id,
        "number": held.number,
        "end": end.value,
        "detail": None if detail is None else clean_text(detail, DETAIL_CHARACTERS),
    }
    return Ending(held, f"{change}, {END_ATTEMPT}", {**params, **fence})


def record(ending: Ending) -> Snapshot:
    """End the attempt so. Raises LeaseLost when it no longer holds the task: then nothing was recorded."""
    params = ending.all_params(Actor.worker(ending.held.worker))
    found = row(f"WITH {ACTOR}, {ending.change} {_RECORD}", params)
    if found is None:
        raise LeaseLost
    task = snapshot(found)
    announce(task, questions=ending.asks)
    return task


def turn(ending: Ending, claimant: Claimant) -> Turn:
    """End the attempt so and claim the next due task, in one statement and one commit."""
    acting = Actor.worker(claimant.worker)
    params = {**claim_params(claimant), **ending.all_params(acting), "settling": ending.held.task_id}
    found = row(f"WITH {ACTOR}, {ending.change}, {claiming(claimant)} {_TURN}", params)
    assert found is not None
    task_id, owner_id, version, status, *claimed = found
    settled = task_id and Change(task_id, owner_id, version, status, ending.asks)
    if settled:
        announce_change(settled)
    return Turn(settled, begun(tuple(claimed), claimant) if claimed[0] else None)


def complete(held: Claim, *, result: Mapping[str, Any], is_error: bool = False, detail: str | None = None) -> Snapshot:
    """Record the one result. Raises LeaseLost, or ResultTooLarge; then nothing was recorded."""
    return record(completion(held, result=result, is_error=is_error, detail=detail))


def fail(
    held: Claim, *, error: Mapping[str, Any], end: AttemptEnd = AttemptEnd.FAILED, detail: str | None = None
) -> Snapshot:
    """Record a protocol error as the outcome. Raises LeaseLost."""
    return record(failure(held, error=error, end=end, detail=detail))


def retry(held: Claim, *, delay: float, detail: str | None = None) -> Snapshot:
    """Put the task back to run again later. Raises LeaseLost."""
    return record(retrying(held, delay=delay, detail=detail))


def release(held: Claim) -> Snapshot:
    """Give the task back without counting anything. Raises LeaseLost."""
    return record(releasing(held))
