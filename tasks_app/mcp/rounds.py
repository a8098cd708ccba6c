"""Multi-round trips of 2026-07-28: a call that needs answers ends with its questions, and comes again with the answers.

What is known so far travels with the client as `requestState`: signed, bound to the owner and to the very call, and
good for ten minutes. For a tool on a worker it names the task; for what runs in this process it holds the answers so
far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core import signing

from tasks_app.conf import conf
from tasks_app.domain.answers import validate_answer
from tasks_app.domain.identity import Scope
from tasks_app.domain.limits import check_answer, check_update
from tasks_app.domain.questions import AnswerAction, QuestionState, Via
from tasks_app.domain.text import request_digest
from tasks_app.engine import hints
from tasks_app.engine.journal import Entry, EntryKind
from tasks_app.engine.questions import OpenQuestion
from tasks_app.engine.store_journal import answerable
from tasks_app.mcp import auth, pool, wire
from tasks_app.mcp.call import Call
from tasks_app.mcp.errors import Fault, invalid_params, missing_capability
from tasks_app.store.announce import announce_now
from tasks_app.store.questions import Answer, Answered, answer_plan

_SALT = "taskdeck.round"


@dataclass(frozen=True, slots=True)
class State:
    """Where a call stands after its earlier rounds."""

    count: int = 0
    """How many answers were given so far."""
    task_id: UUID | None = None
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a call: which call it is, where it stood, and the answers that came with it, by question."""

    call: Call
    name: str
    digest: str
    state: State
    given: dict[str, Any]


def read_round(call: Call, name: str, arguments: Mapping[str, Any]) -> Round:
    """Read what a call brings from earlier rounds. Raises faults, the store's limits, and Refused without the scope."""
    given = call.params.get("inputResponses", {})
    if not isinstance(given, dict):
        raise invalid_params("`inputResponses` must be an object")
    if given:
        auth.require(call.caller, {Scope.ANSWER})
        check_update(given, limits=conf().limits)
    digest = request_digest(name, arguments).hex()
    return Round(call, name, digest, _read_state(call, name, digest), dict(given))


def ask(this: Round, questions: Mapping[str, wire.Asked], *, state: State) -> dict[str, Any]:
    """The result that asks, by the tool's own names. Raises the fault when the client cannot be asked one of them."""
    missing = undeclared(this.call, questions.values())
    if missing is not None:
        raise missing
    return {
        "resultType": "input_required",
        "inputRequests": {name: wire.input_request(asked) for name, asked in questions.items()},
        "requestState": _sign(this, state),
        "_meta": {wire.SERVER_INFO: wire.server_info()},
    }


def undeclared(call: Call, questions: Iterable[wire.Asked]) -> Fault | None:
    """The fault that names what a client must declare to be asked all of these; None when it declares it."""
    can = answerable(call.client_capabilities)
    required: dict[str, dict[str, Any]] = {}
    for kind in sorted({asked.kind for asked in questions} - can):
        for name, modes in wire.required_capability(kind).items():
            required.setdefault(name, {}).update(modes)
    return missing_capability(required) if required else None


def entries_for(this: Round, questions: Iterable[OpenQuestion]) -> list[Entry]:
    """The given answers to these questions, ready for a replay. Raises InvalidAnswer, or a limit."""
    return [_entry(asked, this.given[asked.name]) for asked in questions if asked.name in this.given]


async def answer(call: Call, task_id: UUID, answers: Mapping[str, Answer]) -> Answered:
    """Record what the caller answers to a task of theirs. Raises NotFound, InvalidAnswer or a limit."""
    plan = answer_plan(task_id, answers, owner_id=call.caller.owner_id, by=call.actor(), via=Via.MCP)
    done = await pool.run(plan)
    if done.recorded:
        announce_now(done.task, questions=True)
    if done.task.wake_at is not None:
        hints.send()
    return done


def after(state: State, entries: Iterable[Entry]) -> State:
    """Where the call stands once these answers are known, too."""
    known = (*state.entries, *entries)
    return replace(state, entries=known, count=len(known))


def _entry(asked: OpenQuestion, value: object) -> Entry:
    given = wire.answer_of(asked.kind, value)
    check_answer(given.content, limits=conf().limits)
    content = validate_answer(asked.request, given.action, given.content, unknown="drop")
    return Entry(
        position=asked.position,
        name=asked.name,
        kind=EntryKind.QUESTION,
        value=content,
        state=QuestionState.ANSWERED,
        action=given.action,
        message=asked.message,
    )


def _sign(this: Round, state: State) -> str:
    said = {
        **_identity(this.call, this.name, this.digest),
        "count": state.count,
        "task": None if state.task_id is None else str(state.task_id),
        "answers": [[entry.position, entry.name, entry.action, entry.value, entry.message] for entry in state.entries],
    }
    return signing.dumps(said, salt=_SALT, compress=True)


def _read_state(call: Call, name: str, digest: str) -> State:
    text = call.params.get("requestState")
    if text is None:
        return State()
    age = timedelta(seconds=conf().round_trip)
    try:
        said = signing.loads(text, salt=_SALT, max_age=age) if isinstance(text, str) else {}
    except (signing.BadSignature, ValueError):
        said = {}
    expected = _identity(call, name, digest)
    if {key: said.get(key) for key in expected} != expected:
        raise invalid_params("`requestState` is not the one of this call, or is too old: call again without it")
    return State(
        count=said["count"],
        task_id=said["task"] and UUID(said["task"]),
        entries=tuple(_restored(*parts) for parts in said["answers"]),
    )


def _identity(call: Call, name: str, digest: str) -> dict[str, Any]:
    return {"owner": call.caller.owner_id, "method": call.method, "name": name, "digest": digest}


def _restored(position: int, name: str, action: str, value: Any, message: str) -> Entry:
    return Entry(
        position=position,
        name=name,
        kind=EntryKind.QUESTION,
        value=value,
        state=QuestionState.ANSWERED,
        action=AnswerAction(action),
        message=message,
    )
