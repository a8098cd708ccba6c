"""A session of the 2025-11-25 protocol: in the database, so that any process can serve it."""

from __future__ import annotations

from django.db import models

from tasks_app.models.owner import Owner
from tasks_app.models.rules import DatabaseNow, is_sha256


class Session(models.Model):
    """What one client agreed on when it connected; bound to its owner."""

    digest = models.BinaryField(primary_key=True, help_text="SHA-256 of the session id.")
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="sessions")
    version = models.TextField()
    capabilities = models.JSONField()
    client = models.JSONField(db_default={})
    created_at = models.DateTimeField(db_default=DatabaseNow())
    seen_at = models.DateTimeField(db_default=DatabaseNow())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="session_digest_is_sha256", condition=is_sha256("digest")),
        ]
