"""The chain over the audit log: sealed batches of events, and where the last look at them came to.

A batch covers the events after the one before it up to `last_id`, and with each `expired` event the expiration record of
its task: both are written by one transaction, so the order of events is the order of records, too.
"""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from tasks_app.models.rules import DatabaseNow, is_sha256
from tasks_app.models.triggers import REFUSED, Rule

ONLY_RETIRES = f"""
    IF OLD.retired_at IS NOT NULL OR NEW.retired_at IS NULL OR NEW.leaves <> ''
       OR (NEW.number, NEW.first_id, NEW.last_id, NEW.count, NEW.until, NEW.rows_hash, NEW.previous_hash, NEW.hash, NEW.sealed_at)
          IS DISTINCT FROM
          (OLD.number, OLD.first_id, OLD.last_id, OLD.count, OLD.until, OLD.rows_hash, OLD.previous_hash, OLD.hash, OLD.sealed_at) THEN
        RAISE EXCEPTION 'a sealed batch only retires, once' {REFUSED};
    END IF;
    RETURN NEW;
"""


class Seal(models.Model):
    """One batch: which events, how many, and hashes that tie it to its rows and to the batch before."""

    number = models.PositiveBigIntegerField(primary_key=True)
    first_id = models.BigIntegerField()
    last_id = models.BigIntegerField()
    count = models.PositiveIntegerField(help_text="How many events.")
    until = models.DateTimeField(help_text="The time of the newest event in it.")
    leaves = models.BinaryField(help_text="Id and digest of each event, so that a changed one can be named.")
    rows_hash = models.BinaryField()
    previous_hash = models.BinaryField()
    hash = models.BinaryField()
    sealed_at = models.DateTimeField(db_default=DatabaseNow())
    retired_at = models.DateTimeField(null=True, help_text="When its events left, their retention being over.")

    class Meta:
        constraints = [
            models.CheckConstraint(name="seal_holds_something", condition=Q(count__gt=0)),
            models.CheckConstraint(name="seal_runs_forward", condition=Q(first_id__lte=models.F("last_id"))),
            models.UniqueConstraint(name="seal_ends_once", fields=["last_id"]),
            *(
                models.CheckConstraint(name=f"seal_{name}_is_sha256", condition=is_sha256(name))
                for name in ("rows_hash", "previous_hash", "hash")
            ),
        ]
        indexes = [
            # Which batch leaves next.
            models.Index(name="seal_kept", fields=["number"], condition=Q(retired_at__isnull=True)),
        ]
        triggers = [
            Rule(name="seal_only_retires", when=pgtrigger.Before, operation=pgtrigger.Update, func=ONLY_RETIRES),
            Rule(
                name="seal_never_leaves",
                when=pgtrigger.Before,
                operation=pgtrigger.Delete,
                func=f"RAISE EXCEPTION 'a sealed batch stays' {REFUSED};",
            ),
        ]


class ChainCheck(models.Model):
    """Where the last look at the chain came to: one row, a note for the page and the alarm, not a proof."""

    id = models.PositiveSmallIntegerField(primary_key=True, db_default=1)
    cursor = models.PositiveBigIntegerField(db_default=0, help_text="The batch that the loop's round last looked at.")
    verified = models.PositiveBigIntegerField(db_default=0, help_text="The last batch up to which all was in order.")
    verified_at = models.DateTimeField(null=True)
    broken = models.PositiveBigIntegerField(null=True, help_text="The first batch that is not what was sealed.")
    broken_row = models.BigIntegerField(null=True)
    what = models.TextField(db_default="")
    head = models.PositiveBigIntegerField(db_default=0, help_text="The furthest batch that was ever in order.")
    head_hash = models.BinaryField(null=True, help_text="Its hash: a chain that was cut off and grew again is another.")

    class Meta:
        constraints = [models.CheckConstraint(name="chain_check_is_one", condition=Q(id=1))]
