"""The log of a task: append-only chunks, each at its byte offset."""

from __future__ import annotations

from django.db import models

from tasks_app.models.rules import DatabaseNow
from tasks_app.models.task import Task


class Output(models.Model):
    """One chunk that a tool wrote."""

    pk = models.CompositePrimaryKey("task_id", "offset")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="output", db_index=False)
    offset = models.PositiveBigIntegerField()
    size = models.PositiveIntegerField(help_text="Bytes of what the tool wrote, however it is stored.")
    attempt = models.PositiveIntegerField()
    text = models.TextField()
    at = models.DateTimeField(db_default=DatabaseNow())
