"""How tasks, tools and questions look on the wire, in each dialect. Every wire name of theirs is spelled here.

Pure projection: nothing here reads the database or decides anything. Task objects are built by hand, because a lifetime
is a key that must be there. A stored result is text already and is never parsed on its way out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from tasks_app.domain.errors import InvalidAnswer
from tasks_app.domain.outcome import Dialect, Outcome, wire_status
from tasks_app.domain.polling import poll_interval_ms
from tasks_app.domain.questions import AnswerAction, Audience, QuestionKind
from tasks_app.domain.status import Status
from tasks_app.engine.plan import workflow
from tasks_app.engine.registry import Support, Tool, registry
from tasks_app.engine.results import error_text
from tasks_app.store.questions import Answer
from tasks_app.store.rows import QuestionView, Snapshot

RELATED_TASK = "io.modelcontextprotocol/related-task"
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
VARIABLES = "taskdeck/variables"
PROGRESS = "taskdeck/progress"
STEPS = "taskdeck/steps"
AWAITS_APPROVAL = "Waiting for an operator's approval"
VERSION = "0.1.0"
MESSAGES = {Outcome.CANCELLED: "The task was cancelled.", Outcome.EXPIRED: "The task expired before it ended."}
TOOL_FAILED = "The tool reported an error."
# Why a tool failed is read out of its result only where that is small, and told in a line or two.
READ_BYTES = 64 * 1024
WHY_CHARACTERS = 500

_METHODS = {
    QuestionKind.FORM: "elicitation/create",
    QuestionKind.URL: "elicitation/create",
    QuestionKind.SAMPLING: "sampling/createMessage",
    QuestionKind.ROOTS: "roots/list",
}


def moment(at: datetime) -> str:
    """A time as both dialects write it: UTC, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def for_clients(questions: Iterable[QuestionView]) -> list[QuestionView]:
    """What a client may see of what a task asks: never the operators' approval."""
    return [asked for asked in questions if asked.audience is Audience.OWNER]


def shown_status(task: Snapshot, dialect: Dialect, *, asks_client: bool) -> str:
    """The status that a client of this dialect sees: what waits only for an operator's approval is working."""
    if task.status is Status.INPUT_REQUIRED and not asks_client:
        return Status.WORKING.value
    return wire_status(task.status, task.outcome, dialect)


def legacy_task(task: Snapshot, *, asks_client: bool = True, now: datetime | None = None) -> dict[str, Any]:
    """A task of 2025-11-25."""
    return {
        "taskId": str(task.id),
        "status": shown_status(task, Dialect.LEGACY, asks_client=asks_client),
        **_legacy_message(task, asks_client=asks_client),
        "createdAt": moment(task.created_at),
        "lastUpdatedAt": moment(task.updated_at),
        "ttl": _lifetime_ms(task),
        "pollInterval": _poll_ms(task, now),
        **_extras(task),
    }


def modern_task(task: Snapshot, *, asks_client: bool = True, now: datetime | None = None) -> dict[str, Any]:
    """A task of 2026-07-28, without what its status adds."""
    return {
        "taskId": str(task.id),
        "status": shown_status(task, Dialect.MODERN, asks_client=asks_client),
        **_message(task, asks_client=asks_client),
        "createdAt": moment(task.created_at),
        "lastUpdatedAt": moment(task.updated_at),
        "ttlMs": _lifetime_ms(task),
        "pollIntervalMs": _poll_ms(task, now),
    }


def modern_detail(task: Snapshot, questions: Iterable[QuestionView], *, now: datetime | None = None) -> dict[str, Any]:
    """A task of 2026-07-28 with its outcome or with what it asks; `result` and `error` are still the stored text."""
    asked = for_clients(questions)
    shown = modern_task(task, asks_client=bool(asked), now=now)
    if shown["status"] == Status.INPUT_REQUIRED:
        shown["inputRequests"] = {question.key: input_request(question) for question in asked}
    if task.result is not None:
        shown["result"] = Spliced(_with_result_type(task.result))
    if task.error is not None:
        shown["error"] = Spliced(task.error)
    return shown


class Spliced(str):
    """JSON that is text already: the encoder puts it in as it is."""

    __slots__ = ()


# Made once: `json.dumps` would make one for every member.
_encode = json.JSONEncoder(separators=(",", ":")).encode


def dump(value: Mapping[str, Any]) -> str:
    """A message as JSON text, with every spliced member put in unparsed, at the top level or one below it."""
    return "{" + ",".join([f"{_encode(key)}:{_dump_member(member)}" for key, member in value.items()]) + "}"


def _dump_member(member: Any) -> str:
    if isinstance(member, Spliced):
        return str(member)
    if isinstance(member, dict) and any(isinstance(inner, Spliced | dict) for inner in member.values()):
        return dump(member)
    return _encode(member)


def _with_result_type(result: str) -> str:
    # Valid under both readings of the specification: the inlined result may or may not need its own kind.
    return _with_member(result, '"resultType":"complete"')


def _with_member(result: str, member: str) -> str:
    inner = result[1:].lstrip()
    return "{" + member + ("" if inner.startswith("}") else ",") + inner


def complete(body: Mapping[str, Any]) -> dict[str, Any]:
    """A result of 2026-07-28 that ends its request, with the name of the server."""
    return {"resultType": "complete", **body, "_meta": {SERVER_INFO: server_info(), **body.get("_meta", {})}}


def complete_text(result: str) -> str:
    """The same for a stored result, which is not parsed; one with `_meta` of its own keeps just that."""
    if '"_meta"' in result:
        return _with_result_type(result)
    return _with_result_type(_with_member(result, f'"_meta":{json.dumps({SERVER_INFO: server_info()})}'))


