"""A personal access token: only its digest is kept."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from tasks_app.models.owner import Owner
from tasks_app.models.rules import DatabaseNow, is_sha256


class Credential(models.Model):
    """What a client presents on the endpoint: hashed, scoped, expiring, revocable."""

    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="credentials")
    name = models.TextField()
    digest = models.BinaryField(unique=True, help_text="SHA-256 of the token.")
    scopes = ArrayField(models.TextField())
    created_at = models.DateTimeField(db_default=DatabaseNow())
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="credential_digest_is_sha256", condition=is_sha256("digest")),
        ]

    def __str__(self) -> str:
        return self.name
