"""What happened, who did it and when: append-only, and without any payload, ever."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform

from tasks_app.models.rules import DatabaseNow
from tasks_app.models.triggers import append_only

FREQUENT = ("created", "status", "attempt_started", "attempt_ended")
"""What every task leaves: found soon by looking back, so that no index has to be kept while tasks run."""
PEOPLE = ("owner", "operator", "admin", "client")
"""The kinds of actor that are an owner: in front of the console, or by a client of theirs."""


class Event(models.Model):
    """One entry of the audit log. No foreign key: events outlive what they are about."""

    task_id = models.UUIDField(null=True)
    owner_id = models.BigIntegerField(null=True)
    kind = models.TextField()
    from_status = models.TextField(null=True)
    to_status = models.TextField(null=True)
    attempt = models.IntegerField(null=True)
    actor = models.JSONField()
    detail = models.JSONField(db_default={})
    at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        indexes = [
            # The timeline of a task; the replay of its history.
            models.Index(name="event_task", fields=["task_id", "id"]),
            # An owner's own audit log.
            models.Index(name="event_owner", fields=["owner_id", "-id"]),
            # The audit log by action, and the list of what was purged.
            models.Index(name="event_rare", fields=["kind", "-id"], condition=~Q(kind__in=FREQUENT)),
            # The audit log by person.
            models.Index(
                KeyTextTransform("id", "actor"),
                F("id").desc(),
                name="event_person",
                condition=Q(actor__kind__in=PEOPLE),
            ),
        ]
        triggers = append_only("event")
