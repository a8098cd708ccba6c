"""How many tasks stand where. Changes are appended, one small row each, and folded later, so that no counter is hot."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tasks_app.models.rules import DatabaseNow


class Tally(models.Model):
    """One change that is not folded yet: a task left one standing (empty at birth) for another."""

    owner_id = models.BigIntegerField()
    tool = models.TextField()
    left = models.TextField(db_default="")
    entered = models.TextField()
    seconds = models.FloatField(db_default=0.0, help_text="How long it stood where it left.")
    bytes = models.BigIntegerField(db_default=0, help_text="What the change added to what the owner keeps.")
    at = models.DateTimeField(db_default=DatabaseNow())


class Count(models.Model):
    """How many tasks of an owner and a tool stand here, as of the last fold."""

    pk = models.CompositePrimaryKey("owner_id", "tool", "standing")
    owner_id = models.BigIntegerField()
    tool = models.TextField()
    standing = models.TextField()
    tasks = models.BigIntegerField()
    bytes = models.BigIntegerField()


class Minute(models.Model):
    """What moved within one minute, with a histogram of how long it took (see `tasks_app.domain.histogram`)."""

    pk = models.CompositePrimaryKey("minute", "owner_id", "tool", "left", "entered")
    minute = models.DateTimeField()
    owner_id = models.BigIntegerField()
    tool = models.TextField()
    left = models.TextField()
    entered = models.TextField()
    tasks = models.BigIntegerField()
    seconds = models.FloatField()
    buckets = ArrayField(models.BigIntegerField())
