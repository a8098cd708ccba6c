"""Where the chain once led to; the audit log by person with their clients; never fetched without what was cancelled."""

from __future__ import annotations

import django.db.models.fields.json
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0010_kept_bytes"),
    ]

    operations = [
        migrations.AddField(
            model_name="chaincheck",
            name="head",
            field=models.PositiveBigIntegerField(db_default=0, help_text="The furthest batch that was ever in order."),
        ),
        migrations.AddField(
            model_name="chaincheck",
            name="head_hash",
            field=models.BinaryField(
                help_text="Its hash: a chain that was cut off and grew again is another.", null=True
            ),
        ),
        migrations.RemoveIndex(
            model_name="event",
            name="event_person",
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                django.db.models.fields.json.KeyTextTransform("id", "actor"),
                models.OrderBy(models.F("id"), descending=True),
                condition=models.Q(("actor__kind__in", ("owner", "operator", "admin", "client"))),
                name="event_person",
            ),
        ),
        migrations.RemoveIndex(
            model_name="expiration",
            name="expiration_unfetched",
        ),
        migrations.AddIndex(
            model_name="expiration",
            index=models.Index(
                condition=models.Q(
                    ("fetched_times", 0), ("was_live", False), models.Q(("outcome", "cancelled"), _negated=True)
                ),
                fields=["-observed_at", "task_id"],
                name="expiration_unfetched",
            ),
        ),
    ]
