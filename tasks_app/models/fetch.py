"""Whether a result was ever read. Beside the frozen task row: reading must not touch it."""

from __future__ import annotations

from django.db import models

from tasks_app.models.task import Task


class Fetch(models.Model):
    """The reads of one finished task over the protocol."""

    task = models.OneToOneField(Task, primary_key=True, on_delete=models.CASCADE, related_name="fetch")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    times = models.PositiveBigIntegerField(db_default=1)
    credential_id = models.BigIntegerField(null=True)