def server_info() -> dict[str, str]:
    """What the server calls itself, in either dialect."""
    return {"name": "taskdeck", "title": "Taskdeck", "version": VERSION}


class Asked(Protocol):
    """A question, wherever it is kept."""

    @property
    def kind(self) -> QuestionKind:
        """What is asked for."""

    @property
    def request(self) -> dict[str, Any]:
        """The parameters of the request."""


def input_request(question: Asked) -> dict[str, Any]:
    """A question as a request that a client answers."""
    if question.kind is QuestionKind.ROOTS:
        return {"method": _METHODS[question.kind]}
    params = dict(question.request)
    if question.kind is QuestionKind.FORM:
        params = {"mode": "form", **params}
    return {"method": _METHODS[question.kind], "params": params}


def answer_of(kind: QuestionKind, value: object) -> Answer:
    """What a client answered, read as the result of such a request. Raises InvalidAnswer for what cannot be one."""
    if not isinstance(value, dict):
        raise InvalidAnswer({"": ["The answer must be an object"]})
    if kind in (QuestionKind.SAMPLING, QuestionKind.ROOTS):
        content = {name: part for name, part in value.items() if name not in ("_meta", "resultType")}
        return Answer(AnswerAction.ACCEPT, content)
    try:
        action = AnswerAction(str(value.get("action")))
    except ValueError:
        raise InvalidAnswer({"action": ["The action must be accept, decline or cancel"]}) from None
    return Answer(action, value.get("content"))


def required_capability(kind: QuestionKind) -> dict[str, Any]:
    """What a client must declare to be asked this."""
    if kind in (QuestionKind.SAMPLING, QuestionKind.ROOTS):
        return {kind.value: {}}
    return {"elicitation": {kind.value: {}}}


def legacy_request(question: QuestionView) -> dict[str, Any]:
    """A question as a request on the stream of 2025-11-25; its id names the task, so that any process finds it."""
    request = input_request(question)
    params = request.get("params", {})
    if question.kind is QuestionKind.URL:
        params = {**params, "elicitationId": request_id(question)}
    related = {RELATED_TASK: {"taskId": str(question.task_id)}}
    return {
        "jsonrpc": "2.0",
        "id": request_id(question),
        "method": request["method"],
        "params": {**params, "_meta": related},
    }


def request_id(question: QuestionView) -> str:
    """The JSON-RPC id of a question that went out on a stream."""
    return f"{question.task_id}/{question.key}"


def legacy_tool(tool: Tool, *, has_tasks: bool) -> dict[str, Any]:
    """A tool for clients that shake hands; whether it can be a task is told only where there are tasks."""
    shown = modern_tool(tool)
    if has_tasks and tool.task is not Support.FORBIDDEN:
        shown["execution"] = {"taskSupport": tool.task.value}
    return shown


def modern_tool(tool: Tool) -> dict[str, Any]:
    """A tool for clients of 2026-07-28."""
    optional = {
        "title": tool.title,
        "outputSchema": tool.output_schema,
        "annotations": dict(tool.annotations) or None,
    }
    shown: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return shown | {name: value for name, value in optional.items() if value is not None}


def _message(task: Snapshot, *, asks_client: bool) -> dict[str, str]:
    if task.status is Status.INPUT_REQUIRED and not asks_client:
        return {"statusMessage": AWAITS_APPROVAL}
    text = _why(task) or task.status_message
    return {"statusMessage": text} if text else {}


def _why(task: Snapshot) -> str:
    """Why a task has no result; how far it had come is no longer of interest then."""
    if task.status is Status.FAILED and task.error:
        return str(json.loads(task.error).get("message", ""))
    return MESSAGES.get(task.outcome, "") if task.outcome else ""


def _legacy_message(task: Snapshot, *, asks_client: bool) -> dict[str, str]:
    """The same for 2025-11-25, where a tool error is a failure too and has to say why."""
    if task.outcome is not Outcome.TOOL_ERROR:
        return _message(task, asks_client=asks_client)
    said = error_text(json.loads(task.result)) if task.result and len(task.result) <= READ_BYTES else ""
    return {"statusMessage": said[:WHY_CHARACTERS] or TOOL_FAILED}


def _lifetime_ms(task: Snapshot) -> int:
    return int((task.expires_at - task.created_at).total_seconds() * 1000)


def _poll_ms(task: Snapshot, now: datetime | None) -> int:
    """What the tool asked for, growing with the age of a task that still runs."""
    if now is None or task.finished_at is not None:
        return task.poll_ms
    return max(task.poll_ms, poll_interval_ms(None, (now - task.created_at).total_seconds(), unknown_ms=task.poll_ms))


def _extras(task: Snapshot) -> dict[str, Any]:
    """What we tell beyond the protocol, under names of our own."""
    meta = extras(task)
    return {"_meta": meta} if meta else {}


def extras(task: Snapshot) -> dict[str, Any]:
    """Variables, progress and planned steps, for the `_meta` of an answer in either dialect."""
    meta: dict[str, Any] = {}
    if task.variables != "{}":
        meta[VARIABLES] = json.loads(task.variables)
    if task.progress_done is not None:
        numbers = {"done": task.progress_done, "total": task.progress_total}
        meta[PROGRESS] = {name: value for name, value in numbers.items() if value is not None}
    if task.steps is not None:
        meta[STEPS] = _steps(task.tool, json.loads(task.steps))
    return meta


def _steps(name: str, known: Mapping[str, Any]) -> list[dict[str, str]]:
    """Only what was planned: what a tool adds as it goes has no bound."""
    tool = registry.get(name)
    planned = tool.steps if tool else ()
    steps = workflow(planned, known["done"], failed=known["failed"])[: len(planned)]
    return [{"name": step.name, "state": step.state.value} for step in steps]
