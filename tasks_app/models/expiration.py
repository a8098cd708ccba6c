"""What remains of a task after its time: written once, at expiry, and never changed. No foreign key: it outlives the task."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from tasks_app.models.triggers import append_only


class Expiration(models.Model):
    """The record that an auditor reads. It carries no payload, only sizes and a digest."""

    task_id = models.UUIDField(primary_key=True)
    owner_id = models.BigIntegerField()
    credential_id = models.BigIntegerField(null=True)
    tool = models.TextField()
    client = models.TextField(db_default="", help_text="Name and version that the client gave of itself.")
    status = models.TextField()
    outcome = models.TextField()
    was_live = models.BooleanField()
    status_then = models.TextField(db_default="", help_text="What it was before its time ran out.")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    due_at = models.DateTimeField()
    observed_at = models.DateTimeField()
    ttl_fixed = models.BooleanField(db_default=False, help_text="The first TTL was set by client or tool.")
    ttl_changes = models.JSONField(help_text="Each change of the expiry: from, to, why, when, by whom.")
    extended_times = models.PositiveIntegerField(db_default=0, help_text="How many of these changes were asked for.")
    cancelled_by = models.JSONField(null=True, help_text="The actor, with the reason, when it was cancelled.")
    fetched_times = models.BigIntegerField()
    first_fetched_at = models.DateTimeField(null=True)
    last_fetched_at = models.DateTimeField(null=True)
    fetched_by = models.BigIntegerField(null=True, help_text="The credential that fetched it first.")
    unanswered = models.JSONField(help_text="Questions left open: key, name and since when.")
    payload_bytes = models.BigIntegerField()
    payload_sizes = models.JSONField(db_default={}, help_text="The same, part by part.")
    payload_sha256 = models.BinaryField()
    policy_version = models.PositiveIntegerField()

    class Meta:
        indexes = [
            # Expirations page: all, and by owner.
            models.Index(name="expiration_recent", fields=["-observed_at", "task_id"]),
            models.Index(name="expiration_owner", fields=["owner_id", "-observed_at", "task_id"]),
            # Expirations page: by tool, and the results that nobody ever read.
            models.Index(name="expiration_tool", fields=["tool", "-observed_at", "task_id"]),
            models.Index(
                name="expiration_unfetched",
                fields=["-observed_at", "task_id"],
                condition=Q(fetched_times=0, was_live=False) & ~Q(outcome="cancelled"),
            ),
        ]
        triggers = append_only("expiration")
