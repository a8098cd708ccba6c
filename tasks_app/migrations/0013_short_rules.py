"""The same rules in fewer words: Postgres reads the constraints of a table anew for each statement that writes to it.

They count for what is written from now on; what is there already is looked through by the next migration, without
keeping anyone from writing meanwhile.
"""

from __future__ import annotations

import django.db.models.functions.comparison
import django.db.models.lookups
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Pair(models.Func):
    """Two words with a space between them; unknown when one of them is."""

    template = "(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = models.TextField()


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0012_told_and_frozen"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_outcome_iff_ended",
        ),
        migrations.RemoveConstraint(
            model_name="question",
            name="question_answer_iff_answered",
        ),
        migrations.RemoveConstraint(
            model_name="question",
            name="question_closed_iff_not_open",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_outcome_known",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_finished_iff_terminal",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_outcome_iff_finished",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_status_follows_outcome",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_result_iff_completed",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_error_iff_failed",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_input_iff_open",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_working_held_xor_runnable",
        ),
        migrations.AlterField(
            model_name="attempt",
            name="number",
            field=models.IntegerField(),
        ),
        migrations.AlterField(
            model_name="task",
            name="active_attempt",
            field=models.IntegerField(help_text="The token that may still record something.", null=True),
        ),
        migrations.AlterField(
            model_name="task",
            name="attempt",
            field=models.IntegerField(db_default=0, help_text="The last fencing token handed out."),
        ),
        migrations.AlterField(
            model_name="task",
            name="kept_bytes",
            field=models.BigIntegerField(
                db_default=0,
                help_text="Output, steps, questions and answers that it keeps: counted when it ends, for the quota.",
            ),
        ),
        migrations.AlterField(
            model_name="task",
            name="losses",
            field=models.IntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="task",
            name="max_retries",
            field=models.IntegerField(db_default=3),
        ),
        migrations.AlterField(
            model_name="task",
            name="open_questions",
            field=models.IntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="task",
            name="output_bytes",
            field=models.BigIntegerField(db_default=0, help_text="Where the next chunk of output begins."),
        ),
        migrations.AlterField(
            model_name="task",
            name="policy_version",
            field=models.IntegerField(
                db_default=0, help_text="Whose terms decided its expiry last; 0 for the settings."
            ),
        ),
        migrations.AlterField(
            model_name="task",
            name="poll_ms",
            field=models.IntegerField(db_default=5000),
        ),
        migrations.AlterField(
            model_name="task",
            name="retries",
            field=models.IntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="task",
            name="slot",
            field=models.IntegerField(help_text="Which of the owner's live places it takes."),
        ),
        migrations.AlterField(
            model_name="task",
            name="tool_version",
            field=models.IntegerField(db_default=1),
        ),
        AddConstraintNotValid(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("ended_at__isnull", True)), output_field=models.BooleanField()),
                    models.ExpressionWrapper(models.Q(("outcome__isnull", True)), output_field=models.BooleanField()),
                ),
                name="attempt_outcome_iff_ended",
            ),
        ),
        AddConstraintNotValid(
            model_name="question",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("state", "answered")), output_field=models.BooleanField()),
                    models.ExpressionWrapper(
                        models.Q(
                            ("action__isnull", False),
                            ("answer__isnull", False),
                            ("answered_by__isnull", False),
                            ("answered_via__isnull", False),
                        ),
                        output_field=models.BooleanField(),
                    ),
                ),
                name="question_answer_iff_answered",
            ),
        ),
        AddConstraintNotValid(
            model_name="question",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("state", "open")), output_field=models.BooleanField()),
                    models.ExpressionWrapper(models.Q(("closed_at__isnull", True)), output_field=models.BooleanField()),
                ),
                name="question_closed_iff_not_open",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.GreaterThanOrEqual(
                    django.db.models.functions.comparison.Least(
                        "tool_version",
                        "attempt",
                        "losses",
                        "retries",
                        "max_retries",
                        "open_questions",
                        "poll_ms",
                        "policy_version",
                    ),
                    0,
                ),
                name="task_counts_up_from_zero",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.GreaterThanOrEqual(
                    django.db.models.functions.comparison.Least("output_bytes", "kept_bytes"), 0
                ),
                name="task_sizes_are_not_negative",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(
                        models.Q(("status__in", ["completed", "failed", "cancelled"])),
                        output_field=models.BooleanField(),
                    ),
                    models.ExpressionWrapper(
                        models.Q(("finished_at__isnull", False)), output_field=models.BooleanField()
                    ),
                ),
                name="task_finished_iff_terminal",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("outcome__isnull", True)), output_field=models.BooleanField()),
                    models.ExpressionWrapper(
                        models.Q(("finished_at__isnull", True)), output_field=models.BooleanField()
                    ),
                ),
                name="task_outcome_iff_finished",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.In(
                    Pair("outcome", "status"),
                    [
                        "result completed",
                        "tool_error completed",
                        "rpc_error failed",
                        "cancelled cancelled",
                        "expired failed",
                    ],
                ),
                name="task_status_follows_outcome",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("status", "completed")), output_field=models.BooleanField()),
                    models.ExpressionWrapper(models.Q(("result__isnull", False)), output_field=models.BooleanField()),
                ),
                name="task_result_iff_completed",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("status", "failed")), output_field=models.BooleanField()),
                    models.ExpressionWrapper(models.Q(("error__isnull", False)), output_field=models.BooleanField()),
                ),
                name="task_error_iff_failed",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(
                        models.Q(("status", "input_required")), output_field=models.BooleanField()
                    ),
                    models.ExpressionWrapper(models.Q(("open_questions__gt", 0)), output_field=models.BooleanField()),
                ),
                name="task_input_iff_open",
            ),
        ),
        AddConstraintNotValid(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(
                        "active_attempt", "wake_at", function="num_nonnulls", output_field=models.IntegerField()
                    ),
                    django.db.models.functions.comparison.Cast(
                        models.ExpressionWrapper(models.Q(("status", "working")), output_field=models.BooleanField()),
                        models.IntegerField(),
                    ),
                ),
                name="task_working_held_xor_runnable",
            ),
        ),
    ]
