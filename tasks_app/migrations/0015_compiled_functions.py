"""The functions that every write calls, in the language whose code Postgres keeps ready from one call to the next.

A function in SQL that reads the clock cannot be put in place of its call, so an executor was started for each.
"""

from __future__ import annotations

from django.db import migrations

BODIES = {
    "tasks_now() RETURNS timestamptz": (
        "STABLE PARALLEL SAFE",
        "coalesce(nullif(current_setting('tasks.fake_now', true), '')::timestamptz, clock_timestamp())",
    ),
    "tasks_creator(owner bigint, credential bigint, request text) RETURNS jsonb": (
        "IMMUTABLE",
        """jsonb_strip_nulls(jsonb_build_object(
            'kind', CASE WHEN credential IS NULL AND request = '' THEN 'owner' ELSE 'client' END, 'id', owner, 'credential', credential,
            'via', CASE WHEN credential IS NULL AND request = '' THEN 'console' ELSE 'mcp' END, 'request', nullif(request, '')))""",
    ),
}
NOW = "CREATE OR REPLACE FUNCTION {} LANGUAGE plpgsql {} AS $$ BEGIN RETURN {}; END $$"
BEFORE = "CREATE OR REPLACE FUNCTION {} LANGUAGE sql {} AS $$ SELECT {} $$"


class Migration(migrations.Migration):
    dependencies = [("tasks", "0014_short_rules_hold")]
    operations = [
        migrations.RunSQL(NOW.format(head, kind, body), BEFORE.format(head, kind, body))
        for head, (kind, body) in BODIES.items()
    ]
