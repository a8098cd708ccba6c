"""The same rules again, under the same names, by a trigger that Postgres compiles once.

A constraint it reads anew, from its stored text, for each statement that writes to the table.
"""

from __future__ import annotations

import pgtrigger.compiler
import pgtrigger.migrations
import tasks_app.models.triggers
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0015_compiled_functions"),
    ]

    operations = [
        pgtrigger.migrations.AddTrigger(
            model_name="attempt",
            trigger=pgtrigger.compiler.Trigger(
                name="attempt_well_formed",
                sql=tasks_app.models.triggers.RuleSql(
                    declare="DECLARE broken TEXT;",
                    func="IF ((NEW.stop_acknowledged_at IS NULL OR NEW.stop_requested_at IS NOT NULL) AND (NEW.stop_requested_at IS NULL OR NEW.outcome IN ('stopped', 'killed', 'lost')) AND (NEW.number > 0) AND (NEW.ended_at >= NEW.started_at) AND ((NEW.ended_at IS NULL) = (NEW.outcome IS NULL)) AND (NEW.outcome IN ('completed', 'suspended', 'failed', 'timed_out', 'lost', 'released', 'stopped', 'killed')) AND (NEW.stop_requested_at IS NOT NULL OR NEW.outcome NOT IN ('stopped', 'killed'))) IS FALSE THEN broken := CASE WHEN (NEW.stop_acknowledged_at IS NULL OR NEW.stop_requested_at IS NOT NULL) IS FALSE THEN 'attempt_acknowledges_a_stop' WHEN (NEW.stop_requested_at IS NULL OR NEW.outcome IN ('stopped', 'killed', 'lost')) IS FALSE THEN 'attempt_asked_records_nothing' WHEN (NEW.number > 0) IS FALSE THEN 'attempt_counts_from_one' WHEN (NEW.ended_at >= NEW.started_at) IS FALSE THEN 'attempt_ends_after_it_starts' WHEN ((NEW.ended_at IS NULL) = (NEW.outcome IS NULL)) IS FALSE THEN 'attempt_outcome_iff_ended' WHEN (NEW.outcome IN ('completed', 'suspended', 'failed', 'timed_out', 'lost', 'released', 'stopped', 'killed')) IS FALSE THEN 'attempt_outcome_known' WHEN (NEW.stop_requested_at IS NOT NULL OR NEW.outcome NOT IN ('stopped', 'killed')) IS FALSE THEN 'attempt_stopped_only_when_asked' END; RAISE EXCEPTION 'a row of % breaks the rule %', TG_TABLE_NAME, broken USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = broken; END IF; RETURN NEW;",
                    hash="c42db3525376bc46687ff21f3e0899da75858aab",
                    operation="INSERT OR UPDATE",
                    pgid="pgtrigger_attempt_well_formed_465b7",
                    table="tasks_attempt",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_well_formed",
                sql=tasks_app.models.triggers.RuleSql(
                    declare="DECLARE broken TEXT;",
                    func="IF ((NEW.active_attempt = NEW.attempt) AND (least(NEW.tool_version, NEW.attempt, NEW.losses, NEW.retries, NEW.max_retries, NEW.open_questions, NEW.poll_ms, NEW.policy_version) >= 0) AND ((NEW.status = 'failed') = (NEW.error IS NOT NULL)) AND (NEW.expired_at IS NULL OR NEW.finished_at IS NOT NULL) AND ((NEW.status IN ('cancelled', 'completed', 'failed')) = (NEW.finished_at IS NOT NULL)) AND (NEW.tool <> '') AND ((NEW.status = 'input_required') = (NEW.open_questions > 0)) AND (NEW.idempotency_key IS NULL OR NEW.request_digest IS NOT NULL) AND ((NEW.outcome IS NULL) = (NEW.finished_at IS NULL)) AND ((NEW.status = 'completed') = (NEW.result IS NOT NULL)) AND (least(NEW.output_bytes, NEW.kept_bytes) >= 0) AND (NEW.slot > 0) AND (NEW.outcome || ' ' || NEW.status IN ('result completed', 'tool_error completed', 'rpc_error failed', 'cancelled cancelled', 'expired failed')) AND (NEW.status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')) AND (num_nonnulls(NEW.active_attempt, NEW.wake_at) = (NEW.status = 'working')::int)) IS FALSE THEN broken := CASE WHEN (NEW.active_attempt = NEW.attempt) IS FALSE THEN 'task_active_is_latest' WHEN (least(NEW.tool_version, NEW.attempt, NEW.losses, NEW.retries, NEW.max_retries, NEW.open_questions, NEW.poll_ms, NEW.policy_version) >= 0) IS FALSE THEN 'task_counts_up_from_zero' WHEN ((NEW.status = 'failed') = (NEW.error IS NOT NULL)) IS FALSE THEN 'task_error_iff_failed' WHEN (NEW.expired_at IS NULL OR NEW.finished_at IS NOT NULL) IS FALSE THEN 'task_expired_only_finished' WHEN ((NEW.status IN ('cancelled', 'completed', 'failed')) = (NEW.finished_at IS NOT NULL)) IS FALSE THEN 'task_finished_iff_terminal' WHEN (NEW.tool <> '') IS FALSE THEN 'task_has_a_tool' WHEN ((NEW.status = 'input_required') = (NEW.open_questions > 0)) IS FALSE THEN 'task_input_iff_open' WHEN (NEW.idempotency_key IS NULL OR NEW.request_digest IS NOT NULL) IS FALSE THEN 'task_key_has_digest' WHEN ((NEW.outcome IS NULL) = (NEW.finished_at IS NULL)) IS FALSE THEN 'task_outcome_iff_finished' WHEN ((NEW.status = 'completed') = (NEW.result IS NOT NULL)) IS FALSE THEN 'task_result_iff_completed' WHEN (least(NEW.output_bytes, NEW.kept_bytes) >= 0) IS FALSE THEN 'task_sizes_are_not_negative' WHEN (NEW.slot > 0) IS FALSE THEN 'task_slot_counts_from_one' WHEN (NEW.outcome || ' ' || NEW.status IN ('result completed', 'tool_error completed', 'rpc_error failed', 'cancelled cancelled', 'expired failed')) IS FALSE THEN 'task_status_follows_outcome' WHEN (NEW.status IN ('working', 'input_required', 'completed', 'failed', 'cancelled')) IS FALSE THEN 'task_status_known' WHEN (num_nonnulls(NEW.active_attempt, NEW.wake_at) = (NEW.status = 'working')::int) IS FALSE THEN 'task_working_held_xor_runnable' END; RAISE EXCEPTION 'a row of % breaks the rule %', TG_TABLE_NAME, broken USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = broken; END IF; RETURN NEW;",
                    hash="315d56ccd0ad1bb9f6d43f765518de4703bef15b",
                    operation="INSERT OR UPDATE",
                    pgid="pgtrigger_task_well_formed_4318e",
                    table="tasks_task",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_outcome_known",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_counts_from_one",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_acknowledges_a_stop",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_stopped_only_when_asked",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_asked_records_nothing",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_ends_after_it_starts",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_outcome_iff_ended",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_status_known",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_slot_counts_from_one",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_has_a_tool",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_expired_only_finished",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_key_has_digest",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_active_is_latest",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_counts_up_from_zero",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_sizes_are_not_negative",
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
    ]
