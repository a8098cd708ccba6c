"""Which workers are alive: what the dispatcher, `/readyz` and the Overview read."""

from __future__ import annotations

from django.db import models

from tasks_app.models.rules import DatabaseNow


class Worker(models.Model):
    """One Celery worker; its id is host, process id and a random part, so a restart is another worker."""

    id = models.TextField(primary_key=True)
    slots = models.PositiveIntegerField()
    busy = models.PositiveIntegerField(db_default=0)
    draining = models.BooleanField(db_default=False)
    started_at = models.DateTimeField(db_default=DatabaseNow())
    seen_at = models.DateTimeField(db_default=DatabaseNow())

    def __str__(self) -> str:
        return self.id
