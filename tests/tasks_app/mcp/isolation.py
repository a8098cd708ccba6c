"""The table behind the tests of isolation: for every method of both dialects, a request that its owner may make.

A method that is not in the table fails the tests: whoever adds one has to say what it may show to whom.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from tasks_app.domain.identity import Scope
from tasks_app.domain.outcome import Dialect
from tasks_app.mcp import legacy, modern
from tasks_app.mcp.call import Methods
from tests.conftest import Person
from tests.tasks_app.store import life

Params: TypeAlias = Callable[[str, str], dict[str, Any]]

TABLES: Mapping[Dialect, Methods] = {Dialect.LEGACY: legacy.METHODS, Dialect.MODERN: modern.METHODS}


@dataclass(frozen=True)
class Probe:
    """A request that succeeds for who owns the task that it names, given its id and the key of its question."""

    params: Params
    scopes: frozenset[Scope]
    """What the token must hold: stated here once more, so that no method loses its scope by mistake."""
    make: Callable[[Person], UUID] | None = None
    """Makes the task that the request names; None for a request that names none."""
    leaves_out: bool = False
    """A task that is not the caller's is left out of the answer rather than refused."""


def _fixed(params: dict[str, Any], *scopes: Scope) -> Probe:
    return Probe(lambda _task, _key: params, frozenset(scopes))


def _named(task_id: str, _key: str) -> dict[str, Any]:
    return {"taskId": task_id}


def _answered(task_id: str, key: str) -> dict[str, Any]:
    return {"taskId": task_id, "inputResponses": {key: {"action": "accept", "content": {"port": 80}}}}


def _heard(task_id: str, _key: str) -> dict[str, Any]:
    return {"notifications": {"taskIds": [task_id]}}


_READ = frozenset({Scope.READ})
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
_LANGUAGE = {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": "p"}}

BOTH: dict[str, Probe] = {
    "tools/list": _fixed({}, Scope.READ),
    "tools/call": _fixed({"name": "greet", "arguments": {"name": "Ada"}}, Scope.RUN),
    "tasks/get": Probe(_named, _READ, life.asking),
    "tasks/cancel": Probe(_named, frozenset({Scope.CANCEL}), life.asking),
    "prompts/list": _fixed({}, Scope.READ),
    "prompts/get": _fixed({"name": "review", "arguments": {"language": "perl"}}, Scope.READ),
    "resources/list": _fixed({}, Scope.READ),
    "resources/templates/list": _fixed({}, Scope.READ),
    "resources/read": _fixed({"uri": "notes://welcome"}, Scope.READ),
    "completion/complete": _fixed(_LANGUAGE, Scope.READ),
}
PROBES: dict[Dialect, dict[str, Probe]] = {
    Dialect.LEGACY: {
        **BOTH,
        "initialize": _fixed(_HELLO),
        "ping": _fixed({}),
        "logging/setLevel": _fixed({"level": "info"}),
        "tasks/list": _fixed({}, Scope.READ),
        "tasks/result": Probe(_named, _READ, life.completed),
        "resources/subscribe": _fixed({"uri": "notes://welcome"}, Scope.READ),
        "resources/unsubscribe": _fixed({"uri": "notes://welcome"}, Scope.READ),
    },
    Dialect.MODERN: {
        **BOTH,
        "server/discover": _fixed({}, Scope.READ),
        "tasks/update": Probe(_answered, frozenset({Scope.ANSWER}), life.asking),
        "subscriptions/listen": Probe(_heard, _READ, life.completed, leaves_out=True),
    },
}
CASES = [(dialect, name) for dialect, probes in PROBES.items() for name in sorted(probes)]
ABOUT_TASKS = [(dialect, name) for dialect, name in CASES if PROBES[dialect][name].make is not None]
