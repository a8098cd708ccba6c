"""Running a tool once, with a journal, and saying how that run ended.

Nothing that a tool does wrong is raised: it is an ending like any other. Storing the ending, leases, time-outs and the
decision to try again belong to whoever calls.
"""

from __future__ import annotations

import asyncio
import traceback as tracebacks
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from tasks_app.domain.errors import ControlFlow, Retryable, RpcError, Suspend, ToolError
from tasks_app.domain.limits import Limits
from tasks_app.domain.outcome import Outcome
from tasks_app.domain.retry import should_retry
from tasks_app.engine.async_context import AsyncContext, Offload
from tasks_app.engine.context import Context, open_questions
from tasks_app.engine.journal import Journal, Release
from tasks_app.engine.leg import Decision, IllegalOrder, Leg, Verb
from tasks_app.engine.questions import OpenQuestion
from tasks_app.engine.registry import Tool
from tasks_app.engine.results import DEFAULT_LIMITS, Result, is_error, rpc_error, tool_error, tool_result

TRACEBACK_CHARACTERS = 50_000


class How(StrEnum):
    """The ways in which a run ends."""

    RESULT = "result"
    """The tool returned."""

    TOOL_ERROR = "tool_error"
    """The tool failed, or was called wrongly."""

    RPC_ERROR = "rpc_error"
    """The tool raised a protocol error."""

    CANCELLED = "cancelled"
    """The tool cancelled its own task."""

    SUSPENDED = "suspended"
    """The tool asked; it runs again once there are answers."""

    RETRY = "retry"
    """The tool should be tried again; `payload` is the tool error to record when no try is left."""

    DEFERRED = "deferred"
    """The tool handed its task over."""

    RELEASED = "released"
    """The worker is shutting down; the task goes back."""

    STOPPED = "stopped"
    """The task was cancelled or lost; there is nothing to record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one run of a tool ended."""

    how: How
    payload: Result | None = None
    """The result, the tool error, or the protocol error."""
    questions: tuple[OpenQuestion, ...] = ()
    delay: float | None = None
    """The pause in seconds that the tool wants before the next try; None leaves it to the usual back-off."""
    until: timedelta | None = None
    """How long the handle of a deferred task is good for."""
    step: str | None = None
    """The step that failed, if the run failed inside one."""
    traceback: str = ""
    """For operators only: it never leaves the server."""
    value: object = None
    """What the tool returned or completed with, as it was."""

    @property
    def outcome(self) -> Outcome | None:
        """The outcome that the task gets, or None when it goes on."""
        return _OUTCOMES.get(self.how)


_OUTCOMES = {
    How.RESULT: Outcome.RESULT,
    How.TOOL_ERROR: Outcome.TOOL_ERROR,
    How.RPC_ERROR: Outcome.RPC_ERROR,
    How.CANCELLED: Outcome.CANCELLED,
}


