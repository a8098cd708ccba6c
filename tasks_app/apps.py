"""The engine as a Django application; its tables begin with `tasks_`."""

from __future__ import annotations

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Durable tasks, offered over MCP."""

    name = "tasks_app"
    label = "tasks"
    verbose_name = "Taskdeck"

    def ready(self) -> None:
        """Find the tools, and say at the start what is wrong with them."""
        from tasks_app.engine import checks, discovery  # noqa: F401, PLC0415 - models must be loaded first

        discovery.discover()
