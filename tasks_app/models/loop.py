"""Which engine loops are alive: what the console reads to say that none is."""

from __future__ import annotations

from django.db import models

from tasks_app.models.rules import DatabaseNow


class Loop(models.Model):
    """One engine loop; its id is host, process id and a random part, so a restart is another loop."""

    id = models.TextField(primary_key=True)
    started_at = models.DateTimeField(db_default=DatabaseNow())
    seen_at = models.DateTimeField(db_default=DatabaseNow())

    def __str__(self) -> str:
        return self.id