def call_tool(
    tool: Tool, arguments: Mapping[str, object], journal: Journal, *, limits: Limits = DEFAULT_LIMITS
) -> Ended:
    """Run a tool once, an async one in an event loop of its own, and say how that ended."""
    if tool.is_async:
        return _in_own_loop(tool, arguments, journal, limits=limits)
    leg = Leg(journal)
    try:
        value = tool.function(**_arguments(tool, arguments, Context(leg)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _raised(error, tool, leg)
    return _returned(value, tool, leg, limits=limits)


async def call_tool_async(
    tool: Tool,
    arguments: Mapping[str, object],
    journal: Journal,
    *,
    limits: Limits = DEFAULT_LIMITS,
    offload: Offload = asyncio.to_thread,
) -> Ended:
    """Run a tool once in this event loop, a sync one through `offload`; cancelling this cancels the tool."""
    if not tool.is_async:
        return await offload(partial(call_tool, tool, arguments, journal, limits=limits))
    leg = await offload(partial(Leg, journal))
    try:
        value = await tool.function(**_arguments(tool, arguments, AsyncContext(leg, offload=offload)))
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return _raised(error, tool, leg)
    return _returned(value, tool, leg, limits=limits)


def outcome_of(error: BaseException, tool: Tool) -> Ended:
    """Say what an error that left a tool means: a protocol error, another try, or a tool error with its text."""
    said = str(error) or type(error).__name__
    trace = "".join(tracebacks.format_exception(error))[-TRACEBACK_CHARACTERS:]
    if isinstance(error, RpcError):
        return Ended(how=How.RPC_ERROR, payload=rpc_error(error), traceback=trace)
    if should_retry(error, tool.retry_on):
        delay = error.delay if isinstance(error, Retryable) else None
        return Ended(how=How.RETRY, payload=tool_error(said), delay=delay, traceback=trace)
    return Ended(how=How.TOOL_ERROR, payload=tool_error(said), traceback=trace)


def _arguments(tool: Tool, arguments: Mapping[str, object], context: Context) -> dict[str, Any]:
    given = tool.validate(arguments)
    if tool.signature.context_name is not None:
        given[tool.signature.context_name] = context
    return given


def _raised(error: BaseException, tool: Tool, leg: Leg) -> Ended:
    """The signal counts, not what became of it on its way through the tool."""
    signal = leg.ending or (error if isinstance(error, ControlFlow) else None)
    if signal is not None:
        return _signalled(signal)
    if isinstance(error, SystemExit):
        # A worker that is told to go raises it inside the tool: that is no fault of the tool's.
        if leg.journal.stop_signal() is not None:
            return Ended(how=How.RELEASED)
        error = ToolError(f"The tool tried to end its process with sys.exit({error.code!r}).").with_traceback(
            error.__traceback__
        )
    return replace(outcome_of(leg.replay.diverged or error, tool), step=leg.unfinished_step)


def _returned(value: object, tool: Tool, leg: Leg, *, limits: Limits) -> Ended:
    if leg.ending is not None:
        return _signalled(leg.ending)
    try:
        if leg.replay.diverged is not None:
            raise leg.replay.diverged
        if leg.decision is not None:
            return _decided(leg.decision, value, tool, limits=limits)
        return _result(value, tool, limits=limits)
    except ToolError as error:
        return replace(outcome_of(error, tool), value=value)


def _result(value: object, tool: Tool, *, limits: Limits) -> Ended:
    payload = tool_result(value, signature=tool.signature, limits=limits)
    how = How.TOOL_ERROR if is_error(payload) else How.RESULT
    return Ended(how=how, payload=payload, value=value)


def _decided(decision: Decision, value: object, tool: Tool, *, limits: Limits) -> Ended:
    if value is not None:
        raise IllegalOrder(f"The tool returned a value after ctx.{decision.verb}(). Return nothing after it.")
    match decision.verb:
        case Verb.COMPLETE:
            return _result(decision.value, tool, limits=limits)
        case Verb.FAIL:
            return Ended(how=How.TOOL_ERROR, payload=tool_error(str(decision.value)))
        case Verb.CANCEL:
            return Ended(how=How.CANCELLED)
        case Verb.DEFER:
            assert isinstance(decision.value, timedelta)
            return Ended(how=How.DEFERRED, until=decision.value)


def _signalled(signal: ControlFlow) -> Ended:
    if isinstance(signal, Suspend):
        return Ended(how=How.SUSPENDED, questions=open_questions(signal))
    return Ended(how=How.RELEASED if isinstance(signal, Release) else How.STOPPED)


def _in_own_loop(tool: Tool, arguments: Mapping[str, object], journal: Journal, *, limits: Limits) -> Ended:
    def run() -> Ended:
        try:
            return asyncio.run(call_tool_async(tool, arguments, journal, limits=limits))
        except asyncio.CancelledError:
            return outcome_of(ToolError("The tool cancelled itself."), tool)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    # Someone's event loop runs in this thread already, as in an async test.
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(run).result()
