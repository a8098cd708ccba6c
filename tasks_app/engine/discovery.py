"""Finding tools: `tools` of every installed app, as Django's admin does, and the modules that the settings name."""

from __future__ import annotations

from importlib import import_module

from django.utils.module_loading import autodiscover_modules

from tasks_app.conf import conf
from tasks_app.engine.registry import Problem, registry


def discover() -> None:
    """Import every module that declares tools; called once, when Django is ready."""
    autodiscover_modules("tools")
    for name in conf().tool_modules:
        _import(name)


def _import(name: str) -> None:
    """Import a module that the settings name; one that is not there is a wrong declaration."""
    try:
        import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise
        message = f"TASKDECK_TOOL_MODULES names {name!r}, and there is no such module."
        registry.report(Problem("tasks.E006", message, "Correct the name, or put its folder on PYTHONPATH.", name))
