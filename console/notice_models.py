"""Being needed, as tables: who is answering what, where to tell about new questions, and how each account is told.

Shapes and constraints only; `console.store` is the one that writes them.
"""

from __future__ import annotations

from enum import StrEnum

from django.conf import settings
from django.db import models
from django.db.models import Q

from tasks_app.models.owner import Owner
from tasks_app.models.rules import DatabaseNow, iff, known


class DeliveryState(StrEnum):
    """What became of a message to a webhook."""

    WAITING = "waiting"
    """It is due at a time, for the first time or again."""

    SENT = "sent"
    """The other side took it."""

    FAILED = "failed"
    """The other side did not take it often enough; nobody tries any more."""

    DROPPED = "dropped"
    """The question ended before it was told: nobody is needed any more."""


class AnswerClaim(models.Model):
    """Who is answering a question just now. Advice to others, never a lock: the first valid answer still wins.

    No foreign key to the question: purging a task must not have to know the console's tables.
    """

    question_id = models.BigIntegerField(primary_key=True)
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="+")
    since = models.DateTimeField(db_default=DatabaseNow())
    until = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(name="claim_ends_after_it_began", condition=Q(until__gt=models.F("since"))),
        ]


class Webhook(models.Model):
    """An address of another system that is told about every new question.

    Its secret is not here: it is derived from the site's own secret key and the salt, so a copy of the table is no use.
    """

    url = models.TextField()
    salt = models.TextField(unique=True)
    site = models.TextField(help_text="Where the links of its messages lead: scheme and host of this console.")
    names_tool = models.BooleanField(db_default=False, help_text="Whether a message names the tool and the owner.")
    seen_id = models.BigIntegerField(help_text="Every question up to this one has been looked at for this address.")
    created_at = models.DateTimeField(db_default=DatabaseNow())
    created_by = models.ForeignKey(Owner, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="webhook_url_is_of_the_web", condition=Q(url__startswith="http://") | Q(url__startswith="https://")
            ),
        ]


class Delivery(models.Model):
    """One message to one webhook: the outbox. While somebody sends it, `due_at` is when their lease runs out."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    question_id = models.BigIntegerField(null=True, help_text="Empty for a test.")
    state = models.TextField(db_default=DeliveryState.WAITING.value)
    attempts = models.PositiveIntegerField(db_default=0)
    due_at = models.DateTimeField(db_default=DatabaseNow())
    created_at = models.DateTimeField(db_default=DatabaseNow())
    ended_at = models.DateTimeField(null=True)
    error = models.TextField(db_default="", help_text="Why the last try failed.")

    class Meta:
        constraints = [
            known("delivery_state_known", "state", DeliveryState),
            models.UniqueConstraint(name="delivery_once_a_question", fields=["webhook", "question_id"]),
            models.CheckConstraint(
                name="delivery_ended_iff_not_waiting", condition=iff(Q(state="waiting"), Q(ended_at__isnull=True))
            ),
        ]
        indexes = [
            # The duty that sends: what is due, the oldest first.
            models.Index(name="delivery_due", fields=["due_at", "id"], condition=Q(state="waiting")),
            # The page of webhooks: the latest of each; and what is forgotten after a while.
            models.Index(name="delivery_latest", fields=["webhook", "-id"]),
        ]


class Notice(models.Model):
    """How one account is told that it is needed; no row means the defaults."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    notify = models.BooleanField(db_default=False, help_text="Whether its browsers may show a notification.")
    advance = models.BooleanField(db_default=True, help_text="Whether the next question opens after an answer.")
