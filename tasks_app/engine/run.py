"""Running one attempt on a worker: the tool, under watch, with the store's journal; then how it ended is recorded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.db import DatabaseError, connection

from tasks_app import store
from tasks_app.conf import conf
from tasks_app.domain.errors import (
    ConcurrentModification,
    ControlFlow,
    LeaseLost,
    StorageUnavailable,
    TaskdeckError,
    ToolChanged,
)
from tasks_app.domain.retry import backoff_seconds
from tasks_app.engine import faults
from tasks_app.engine.call import Ended, How, call_tool
from tasks_app.engine.journal import Release
from tasks_app.engine.questions import OpenQuestion
from tasks_app.engine.registry import Tool, registry
from tasks_app.engine.results import tool_error
from tasks_app.engine.store_journal import StoreJournal
from tasks_app.engine.watch import Watch, Watched
from tasks_app.store import codec

T = TypeVar("T")
SETTLE_TRIES = 5
SETTLE_PAUSE_SECONDS = 0.2
PASSING = (StorageUnavailable, ConcurrentModification)

logger = logging.getLogger(__name__)


def run_attempt(claim: store.Claim, watch: Watch) -> store.Ending | None:
    """Run the tool of this attempt and give its ending, ready to be recorded; None when there is nothing to record."""
    told = (claim.number, claim.task_id, claim.tool, claim.request_id or "none")
    logger.info("attempt %s of task %s begins: tool %s, request %s", *told)
    tool = registry.get(claim.tool)
    if tool is None:
        logger.warning("attempt %s of task %s ends: tool %s is not known here, request %s", *told)
        return _again(claim, f"This worker does not know the tool {claim.tool!r}.", detail=None, delay=None)
    watched = watch.begin(claim, tool)
    try:
        ended = _call(tool, watched)
    finally:
        watch.end()
    faults.hit("after_tool")
    logger.info("attempt %s of task %s ends: tool %s, request %s, %s", *told, ended.how.value)
    return _ending(claim, ended)


def _call(tool: Tool, watched: Watched) -> Ended:
    journal = StoreJournal(watched)
    claim = watched.claim
    try:
        if claim.number > 1:
            tool.check_version(claim.tool_version)
        return call_tool(tool, codec.decode(claim.arguments), journal, limits=conf().limits)
    except ToolChanged as changed:
        return Ended(how=How.TOOL_ERROR, payload=tool_error(str(changed)))
    except ControlFlow as signal:  # before the tool had begun
        return Ended(how=How.RELEASED if isinstance(signal, Release) else How.STOPPED)


def _ending(claim: store.Claim, ended: Ended) -> store.Ending | None:
    payload: Mapping[str, Any] = ended.payload or {}
    detail = ended.traceback or None
    ending: store.Ending | None = None
    match ended.how:
        case How.RESULT:
            ending = store.completion(claim, result=payload)
        case How.TOOL_ERROR:
            ending = store.completion(claim, result=payload, is_error=True, detail=detail)
        case How.RPC_ERROR:
            ending = store.failure(claim, error=payload, detail=detail)
        case How.SUSPENDED:
            ending = store.suspension(claim, [_question(asked) for asked in ended.questions])
        case How.RETRY:
            ending = _again(claim, payload, detail=detail, delay=ended.delay)
        case How.RELEASED:
            ending = store.releasing(claim)
        case How.CANCELLED:
            _insist(claim, partial(_give_up, claim))
        case How.STOPPED:
            _insist(claim, partial(store.stopped, claim))
        case How.DEFERRED:
            pass
    return ending and replace(ending, failed_step=ended.step)


def _give_up(claim: store.Claim) -> None:
    with suppress(LeaseLost):
        store.give_up(claim)
    # Once more: what went wrong may have come between the end of the task and that of the attempt.
    store.stopped(claim)


def _again(
    claim: store.Claim, error: Mapping[str, Any] | str, *, detail: str | None, delay: float | None
) -> store.Ending:
    """Another try, or, when none is left, the tool error with its last text."""
    if claim.retries < claim.max_retries:
        pause = backoff_seconds(claim.retries + 1) if delay is None else delay
        return store.retrying(claim, delay=pause, detail=detail)
    result = tool_error(error) if isinstance(error, str) else error
    return store.completion(claim, result=result, is_error=True, detail=detail)


def _question(asked: OpenQuestion) -> store.NewQuestion:
    return store.NewQuestion(
        name=asked.name,
        request=asked.request,
        kind=asked.kind,
        position=asked.position,
        seconds=asked.deadline,
        default=None if asked.default is None else asked.default.as_json(),
    )


def settle(ending: store.Ending, claimant: store.Claimant | None) -> store.Claim | None:
    """Record how an attempt ended and, given a claimant, take the next one. A short outage is waited for."""
    return _insist(ending.held, partial(_settle_even_refused, ending, claimant))


def _insist(claim: store.Claim, record: Callable[[], T]) -> T | None:
    """Record an end of this attempt, through a short outage too; one that stays unsaid is the loss of a worker."""
    for tries in range(SETTLE_TRIES):
        try:
            return record()
        except PASSING as passing:
            logger.warning("the end of task %s is not recorded yet: %s", claim.task_id, passing)
            connection.close()
            time.sleep(SETTLE_PAUSE_SECONDS * 2**tries)
        except (DatabaseError, TaskdeckError):
            logger.exception("the end of task %s was refused", claim.task_id)
            break
    logger.error("the end of task %s is lost: its lease will run out", claim.task_id)
    return None


def _settle_even_refused(ending: store.Ending, claimant: store.Claimant | None) -> store.Claim | None:
    try:
        return _settle(ending, claimant)
    except PASSING:
        raise
    except (DatabaseError, TaskdeckError) as refusal:
        # What the tool returned or asked cannot be stored. Alone, so that nothing else fails with it.
        logger.exception("the end of task %s was refused", ending.held.task_id)
        said = str(refusal) if isinstance(refusal, TaskdeckError) else "The result could not be stored."
        return _settle(store.completion(ending.held, result=tool_error(said), is_error=True), None)


def _settle(ending: store.Ending, claimant: store.Claimant | None) -> store.Claim | None:
    if claimant is not None:
        turn = store.turn(ending, claimant)
        if turn.settled is None:
            logger.info("task %s is no longer held by this attempt: nothing recorded", ending.held.task_id)
        return turn.following
    try:
        store.record(ending)
    except LeaseLost:
        logger.info("task %s is no longer held by this attempt: nothing recorded", ending.held.task_id)
    return None
