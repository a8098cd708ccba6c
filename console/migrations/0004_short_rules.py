"""The same rule in fewer words."""

from __future__ import annotations

import django.db.models.lookups
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0003_notice"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="delivery",
            name="delivery_ended_iff_not_waiting",
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.ExpressionWrapper(models.Q(("state", "waiting")), output_field=models.BooleanField()),
                    models.ExpressionWrapper(models.Q(("ended_at__isnull", True)), output_field=models.BooleanField()),
                ),
                name="delivery_ended_iff_not_waiting",
            ),
        ),
    ]
