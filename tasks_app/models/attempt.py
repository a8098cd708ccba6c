"""One run of a task on a worker. Its number is the fencing token; its lease says how long the worker is believed."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q

from tasks_app.domain.outcome import AttemptEnd
from tasks_app.models.rules import DatabaseNow, iff, known
from tasks_app.models.task import Task
from tasks_app.models.triggers import Rule

LOG_STARTED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail)
    SELECT NEW.task_id, t.owner_id, 'attempt_started', NEW.number, tasks_actor(), jsonb_build_object('worker', NEW.worker)
      FROM tasks_task t WHERE t.id = NEW.task_id;
    RETURN NULL;
"""
LOG_ENDED = """
    INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail)
    SELECT NEW.task_id, t.owner_id, 'attempt_ended', NEW.number, tasks_actor(), jsonb_build_object('outcome', NEW.outcome)
      FROM tasks_task t WHERE t.id = NEW.task_id;
    RETURN NULL;
"""


class Attempt(models.Model):
    """A run, open until it has ended; the task holds at most one that may still record something."""

    pk = models.CompositePrimaryKey("task_id", "number")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.IntegerField()
    worker = models.TextField()
    started_at = models.DateTimeField(db_default=DatabaseNow())
    lease_until = models.DateTimeField()
    stop_requested_at = models.DateTimeField(null=True)
    stop_acknowledged_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.TextField(null=True)
    detail = models.TextField(null=True, help_text="What went wrong, for operators: a traceback, or a few words.")
    failed_step = models.TextField(null=True, help_text="The step that it failed at, if it was in one.")

    class Meta:
        constraints = [
            known("attempt_outcome_known", "outcome", AttemptEnd, optional=True),
            models.CheckConstraint(name="attempt_counts_from_one", condition=Q(number__gt=0)),
            models.CheckConstraint(
                name="attempt_outcome_iff_ended", condition=iff(Q(ended_at__isnull=True), Q(outcome__isnull=True))
            ),
            models.CheckConstraint(
                name="attempt_acknowledges_a_stop",
                condition=Q(stop_acknowledged_at__isnull=True) | Q(stop_requested_at__isnull=False),
            ),
            models.CheckConstraint(
                name="attempt_stopped_only_when_asked",
                condition=Q(outcome__isnull=True)
                | ~Q(outcome__in=["stopped", "killed"])
                | Q(stop_requested_at__isnull=False),
            ),
            models.CheckConstraint(
                name="attempt_asked_records_nothing",
                condition=Q(stop_requested_at__isnull=True)
                | Q(outcome__isnull=True)
                | Q(outcome__in=["stopped", "killed", "lost"]),
            ),
            models.CheckConstraint(
                name="attempt_ends_after_it_starts",
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")),
            ),
            # Also what the reaper scans: it holds only the attempts that run now.
            models.UniqueConstraint(name="attempt_one_open", fields=["task"], condition=Q(ended_at__isnull=True)),
        ]
        triggers = [
            Rule(name="attempt_start_is_logged", when=pgtrigger.After, operation=pgtrigger.Insert, func=LOG_STARTED),
            Rule(
                name="attempt_end_is_logged",
                when=pgtrigger.After,
                operation=pgtrigger.UpdateOf("ended_at"),
                condition=pgtrigger.Condition("OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL"),
                func=LOG_ENDED,
            ),
            Rule(
                name="attempt_end_is_final",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.ended_at IS NOT NULL"),
                func="""
                    RAISE EXCEPTION 'attempt % of task % has ended', OLD.number, OLD.task_id
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
        ]
