"""The methods of 2026-07-28. Every request stands alone: nothing is remembered between two of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tasks_app.conf import conf
from tasks_app.domain.identity import Scope
from tasks_app.domain.limits import check_update
from tasks_app.domain.outcome import Dialect
from tasks_app.domain.questions import AnswerAction
from tasks_app.domain.status import Status
from tasks_app.engine.call import Ended
from tasks_app.engine.registry import registry
from tasks_app.mcp import background, content, polls, pool, rounds, wire
from tasks_app.mcp.call import Call, Method, Methods, Result, ResultText, text_param
from tasks_app.mcp.content import Found
from tasks_app.mcp.errors import invalid_params
from tasks_app.mcp.listen import listen
from tasks_app.mcp.modern_calls import call_tool, replay
from tasks_app.mcp.negotiation import MODERN_VERSIONS
from tasks_app.mcp.paging import page_of
from tasks_app.store.announce import announce_now
from tasks_app.store.cancel import cancel_plan
from tasks_app.store.follow import follow_plan
from tasks_app.store.queries import open_questions_plan
from tasks_app.store.questions import Answer
from tasks_app.store.rows import QuestionView, Snapshot

IGNORED = "taskdeck/ignored"
INSTRUCTIONS = "Long tools return tasks: poll them with tasks/get, and answer what they ask with tasks/update."
FRESH_MS = 300_000
# The same for everyone, until the server is started anew.
PUBLIC = {"ttlMs": FRESH_MS, "cacheScope": "public"}
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}

NO_ANSWER = Answer(AnswerAction.CANCEL)

METHODS = Methods(Dialect.MODERN)
METHODS.register(Method("tools/call", call_tool, frozenset({Scope.RUN})))
METHODS.register(Method("subscriptions/listen", listen, frozenset({Scope.READ})))


@METHODS.method("server/discover", scopes={Scope.READ})
async def discover(_: Call) -> Result:
    """What this server can do."""
    offered = {"tools": {"listChanged": False}, "logging": {}, **content.capabilities()}
    return wire.complete(
        {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": {**offered, "extensions": {wire.TASKS_EXTENSION: {}}},
            "instructions": INSTRUCTIONS,
            **PUBLIC,
        }
    )


@METHODS.method("tools/list", scopes={Scope.READ})
async def list_tools(call: Call) -> Result:
    """One page of tools, by name."""
    page = page_of(registry.all(), call.params.get("cursor"), key=lambda tool: tool.name)
    return wire.complete({"tools": [wire.modern_tool(tool) for tool in page.items], **page.following, **PUBLIC})


@METHODS.method("tasks/get", scopes={Scope.READ}, needs_tasks=True, names_task=True, is_poll=True)
async def get_task(call: Call) -> Result:
    """How a task stands, with its outcome or with what it asks."""
    task = await polls.polled(call)
    task, questions = await _with_questions(call, task)
    shown = wire.modern_detail(task, questions, now=datetime.now(UTC))
    if task.finished_at is not None and polls.is_fetch_due(call):
        background.spawn(polls.note_fetch(call, task))
    meta = {wire.SERVER_INFO: wire.server_info(), **wire.extras(task)}
    return ResultText(wire.dump({"resultType": "complete", **shown, "_meta": meta}))


async def _with_questions(call: Call, task: Snapshot) -> tuple[Snapshot, list[QuestionView]]:
    """What a task asks; read again when the last question was answered in between."""
    if task.status is not Status.INPUT_REQUIRED:
        return task, []
    questions = await pool.run(open_questions_plan(task.id))
    if not questions:
        follow = follow_plan(task.id, owner_id=call.caller.owner_id, planned=registry.planned())
        again: Snapshot | None = await pool.run(follow)
        return again or task, []
    return task, questions


@METHODS.method("tasks/update", scopes={Scope.ANSWER}, needs_tasks=True, names_task=True)
async def update_task(call: Call) -> Result:
    """Answer what a task asks; keys that are not asked, or no longer, are named and change nothing."""
    given = call.params.get("inputResponses")
    if not isinstance(given, dict):
        raise invalid_params("`inputResponses` must be an object")
    check_update(given, limits=conf().limits)
    # First of all it must be the caller's: what it asks is read by its id alone.
    task = await polls.read(call)
    asked = {each.key: each for each in wire.for_clients(await pool.run(open_questions_plan(task.id)))}
    answers = {key: _answer(asked.get(key), value) for key, value in given.items()}
    done = await rounds.answer(call, task.id, answers)
    ignored = [each.key for each in done.ignored]
    return wire.complete({"_meta": {IGNORED: ignored}} if ignored else {})


def _answer(asked: QuestionView | None, value: object) -> Answer:
    # What nobody asked may be anything at all: the store ignores it unread.
    return NO_ANSWER if asked is None else wire.answer_of(asked.kind, value)


@METHODS.method("tasks/cancel", scopes={Scope.CANCEL}, needs_tasks=True, names_task=True)
async def cancel_task(call: Call) -> Result:
    """Cancel a task; one that has ended stays as it is, and the answer is the same."""
    plan = cancel_plan(polls.task_id_of(call), owner_id=call.caller.owner_id, by=call.actor())
    done = await pool.run(plan)
    if done.happened:
        announce_now(done.task, questions=True)
    return wire.complete({})


@METHODS.method("prompts/list", scopes={Scope.READ})
async def list_prompts(call: Call) -> Result:
    """One page of prompts."""
    return wire.complete({**content.list_prompts(call), **PUBLIC})


@METHODS.method("prompts/get", scopes={Scope.READ})
async def get_prompt(call: Call) -> Result:
    """The messages of a prompt, or what it asks first."""
    found = content.find_prompt(call)
    ended = await _replayed(call, text_param(call.params, "name"), found)
    return wire.complete(content.prompt_result(found, ended)) if isinstance(ended, Ended) else ended


@METHODS.method("resources/list", scopes={Scope.READ})
async def list_resources(call: Call) -> Result:
    """One page of resources."""
    return wire.complete({**content.list_resources(call), **PUBLIC})


@METHODS.method("resources/templates/list", scopes={Scope.READ})
async def list_templates(call: Call) -> Result:
    """One page of resource templates."""
    return wire.complete({**content.list_templates(call), **PUBLIC})


@METHODS.method("resources/read", scopes={Scope.READ})
async def read_resource(call: Call) -> Result:
    """What stands at an address, or what it asks first."""
    found = content.find_resource(call)
    ended = await _replayed(call, text_param(call.params, "uri"), found)
    if not isinstance(ended, Ended):
        return ended
    return wire.complete({**content.resource_result(found, ended), **NOT_CACHED})


@METHODS.method("completion/complete", scopes={Scope.READ})
async def complete(call: Call) -> Result:
    """What an argument may become."""
    return wire.complete(await content.complete(call))


async def _replayed(call: Call, name: str, found: Found) -> Ended | dict[str, Any]:
    return await replay(rounds.read_round(call, name, found.arguments), found.tool, found.arguments)
