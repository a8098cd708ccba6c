"""What pages and listeners have to hear raises the version; what has ended is frozen to its last column.

And a caller over the protocol who has no credential of ours, as one with a token of another issuer, is called a client.
"""

from __future__ import annotations

import pgtrigger.compiler
import pgtrigger.migrations
import tasks_app.models.triggers
from django.db import migrations, models


CREATOR = """
    CREATE OR REPLACE FUNCTION tasks_creator(owner bigint, credential bigint, request text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
        SELECT jsonb_strip_nulls(jsonb_build_object(
            'kind', CASE WHEN {is_person} THEN 'owner' ELSE 'client' END, 'id', owner, 'credential', credential,
            'via', CASE WHEN {is_person} THEN 'console' ELSE 'mcp' END, 'request', nullif(request, '')))
    $$;
"""
# Every call over the protocol has the id of its request; what a person runs in the console has none.
NOW = CREATOR.format(is_person="credential IS NULL AND request = ''")
BEFORE = CREATOR.format(is_person="credential IS NULL")


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0011_audit"),
    ]

    operations = [
        migrations.RunSQL(NOW, BEFORE),
        pgtrigger.migrations.RemoveTrigger(
            model_name="task",
            name="task_guard",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="task",
            name="task_identity_guard",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="task",
            name="task_birth_is_logged",
        ),
        migrations.AddField(
            model_name="attempt",
            name="failed_step",
            field=models.TextField(help_text="The step that it failed at, if it was in one.", null=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_guard",
                sql=tasks_app.models.triggers.RuleSql(
                    func="IF OLD.finished_at IS NOT NULL AND (NEW.status, NEW.outcome, NEW.finished_at, NEW.attempt, NEW.status_message, NEW.progress_done, NEW.progress_total, NEW.updated_at, NEW.status_at, NEW.losses, NEW.retries, NEW.output_bytes) IS DISTINCT FROM (OLD.status, OLD.outcome, OLD.finished_at, OLD.attempt, OLD.status_message, OLD.progress_done, OLD.progress_total, OLD.updated_at, OLD.status_at, OLD.losses, OLD.retries, OLD.output_bytes) THEN RAISE EXCEPTION 'task % is already %', OLD.id, OLD.status USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.version < OLD.version THEN RAISE EXCEPTION 'the version of task % only rises', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.attempt < OLD.attempt OR NEW.attempt > OLD.attempt + 1 THEN RAISE EXCEPTION 'attempt of task % may only rise by one', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; IF OLD.status = 'input_required' AND NEW.attempt <> OLD.attempt THEN RAISE EXCEPTION 'task % waits for input', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.expires_at < OLD.expires_at AND OLD.finished_at IS NOT NULL THEN RAISE EXCEPTION 'the expiry of finished task % cannot be brought forward', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; IF OLD.expired_at IS NOT NULL AND NEW.expired_at IS DISTINCT FROM OLD.expired_at THEN RAISE EXCEPTION 'task % has expired', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; IF (NEW.status, NEW.status_message, NEW.open_questions, NEW.attempt, NEW.expires_at, NEW.progress_done, NEW.progress_total, NEW.held, NEW.expired_at) IS DISTINCT FROM (OLD.status, OLD.status_message, OLD.open_questions, OLD.attempt, OLD.expires_at, OLD.progress_done, OLD.progress_total, OLD.held, OLD.expired_at) THEN NEW.version := OLD.version + 1; IF OLD.finished_at IS NULL THEN NEW.updated_at := greatest(tasks_now(), OLD.updated_at + interval '1 microsecond'); END IF; IF NEW.status <> OLD.status THEN NEW.status_at := NEW.updated_at; END IF; END IF; RETURN NEW;",
                    hash="b2ce6b0d8f2e1b2ffab1d9afbb035d4e27c914eb",
                    operation="UPDATE",
                    pgid="pgtrigger_task_guard_9d073",
                    table="tasks_task",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_identity_guard",
                sql=tasks_app.models.triggers.RuleSql(
                    func="IF (NEW.id, NEW.owner_id, NEW.slot, NEW.tool, NEW.tool_version, NEW.arguments, NEW.labels, NEW.created_at, NEW.credential_id) IS DISTINCT FROM (OLD.id, OLD.owner_id, OLD.slot, OLD.tool, OLD.tool_version, OLD.arguments, OLD.labels, OLD.created_at, OLD.credential_id) THEN RAISE EXCEPTION 'identity of task % is immutable', OLD.id USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW;",
                    hash="587b6b3f20082706b564257f88787f1cf7a716f9",
                    operation='UPDATE OF "id", "owner_id", "slot", "tool", "tool_version", "arguments", "labels", "created_at", "credential_id"',
                    pgid="pgtrigger_task_identity_guard_0a643",
                    table="tasks_task",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_variables_are_a_change",
                sql=tasks_app.models.triggers.RuleSql(
                    condition="WHEN (OLD.variables IS DISTINCT FROM NEW.variables)",
                    func="NEW.version := OLD.version + 1; NEW.updated_at := greatest(tasks_now(), OLD.updated_at + interval '1 microsecond'); RETURN NEW;",
                    hash="25ac45345d429d6921fb6d9fb069cbc394f9705f",
                    operation='UPDATE OF "variables"',
                    pgid="pgtrigger_task_variables_are_a_change_ebea3",
                    table="tasks_task",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="task",
            trigger=pgtrigger.compiler.Trigger(
                name="task_birth_is_logged",
                sql=tasks_app.models.triggers.RuleSql(
                    func="INSERT INTO tasks_event (task_id, owner_id, kind, to_status, attempt, actor, detail, at) VALUES (NEW.id, NEW.owner_id, 'created', NEW.status, NEW.attempt, tasks_creator(NEW.owner_id, NEW.credential_id, NEW.request_id), jsonb_build_object('tool', NEW.tool), NEW.created_at); INSERT INTO tasks_tally (owner_id, tool, entered, bytes, at) VALUES (NEW.owner_id, NEW.tool, NEW.status, octet_length(NEW.arguments), NEW.created_at); IF NEW.held THEN INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, at) VALUES (NEW.id, NEW.owner_id, 'held', NEW.attempt, jsonb_build_object('kind', 'engine', 'via', 'policy', 'reason', 'policy version ' || NEW.policy_version), NEW.created_at); END IF; IF NEW.status = 'input_required' AND NEW.expires_at > NEW.created_at + nullif(current_setting('tasks.asked_ttl', true), '')::float8 * interval '1 ms' THEN INSERT INTO tasks_event (task_id, owner_id, kind, attempt, actor, detail, at) VALUES (NEW.id, NEW.owner_id, 'ttl', NEW.attempt, tasks_creator(NEW.owner_id, NEW.credential_id, NEW.request_id), jsonb_build_object('from', NEW.created_at + nullif(current_setting('tasks.asked_ttl', true), '')::float8 * interval '1 ms', 'to', NEW.expires_at, 'why', 'asked'), NEW.created_at); END IF; RETURN NULL;",
                    hash="77c371865c6662daa5b3bbd9c856dfa651688eb9",
                    operation="INSERT",
                    pgid="pgtrigger_task_birth_is_logged_7fb38",
                    table="tasks_task",
                    when="AFTER",
                ),
            ),
        ),
    ]
