"""What a tool has done already: a recorded step is not run again when the tool starts from the top."""

from __future__ import annotations

from django.db import models

from tasks_app.models.rules import DatabaseNow
from tasks_app.models.task import Task


class Step(models.Model):
    """The value of one step, by its name and its place."""

    pk = models.CompositePrimaryKey("task_id", "name")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="steps", db_index=False)
    name = models.TextField()
    position = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    value = models.TextField()
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints = [models.UniqueConstraint(name="step_position_once", fields=["task", "position"])]
