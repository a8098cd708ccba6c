"""Whose a task is. Isolation is by owner alone, so all clients of one person see the same tasks."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from tasks_app.domain.identity import OwnerKind
from tasks_app.models.rules import known


class Owner(models.Model):
    """A person, a machine client, a team, or everyone on a local server."""

    kind = models.TextField()
    issuer = models.TextField(blank=True, default="", db_default="", help_text="Empty for our own accounts.")
    subject = models.TextField(help_text="Account, `sub`, client id, team, or `local`.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="owners"
    )

    class Meta:
        constraints = [
            known("owner_kind_known", "kind", OwnerKind),
            models.UniqueConstraint(name="owner_once", fields=["kind", "issuer", "subject"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}" if not self.issuer else f"{self.kind} {self.subject} of {self.issuer}"
