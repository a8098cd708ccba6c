"""From one authenticated-to-be POST, GET or DELETE to the handler of the right dialect.

A credential is verified late, by the statement that reads the task where there is one. Nothing is told before that:
whatever is wrong with a message, a caller whom nobody knows only hears 401.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import auth, lanes, legacy, modern, polls, pool
from tasks_app.mcp.call import Call, Method
from tasks_app.mcp.errors import BAD_REQUEST, INVALID_REQUEST, NOT_FOUND, Fault, Refused, invalid_params
from tasks_app.mcp.exchange import EVENT_STREAM, Answer, Reply, Request
from tasks_app.mcp.http import NOT_ACCEPTABLE, accepts
from tasks_app.mcp.jsonrpc import Kind, Message, parse
from tasks_app.mcp.negotiation import (
    ASSUMED_VERSION,
    SESSION_ID,
    Envelope,
    Era,
    check_client,
    client_name,
    climb,
    era_of,
    idempotency_key,
    is_modern_header,
    meta_of,
    progress_token,
)
from tasks_app.mcp.streams import answer_of
from tasks_app.store import sessions
from tasks_app.store.identity import Caller
from tasks_app.store.queries import Poll
from tasks_app.store.sessions import SessionView

ACCEPTED = 202
NO_CONTENT = 204
METHOD_NOT_ALLOWED = 405


@dataclass(slots=True)
class Trace:
    """What the log will say about a request, filled in as it becomes known."""

    owner_id: int | None = None
    credential_id: int | None = None
    task: str = ""
    method: str = ""
    id: str | int | None = None
    dialect: Dialect = Dialect.LEGACY


async def post(request: Request, *, token: str | None, trace: Trace) -> Answer:
    """Answer the message in a body. Raises Fault, Refused and whatever a handler raises."""
    try:
        message = parse(request.body)
        trace.id, trace.method = message.id, message.method
        era = era_of(message, request.headers)
        trace.dialect = era.dialect
        envelope = _climbed(message, request) if era.dialect is Dialect.MODERN else None
    except Fault:
        await _known(token, trace)
        raise
    if message.kind is not Kind.REQUEST:
        return await _receive(message, request, token=token, trace=trace, era=era)
    if envelope is not None:
        return await _modern(message, request, envelope, token=token, trace=trace)
    return await _legacy(message, request, token=token, trace=trace, era=era)


def _climbed(message: Message, request: Request) -> Envelope | None:
    return climb(message, request.headers, modern.METHODS) if message.kind is Kind.REQUEST else None


async def _known(token: str | None, trace: Trace) -> Caller:
    caller = await auth.identify(token)
    trace.owner_id, trace.credential_id = caller.owner_id, caller.credential_id
    return caller


async def _known_with_task(
    token: str | None, message: Message, request: Request, method: Method | None, trace: Trace
) -> tuple[Caller, Poll | None]:
    """Who calls, and the task that the message names, by one statement where that can be."""
    named = message.params.get("taskId")
    try:
        task_id = polls.to_task_id(named) if isinstance(named, str) else None
    except NotFound:
        task_id = None
    trace.task = "" if task_id is None else str(task_id)
    if task_id is None or method is None or not method.names_task:
        return await _known(token, trace), None
    if method.is_poll:
        polls.check_pace(request, task_id)
    caller, poll = await auth.identify_with_task(token, task_id)
    trace.owner_id, trace.credential_id = caller.owner_id, caller.credential_id
    return caller, poll


async def _modern(message: Message, request: Request, envelope: Envelope, *, token: str | None, trace: Trace) -> Answer:
    method = envelope.method
    caller, poll = await _known_with_task(token, message, request, method, trace)
    auth.require(caller, method.scopes)
    meta = meta_of(message.params)
    check_client(meta, body_bytes=len(request.body))
    call = Call(
        caller=caller,
        request=request,
        dialect=Dialect.MODERN,
        version=envelope.version,
        method=message.method,
        params=message.params,
        meta=meta,
        id=message.id,
        client=envelope.client,
        client_capabilities=envelope.capabilities,
        declares_tasks=envelope.declares_tasks,
        progress_token=progress_token(meta),
        log_level=envelope.log_level,
        idempotency_key=idempotency_key(request.headers, meta),
        poll=poll,
    )
    return await answer_of(call, await method.handler(call))


async def _legacy(message: Message, request: Request, *, token: str | None, trace: Trace, era: Era) -> Answer:
    method = legacy.METHODS.get(message.method)
    caller, poll = await _known_with_task(token, message, request, method, trace)
    needs_session = method is None or method.needs_session
    session = await _session(request, caller) if needs_session else None
    method = legacy.METHODS.find(message.method)
    auth.require(caller, method.scopes)
    call = _legacy_call(message, request, caller, session=session, era=era, poll=poll)
    return await answer_of(call, await method.handler(call))


def _legacy_call(
    message: Message,
    request: Request,
    caller: Caller,
    *,
    session: SessionView | None,
    era: Era,
    poll: Poll | None = None,
) -> Call:
    meta = message.params.get("_meta", {})
    if not isinstance(meta, dict):
        raise invalid_params("`params._meta` must be an object")
    return Call(
        caller=caller,
        request=request,
        dialect=Dialect.LEGACY,
        version=session.version if session else era.version or ASSUMED_VERSION,
        method=message.method,
        params=message.params,
        meta=meta,
        id=message.id,
        client=client_name(session.client) if session else "",
        client_capabilities=session.capabilities if session else {},
        session=session,
        progress_token=progress_token(meta),
        log_level=session.log_level if session else None,
        idempotency_key=idempotency_key(request.headers, meta),
        poll=poll,
    )


async def _session(request: Request, caller: Caller) -> SessionView:
    """The session that a request names. Raises the fault: 400 without one, 404 for one that is not the caller's."""
    named = request.headers.all(SESSION_ID)
    if len(named) != 1:
        raise Fault(INVALID_REQUEST, "Send the Mcp-Session-Id that initialize gave you", http_status=BAD_REQUEST)
    found = await lanes.find_session(named[0], owner_id=caller.owner_id)
    if found is None:
        raise _no_session()
    return found


