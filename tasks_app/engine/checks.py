"""Django system checks: a wrong declaration or setting is told at the start, not met at run time."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks
from django.utils.module_loading import import_string

from tasks_app.conf import VERIFIERS, conf
from tasks_app.engine.registry import Support, registry


@checks.register("taskdeck")
def check_tools(**_: Any) -> list[checks.CheckMessage]:
    """Every wrong declaration of a tool."""
    return [checks.Error(found.message, hint=found.hint, obj=found.obj, id=found.id) for found in registry.problems]


@checks.register("taskdeck")
def check_database(**_: Any) -> list[checks.CheckMessage]:
    """A tool that has to be a task needs the database that keeps it."""
    required = [tool.name for tool in registry.all() if tool.task is Support.REQUIRED]
    engine = settings.DATABASES.get("default", {}).get("ENGINE", "")
    if not required or "postgresql" in engine:
        return []
    message = f"These tools can only run as tasks, and there is no Postgres to keep them: {', '.join(required)}."
    return [checks.Error(message, hint='Set DATABASE_URL, or declare them task="forbidden".', id="tasks.E010")]


@checks.register("taskdeck")
def check_fallback_tool(**_: Any) -> list[checks.CheckMessage]:
    """A client that knows no tasks needs a tool by which it can fetch a result later."""
    has_tasks = any(tool.task is not Support.FORBIDDEN for tool in registry.all())
    name = conf().fallback_tool
    if not has_tasks or not name or registry.get(name) is not None:
        return []
    message = f"There are tools that become tasks, but no tool {name!r} by which other clients fetch a result."
    hint = 'Install "tasks_app", which ships it, or set TASKDECK_FALLBACK_TOOL to "" if you do not want one.'
    return [checks.Warning(message, hint=hint, id="tasks.W001")]


@checks.register("taskdeck")
def check_augment(**_: Any) -> list[checks.CheckMessage]:
    """What decides which calls become tasks must be there."""
    path = conf().augment
    if not path or _is_there(path):
        return []
    hint = "Give the dotted path of a function (tool name, arguments) -> bool, or leave it out."
    return [checks.Error(f"TASKDECK_AUGMENT={path!r} names no function.", hint=hint, id="tasks.E012")]


@checks.register("taskdeck")
def check_verifiers(**_: Any) -> list[checks.CheckMessage]:
    """Whoever says what a bearer token is worth must be there: without them every request would fail."""
    hint = "Name `token`, `jwks`, or the dotted path of a verifier."
    return [
        checks.Error(f"TASKDECK_VERIFIERS names {name!r}, which is no verifier.", hint=hint, id="tasks.E013")
        for name in conf().verifiers
        if name not in VERIFIERS and not _is_there(name)
    ]


def _is_there(path: str) -> bool:
    try:
        return callable(import_string(path))
    except ImportError:
        return False


@checks.register("taskdeck", deploy=True)
def check_serialiser(**_: Any) -> list[checks.CheckMessage]:
    """Workers accept JSON and nothing that could carry code."""
    if getattr(settings, "CELERY_ACCEPT_CONTENT", None) == ["json"]:
        return []
    hint = 'Set CELERY_ACCEPT_CONTENT = ["json"].'
    return [checks.Error("Celery accepts other content than JSON.", hint=hint, id="tasks.E011")]
