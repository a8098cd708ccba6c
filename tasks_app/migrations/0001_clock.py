"""The functions that tables and rules lean on: the clock, the actor of a write, the creator of a task, its standing."""

from __future__ import annotations

from django.db import migrations

CLOCK = """
    -- The one clock of all comparisons between processes; a test may fake it. Declared stable although the clock moves, so
    -- that it can bound an index scan; read late, so that what follows a commit is never stamped before it.
    CREATE FUNCTION tasks_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT coalesce(nullif(current_setting('tasks.fake_now', true), '')::timestamptz, clock_timestamp())
    $$;
"""
ACTOR = """
    -- Who makes the change of this transaction. A write that does not say fails.
    CREATE FUNCTION tasks_actor() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
    DECLARE who text := current_setting('tasks.actor', true);
    BEGIN
        IF who IS NULL OR who = '' THEN
            RAISE EXCEPTION 'every change of a task needs an actor' USING ERRCODE = 'TD001';
        END IF;
        RETURN who::jsonb;
    END $$;
"""
CREATOR = """
    CREATE FUNCTION tasks_creator(owner bigint, credential bigint, request text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
        SELECT jsonb_strip_nulls(jsonb_build_object(
            'kind', CASE WHEN credential IS NULL THEN 'owner' ELSE 'client' END, 'id', owner, 'credential', credential,
            'via', CASE WHEN credential IS NULL THEN 'console' ELSE 'mcp' END, 'request', nullif(request, '')))
    $$;
"""
STANDING = """
    -- Where a task counts: its status, but a tool error apart from other completed tasks.
    CREATE FUNCTION tasks_standing(status text, outcome text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN outcome = 'tool_error' THEN 'tool_error' ELSE status END
    $$;
"""


class Migration(migrations.Migration):
    initial = True
    dependencies: list[tuple[str, str]] = []
    operations = [
        migrations.RunSQL(CLOCK, "DROP FUNCTION tasks_now()"),
        migrations.RunSQL(ACTOR, "DROP FUNCTION tasks_actor()"),
        migrations.RunSQL(CREATOR, "DROP FUNCTION tasks_creator(bigint, bigint, text)"),
        migrations.RunSQL(STANDING, "DROP FUNCTION tasks_standing(text, text)"),
    ]
