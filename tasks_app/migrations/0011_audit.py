"""Where the chain once led to, so that one that was cut off and grew again is told from it."""

from __future__ import annotations

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
    ]
