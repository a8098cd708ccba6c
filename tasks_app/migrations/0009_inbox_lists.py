"""The lists of the inbox: what only an operator may decide, and what is over, each found by an index."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0008_expiration_details"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("audience", "operator"), ("state", "open")),
                fields=["expires_at", "id"],
                name="question_approval",
            ),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("state", "open"), _negated=True),
                fields=["state", "-closed_at", "-id"],
                name="question_closed",
            ),
        ),
    ]
