"""One run of a task on a worker. Its number is the fencing token; its lease says how long the worker is believed."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from tasks_app.domain.outcome import AttemptEnd
from tasks_app.models.rules import DatabaseNow
from tasks_app.models.task import Task
from tasks_app.models.triggers import Rule, one_of, well_formed

# How an attempt may end once it was told to stop.
ASKED_TO_STOP = (AttemptEnd.STOPPED, AttemptEnd.KILLED, AttemptEnd.LOST)
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

# In the order in which they are looked at.
WELL_FORMED = {
    "attempt_acknowledges_a_stop": "NEW.stop_acknowledged_at IS NULL OR NEW.stop_requested_at IS NOT NULL",
    "attempt_asked_records_nothing": f"NEW.stop_requested_at IS NULL OR {one_of('NEW.outcome', ASKED_TO_STOP)}",
    "attempt_counts_from_one": "NEW.number > 0",
    "attempt_ends_after_it_starts": "NEW.ended_at >= NEW.started_at",
    "attempt_outcome_iff_ended": "(NEW.ended_at IS NULL) = (NEW.outcome IS NULL)",
    "attempt_outcome_known": one_of("NEW.outcome", AttemptEnd),
    "attempt_stopped_only_when_asked": "NEW.stop_requested_at IS NOT NULL OR NEW.outcome NOT IN ('stopped', 'killed')",
}


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
            # Also what the reaper scans: it holds only the attempts that run now.
            models.UniqueConstraint(name="attempt_one_open", fields=["task"], condition=Q(ended_at__isnull=True)),
        ]
        triggers = [
            well_formed("attempt", WELL_FORMED),
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
