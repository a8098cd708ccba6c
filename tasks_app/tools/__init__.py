"""The tools that ship: the one that fetches a result later, and, where the settings want them, the demo tools."""

from __future__ import annotations

from importlib import import_module

from tasks_app.conf import conf
from tasks_app.tools import results

results.declare(conf().fallback_tool)
if conf().demo:
    import_module("tasks_app.tools.demo")
