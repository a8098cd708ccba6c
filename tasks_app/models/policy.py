"""The retention policy in its versions: each is written once, with its author, and counts from then until the next."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from tasks_app.models.rules import DatabaseNow
from tasks_app.models.triggers import REFUSED, Rule


class PolicyVersion(models.Model):
    """All rules at once, as `tasks_app.domain.policy` reads them; version 0, the settings alone, has no row."""

    version = models.PositiveIntegerField(primary_key=True)
    rules = models.JSONField()
    author = models.JSONField(help_text="The actor, with the reason.")
    effective_from = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints = [models.CheckConstraint(name="policy_counts_from_one", condition=Q(version__gt=0))]
        triggers = [
            Rule(
                name="policy_version_stays",
                when=pgtrigger.Before,
                operation=pgtrigger.Update | pgtrigger.Delete,
                func=f"RAISE EXCEPTION 'a version of the policy is never changed' {REFUSED};",
            )
        ]
