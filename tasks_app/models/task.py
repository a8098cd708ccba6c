"""The task: one row is the truth, and its own outbox (`wake_at` says "runnable from").

Fields, unique constraints, indexes, and the rules that hold against raw SQL too. The verbs are in `tasks_app.store`.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from tasks_app.domain.status import Status
from tasks_app.models.owner import Owner
from tasks_app.models.task_rules import TASK_RULES


class Task(models.Model):
    """A call of a tool that outlives its request."""

    id = models.UUIDField(primary_key=True)
    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    slot = models.IntegerField(help_text="Which of the owner's live places it takes.")
    credential_id = models.BigIntegerField(null=True, help_text="No foreign key: a revoked token may be removed.")
    tool = models.TextField()
    tool_version = models.IntegerField(db_default=1)
    # Payload is opaque JSON text: jsonb refuses \u0000 and lone surrogates, and would be parsed on every read.
    arguments = models.TextField(db_default="{}")
    labels = models.JSONField(db_default={}, help_text="What a search for `arg.x:` looks at.")
    idempotency_key = models.TextField(null=True)
    request_digest = models.BinaryField(null=True)
    request_id = models.TextField(db_default="", help_text="The request that created it, as in the access log.")
    client = models.TextField(db_default="", help_text="Name and version that the client gave of itself.")
    client_capabilities = models.JSONField(db_default={})
    waiting = models.BooleanField(db_default=False, help_text="The caller waits for the result and was given no id.")

    status = models.TextField(db_default=Status.WORKING.value)
    outcome = models.TextField(null=True)
    status_message = models.TextField(db_default="")
    result = models.TextField(null=True)
    error = models.TextField(null=True)
    variables = models.TextField(db_default="{}")
    progress_done = models.FloatField(null=True)
    progress_total = models.FloatField(null=True)

    output_bytes = models.BigIntegerField(db_default=0, help_text="Where the next chunk of output begins.")
    kept_bytes = models.BigIntegerField(
        db_default=0,
        help_text="Output, steps, questions and answers that it keeps: counted when it ends, for the quota.",
    )

    attempt = models.IntegerField(db_default=0, help_text="The last fencing token handed out.")
    active_attempt = models.IntegerField(null=True, help_text="The token that may still record something.")
    losses = models.IntegerField(db_default=0)
    retries = models.IntegerField(db_default=0)
    max_retries = models.IntegerField(db_default=3)
    wake_at = models.DateTimeField(null=True)
    open_questions = models.IntegerField(db_default=0)
    poll_ms = models.IntegerField(db_default=5000)

    # No defaults: the insert takes all of them from one reading of the clock.
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    status_at = models.DateTimeField(help_text="Since when it has this status.")
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()
    ttl_fixed = models.BooleanField(db_default=False, help_text="Set by client or tool: asking does not raise it.")
    expired_at = models.DateTimeField(null=True, help_text="When the expiry was seen; its record exists from then on.")
    held = models.BooleanField(db_default=False, help_text="A legal hold stops expiry and purge.")
    policy_version = models.IntegerField(
        db_default=0, help_text="Whose terms decided its expiry last; 0 for the settings."
    )
    version = models.BigIntegerField(db_default=1)

    class Meta:
        constraints = [
            # The quota: a live task holds one of its owner's places, so it cannot be exceeded.
            models.UniqueConstraint(
                name="task_live_slot", fields=["owner", "slot"], condition=Q(finished_at__isnull=True)
            ),
            models.UniqueConstraint(
                name="task_idempotency",
                fields=["owner", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
            ),
        ]
        indexes = [
            # The claim and the dispatcher.
            models.Index(name="task_due", fields=["wake_at"], condition=Q(wake_at__isnull=False)),
            # The board of live tasks.
            models.Index(name="task_open", fields=["status", "-created_at"], condition=Q(finished_at__isnull=True)),
            # Search by argument.
            GinIndex(name="task_labels", fields=["labels"], opclasses=["jsonb_path_ops"]),
            # Everyone's history, by keyset.
            models.Index(name="task_recent", fields=["-created_at", "-id"]),
            # `tasks/list` and an owner's history, by keyset.
            models.Index(name="task_owner", fields=["owner", "-created_at", "-id"]),
            # The expiry sweep and the page of what expires next.
            models.Index(name="task_expiry", fields=["expires_at", "id"], condition=Q(expired_at__isnull=True)),
            # The purge.
            models.Index(name="task_purge", fields=["expired_at"], condition=Q(expired_at__isnull=False, held=False)),
        ]
        triggers = TASK_RULES

    def __str__(self) -> str:
        return f"{self.tool} {self.pk}"
