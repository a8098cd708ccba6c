"""The console as a Django application."""

from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The site and the human face."""

    name = "console"
    verbose_name = "Taskdeck console"

    def ready(self) -> None:
        """Know the broker in every process: a hint from a web process goes through Celery's current application."""
        from console import celery, migrating  # noqa: F401, PLC0415 - settings must be read first
        from console.webhooks import duty  # noqa: PLC0415 - models must be loaded first
        from tasks_app.engine import loop  # noqa: PLC0415

        migrating.connect(self)
        loop.register(loop.Duty("send webhooks", duty.EVERY_SECONDS, duty.sender.run))
        loop.register(loop.Duty("forget claims and deliveries", duty.FORGET_EVERY_SECONDS, duty.forget))