def _no_session() -> Fault:
    return Fault(INVALID_REQUEST, "Session not found. Start a new one with initialize", http_status=NOT_FOUND)


async def _receive(message: Message, request: Request, *, token: str | None, trace: Trace, era: Era) -> Answer:
    """Take a notification, or the answer to a request of ours."""
    caller = await _known(token, trace)
    if era.dialect is Dialect.MODERN:
        return Reply(ACCEPTED)
    session = await _session(request, caller)
    call = _legacy_call(message, request, caller, session=session, era=era)
    if message.kind is Kind.RESPONSE:
        auth.require(caller, {Scope.ANSWER})
        if legacy.METHODS.receive_response is not None:
            await legacy.METHODS.receive_response(call, message.body)
    elif (receiver := legacy.METHODS.receiver(message.method)) is not None:
        await receiver(call)
    return Reply(ACCEPTED)


async def get(request: Request, *, token: str | None, trace: Trace) -> Answer:
    """Open the stream of a legacy session. Raises Refused (405) for a client that has none."""
    caller = await _known(token, trace)
    trace.method = "GET"
    listen = legacy.METHODS.listen
    if listen is None or is_modern_header(request.headers) or SESSION_ID not in request.headers:
        raise not_allowed("POST" if listen is None or is_modern_header(request.headers) else "POST, DELETE")
    if not accepts(request.headers, EVENT_STREAM):
        raise Refused(NOT_ACCEPTABLE, f"Accept must list {EVENT_STREAM}.", error="not_acceptable")
    session = await _session(request, caller)
    auth.require(caller, {Scope.READ})
    params: dict[str, Any] = {"lastEventId": request.headers.get("last-event-id")}
    message = Message(Kind.NOTIFICATION, None, "", params, {})
    call = _legacy_call(message, request, caller, session=session, era=Era(Dialect.LEGACY, None))
    return await answer_of(call, await listen(call))


async def delete(request: Request, *, token: str | None, trace: Trace) -> Answer:
    """End a legacy session. Raises Refused (405) for a client that has none."""
    caller = await _known(token, trace)
    trace.method = "DELETE"
    named = request.headers.all(SESSION_ID)
    if is_modern_header(request.headers) or len(named) != 1:
        raise not_allowed("POST")
    if not await pool.run(sessions.end_session(named[0], owner_id=caller.owner_id)):
        raise _no_session()
    return Reply(NO_CONTENT)


def not_allowed(allow: str) -> Refused:
    """The refusal (405) that names the HTTP methods that would do."""
    return Refused(METHOD_NOT_ALLOWED, f"Use {allow}.", error="method_not_allowed", headers={"Allow": allow})
