"""The bytes of the children of a task, counted when it ends, so that the quota of an owner holds for all that is kept."""

from __future__ import annotations

import pgtrigger.compiler
import pgtrigger.migrations
import tasks_app.models.triggers
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0009_inbox_lists"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="task",
            name="task_status_is_logged",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="task",
            name="task_purge_is_logged",
        ),
        migrations.AddField(
            model_name="task",
            name="kept_bytes",
            field=models.PositiveBigIntegerField(
                db_default=0,
                help_text="Output, steps, questions and answers that it keeps: counted when it ends, for the quota.",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_kept_is_counted",
                sql=tasks_app.models.triggers.RuleSql(
                    condition="WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)",
                    func="NEW.kept_bytes := NEW.output_bytes + (SELECT coalesce(sum(octet_length(s.value)), 0) FROM tasks_step s WHERE s.task_id = NEW.id) + (SELECT coalesce(sum(octet_length(q.request) + coalesce(octet_length(q.answer), 0)), 0) FROM tasks_question q WHERE q.task_id = NEW.id); RETURN NEW;",
                    hash="69c6f7908df5e45a738f92772a547685c0840c7d",
                    operation='UPDATE OF "finished_at"',
                    pgid="pgtrigger_task_kept_is_counted_9c176",
                    table="tasks_task",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_status_is_logged",
                sql=tasks_app.models.triggers.RuleSql(
                    condition="WHEN (OLD.status IS DISTINCT FROM NEW.status)",
                    func="INSERT INTO tasks_event (task_id, owner_id, kind, from_status, to_status, attempt, actor, detail) VALUES (NEW.id, NEW.owner_id, 'status', OLD.status, NEW.status, NEW.attempt, tasks_actor(), jsonb_strip_nulls(jsonb_build_object('outcome', NEW.outcome))); INSERT INTO tasks_tally (owner_id, tool, \"left\", entered, seconds, bytes) VALUES (NEW.owner_id, NEW.tool, OLD.status, tasks_standing(NEW.status, NEW.outcome), extract(epoch FROM NEW.status_at - OLD.status_at), CASE WHEN NEW.finished_at IS NULL THEN 0 ELSE coalesce(octet_length(NEW.result), 0) + coalesce(octet_length(NEW.error), 0) + octet_length(NEW.variables) + NEW.kept_bytes END); RETURN NULL;",
                    hash="384ca60393846cf0e91d44e19e78a4ab0179040b",
                    operation='UPDATE OF "status"',
                    pgid="pgtrigger_task_status_is_logged_2626b",
                    table="tasks_task",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_purge_is_logged",
                sql=tasks_app.models.triggers.RuleSql(
                    func="INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor) VALUES (OLD.id, OLD.owner_id, 'purged', OLD.attempt, tasks_actor()); INSERT INTO tasks_tally (owner_id, tool, \"left\", entered, seconds, bytes) VALUES (OLD.owner_id, OLD.tool, 'expired', 'gone', extract(epoch FROM tasks_now() - OLD.expired_at), -(octet_length(OLD.arguments) + coalesce(octet_length(OLD.result), 0) + coalesce(octet_length(OLD.error), 0) + octet_length(OLD.variables) + OLD.kept_bytes)); RETURN NULL;",
                    hash="882a3b0671698d573128564178636d75292d3732",
                    operation="DELETE",
                    pgid="pgtrigger_task_purge_is_logged_d8c5a",
                    table="tasks_task",
                    when="AFTER",
                ),
            ),
        ),
    ]
