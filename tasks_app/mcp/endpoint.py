"""The ASGI application on `/mcp`: lets a request in or refuses it, answers it, and writes one line about it.

Nothing that a client sends can make it fail: what is raised anywhere below becomes an answer here.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tasks_app.conf import conf
from tasks_app.counters import OTHER, count_request
from tasks_app.domain.errors import NotFound
from tasks_app.domain.identity import Actor, ActorKind, token_digest
from tasks_app.mcp import auth, background, dispatch, hosts, http, legacy, modern, pool
from tasks_app.mcp.dispatch import Trace
from tasks_app.mcp.errors import OK, Fault, Refused, fault_of, http_status
from tasks_app.mcp.exchange import Answer, Reply, Request, Stream
from tasks_app.mcp.jsonrpc import encode_error
from tasks_app.mcp.stopping import heeding_signals
from tasks_app.mcp.throttle import throttle
from tasks_app.store.refusals import ledger

PATHS = frozenset({"/mcp", "/mcp/"})
METADATA_PATHS = frozenset({auth.METADATA_PATH, f"{auth.METADATA_PATH}/mcp"})
METHODS = ("GET", "POST", "DELETE")
METADATA_METHODS = ("GET",)
CLIENT_GONE = 499
METHOD_CHARACTERS = 60

access = logging.getLogger("tasks_app.mcp.access")


@asynccontextmanager
async def running() -> AsyncIterator[None]:
    """What the endpoint needs while it serves: the database, and word of the stop signal."""
    async with pool.opened(), heeding_signals():
        try:
            yield
        finally:
            await background.finish()
            await pool.in_thread(ledger.flush)


def serves(path: str) -> bool:
    """Say whether a path is the endpoint's: its own, and what is told about its tokens when an issuer is configured."""
    return path in PATHS or (path in METADATA_PATHS and auth.metadata() is not None)


async def endpoint(scope: http.Scope, receive: http.Receive, send: http.Send) -> None:
    """Answer one HTTP request."""
    started = time.perf_counter()
    request = http.request_of(scope)
    trace = Trace()
    status, code = CLIENT_GONE, ""
    watch: http.Watch | None = None
    try:
        token = _let_in(request, server=_server_of(scope))
        if request.http_method == "POST":
            http.check_content(request.headers)
            request.body = await http.read_body(request.headers, receive, limit=conf().request_body_bytes)
        watch = http.Watch(request, receive)
        answer, code = await _answer(request, token=token, trace=trace)
        status = answer.status
        await _send(answer, send=send, request=request)
    except Refused as refused:
        status, code = refused.status, refused.error
        if status in (auth.UNAUTHORIZED, auth.FORBIDDEN):
            _note(request, trace, why=code)
        await http.send_reply(_refusal(refused), send=send, request=request)
    except http.Gone:
        pass
    finally:
        if watch is not None:
            watch.stop()
        _log(request, trace, status=status, code=code, seconds=time.perf_counter() - started)


def _server_of(scope: http.Scope) -> str:
    server = scope.get("server")
    return str(server[0]) if server else ""


def _let_in(request: Request, *, server: str) -> str | None:
    """The token of a request that may be read; None for an anonymous one. Raises Refused."""
    hosts.check_host(request.headers, server=server)
    hosts.check_origin(request.headers)
    throttle().address(request.address)
    allowed = METADATA_METHODS if request.path in METADATA_PATHS else METHODS
    if request.http_method not in allowed:
        raise dispatch.not_allowed(", ".join(allowed))
    if request.path in METADATA_PATHS:
        return None
    token = auth.presented(request.headers)
    if token is not None:
        request.credential = token_digest(token)
    throttle().credential(request.credential or request.address)
    return token


async def _answer(request: Request, *, token: str | None, trace: Trace) -> tuple[Answer, str]:
    """The answer, and the code of the error in it for the log. Raises Refused and Gone."""
    try:
        if request.path in METADATA_PATHS:
            return _metadata(), ""
        if request.http_method == "POST":
            return await dispatch.post(request, token=token, trace=trace), ""
        if request.http_method == "GET":
            return await dispatch.get(request, token=token, trace=trace), ""
        return await dispatch.delete(request, token=token, trace=trace), ""
    except (Refused, http.Gone):
        raise
    except Exception as error:
        if isinstance(error, NotFound):
            _note(request, trace, why=error.reason)
        fault = fault_of(error)
        return _failure(fault, trace), str(fault.code)


def _note(request: Request, trace: Trace, *, why: str) -> None:
    """Put a refusal on record, some time within the next minute."""
    by = Actor(ActorKind.CLIENT, id=trace.owner_id, credential=trace.credential_id, via="mcp")
    action = _shown(trace.method or request.http_method)
    ledger.note(action, by=by, owner_id=trace.owner_id, address=request.address, why=why, task=trace.task)


def _failure(fault: Fault, trace: Trace) -> Reply:
    # A message whose envelope is wrong knows its id better than the trace, which never got to see it.
    id_ = getattr(fault, "id", None) if trace.id is None else trace.id
    return Reply(http_status(fault, trace.dialect), encode_error(id_, fault))


def _metadata() -> Reply:
    return Reply(OK, json.dumps(auth.metadata()).encode("ascii"))


def _refusal(refused: Refused) -> Reply:
    body = json.dumps({"error": refused.error, "error_description": refused.text})
    return Reply(refused.status, body.encode("ascii"), refused.headers)


async def _send(answer: Answer, *, send: http.Send, request: Request) -> None:
    if isinstance(answer, Stream):
        await http.send_stream(answer, send=send, request=request)
    else:
        await http.send_reply(answer, send=send, request=request)


def _log(request: Request, trace: Trace, *, status: int, code: str, seconds: float) -> None:
    count_request(_counted(trace.method, request), code=code, status=status)
    access.info(
        "request=%s owner=%s method=%s code=%s status=%d ms=%.1f",
        request.request_id,
        trace.owner_id or "-",
        _shown(trace.method),
        code or "-",
        status,
        seconds * 1000,
    )


def _counted(method: str, request: Request) -> str:
    """A method as it may become a label: one that we know, or none of them."""
    is_known = legacy.METHODS.get(method) is not None or modern.METHODS.get(method) is not None
    return method if is_known else OTHER if method else request.http_method


def _shown(method: str) -> str:
    """A method as it may stand in a line of the log: it comes from the client, so it may hold anything."""
    if method.isascii() and method.isprintable() and " " not in method and len(method) <= METHOD_CHARACTERS:
        return method or "-"
    return ascii(method[:METHOD_CHARACTERS]).replace(" ", "_")
