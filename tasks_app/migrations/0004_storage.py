"""How the busy tables are kept: room on each page for updates in place, and a vacuum that comes early."""

from __future__ import annotations

from django.db import migrations

STORAGE = """
    ALTER TABLE tasks_task SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
    ALTER TABLE tasks_attempt SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
    ALTER TABLE tasks_tally SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
    ALTER TABLE tasks_worker SET (fillfactor = 50);
"""
USUAL = """
    ALTER TABLE tasks_worker RESET (fillfactor);
    ALTER TABLE tasks_tally RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
    ALTER TABLE tasks_attempt RESET (fillfactor, autovacuum_vacuum_scale_factor);
    ALTER TABLE tasks_task RESET (fillfactor, autovacuum_vacuum_scale_factor,
        autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor);
"""


class Migration(migrations.Migration):
    dependencies = [("tasks", "0003_children")]
    operations = [migrations.RunSQL(STORAGE, USUAL)]
