"""What a dialect is given and what it gives back: the seam between the endpoint and `legacy` or `modern`.

A dialect is one `Methods` table named `METHODS`. It registers each method with the scopes that it needs:

    METHODS = Methods(Dialect.MODERN)

    @METHODS.method("tasks/get", scopes={Scope.READ}, needs_tasks=True, names_task=True)
    async def get_task(call: Call) -> Result: ...

A handler returns the `result` object as a dict; or `ResultText` when its JSON text is at hand already; or `Headed` to
add headers to the reply; or `Streaming`, whose events are JSON-RPC notifications (and, in the legacy dialect, requests)
followed by one `Final`. It raises a domain error, a `Fault`, or `Refused`. Reading and writing goes through
`tasks_app.mcp.pool`: `await pool.run(plan)` for a plan of the store, `await pool.in_thread(function, …)` for any other
function of it.

Before a handler is called, the endpoint has made sure: the credential is valid and holds the method's scopes; the
request is well-formed (`params` and `_meta` are objects, `id` is a string or an integer); a modern request passed the
whole ladder up to the capability check; a legacy request that names a session belongs to its owner.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tasks_app.domain.identity import Actor, ActorKind, Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp.errors import invalid_params, method_not_found
from tasks_app.mcp.exchange import Request
from tasks_app.store.identity import Caller
from tasks_app.store.queries import Poll
from tasks_app.store.sessions import SessionView

Id: TypeAlias = str | int
Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One JSON-RPC message of a known caller. For a notification `id` is None."""

    caller: Caller
    request: Request
    dialect: Dialect
    version: str
    """The protocol revision in force: the header's, or the one that the session agreed on."""
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    """`params._meta`, or nothing."""
    id: Id | None = None
    client: str = ""
    """`name/version` of the client, for people to read; never decides anything."""
    client_capabilities: dict[str, Any] = field(default_factory=dict)
    """What the client can do: of this request (modern), or told at the handshake (legacy)."""
    declares_tasks: bool = False
    """Whether this request declares the modern tasks extension; always False in the legacy dialect."""
    session: SessionView | None = None
    """The legacy session that the request named, of this caller's owner."""
    progress_token: Id | None = None
    log_level: str | None = None
    """From which level on log notifications are wanted: of this request (modern) or of the session (legacy)."""
    idempotency_key: str | None = None
    poll: Poll | None = None
    """For a method that `names_task`: what the statement that authenticated the caller read. None when the caller was
    known by other means, or `taskId` is no id: then read it (`polls.polled` does the right one of both)."""

    def actor(self, *, reason: str | None = None) -> Actor:
        """Who acts, for the store: this client, with its credential and the id of the request."""
        return Actor(
            ActorKind.CLIENT,
            id=self.caller.owner_id,
            credential=self.caller.credential_id,
            via="mcp",
            reason=reason,
            request=self.request.request_id or None,
        )


@dataclass(frozen=True, slots=True)
class ResultText:
    """A result whose JSON object is written already; it goes to the wire as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Headed:
    """A result with headers of its own on the reply, such as the id of a new session."""

    result: dict[str, Any] | ResultText
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Event:
    """One frame of a stream with an event id of its own; without a message it only primes the client (legacy).

    One that holds nothing at all is a comment: it opens the stream, and the client sees no event.
    """

    message: Message | None = None
    id: str | None = None
    retry_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Final:
    """The end of a stream: the result of the request; a stream that only listens (GET) has none."""

    result: dict[str, Any] | ResultText
    event_id: str | None = None


StreamItem: TypeAlias = Message | Event | Final


@dataclass(frozen=True, slots=True)
class Streaming:
    """A result that comes with messages before it.

    The answer becomes a stream with the first event that is not `Final`, or when the first one keeps the client waiting
    for the time of a keep-alive. So an error or a result that comes at once is plain JSON with its proper HTTP status.
    With `at_once` the stream opens before anything is read from `events`.
    When the client goes away, or `request.stopping` is set and the events do not end by themselves within two seconds,
    `events` is closed: an await in it raises CancelledError, a yield GeneratorExit.
    """

    events: AsyncIterator[StreamItem]
    at_once: bool = False


Result: TypeAlias = dict[str, Any] | ResultText | Headed | Streaming
Handler: TypeAlias = Callable[[Call], Awaitable[Result]]
Listener: TypeAlias = Callable[[Call], Awaitable[Streaming]]
Receiver: TypeAlias = Callable[[Call], Awaitable[None]]
ResponseReceiver: TypeAlias = Callable[[Call, Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of one dialect and what it needs."""

    name: str
    handler: Handler
    scopes: frozenset[Scope] = frozenset()
    """All of them; the same for everyone who calls the method. `auth.require` asks for more inside a handler."""
    needs_tasks: bool = False
    """Modern only: the tasks extension must be declared, checked before the parameters."""
    names_task: bool = False
    """`params.taskId` names a task: it is read by the statement that authenticates (`Call.poll`)."""
    needs_session: bool = True
    """Legacy only: without a session header the request is refused with HTTP 400."""
    is_poll: bool = False
    """The task is read again and again (`polls.polled`): one that is polled too often is not even read."""


class Methods:
    """What one dialect can do; the endpoint looks everything up here."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.receive_response: ResponseReceiver | None = None
        """Legacy: takes the answer to a request of ours (`result` or `error`); the reply is 202 unless it raises."""
        self.listen: Listener | None = None
        """Legacy: the stream of a GET; `call.params["lastEventId"]` is what the client resumes after, or None."""
        self._methods: dict[str, Method] = {}
        self._receivers: dict[str, Receiver] = {}

    def register(self, method: Method) -> None:
        """Offer a method; a second one of the same name is a mistake of ours."""
        if method.name in self._methods:
            raise ValueError(f"{method.name!r} is registered twice")
        self._methods[method.name] = method

    def method(
        self,
        name: str,
        *,
        scopes: Collection[Scope] = (),
        needs_tasks: bool = False,
        names_task: bool = False,
        needs_session: bool = True,
        is_poll: bool = False,
    ) -> Callable[[Handler], Handler]:
        """The same as a decorator."""

        def decorate(handler: Handler) -> Handler:
            self.register(Method(name, handler, frozenset(scopes), needs_tasks, names_task, needs_session, is_poll))
            return handler

        return decorate

    def notification(self, name: str) -> Callable[[Receiver], Receiver]:
        """Decorate what takes a notification of the client; one that nobody takes is accepted and dropped."""

        def decorate(receiver: Receiver) -> Receiver:
            self._receivers[name] = receiver
            return receiver

        return decorate

    def get(self, name: str) -> Method | None:
        """The method of this name, if there is one."""
        return self._methods.get(name)

    def find(self, name: str) -> Method:
        """The method of this name. Raises the fault for an unknown one."""
        found = self._methods.get(name)
        if found is None:
            raise method_not_found()
        return found

    def receiver(self, name: str) -> Receiver | None:
        """Who takes this notification."""
        return self._receivers.get(name)

    @property
    def names(self) -> frozenset[str]:
        """Every method that is served: what a dialect says of itself is derived from here."""
        return frozenset(self._methods)


def text_param(params: Mapping[str, Any], name: str) -> str:
    """A required parameter that must be text. Raises the fault that names it."""
    value = params.get(name)
    if not isinstance(value, str):
        raise invalid_params(f"`{name}` must be a string")
    return value
