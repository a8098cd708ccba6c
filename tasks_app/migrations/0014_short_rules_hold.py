"""What is there already is held against the rules of the migration before, while everybody goes on working."""

from __future__ import annotations

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

RULES = {
    "attempt": ("attempt_outcome_iff_ended",),
    "question": (
        "question_answer_iff_answered",
        "question_closed_iff_not_open",
    ),
    "task": (
        "task_counts_up_from_zero",
        "task_sizes_are_not_negative",
        "task_finished_iff_terminal",
        "task_outcome_iff_finished",
        "task_status_follows_outcome",
        "task_result_iff_completed",
        "task_error_iff_failed",
        "task_input_iff_open",
        "task_working_held_xor_runnable",
    ),
}


class Migration(migrations.Migration):
    # Each by itself: together they would hold what the first one locked until the last is done.
    atomic = False
    dependencies = [("tasks", "0013_short_rules")]
    operations = [ValidateConstraint(model, name) for model, names in RULES.items() for name in names]
