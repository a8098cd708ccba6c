"""Who is answering what, webhooks with their outbox, and how each account is told that it is needed."""

from __future__ import annotations

import django.db.models.deletion
import tasks_app.models.rules
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0002_preferences"),
        ("tasks", "0009_inbox_lists"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "notify",
                    models.BooleanField(db_default=False, help_text="Whether its browsers may show a notification."),
                ),
                (
                    "advance",
                    models.BooleanField(db_default=True, help_text="Whether the next question opens after an answer."),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.TextField()),
                ("salt", models.TextField(unique=True)),
                (
                    "site",
                    models.TextField(
                        help_text="Where the links of its messages lead: scheme and host of this console."
                    ),
                ),
                (
                    "names_tool",
                    models.BooleanField(db_default=False, help_text="Whether a message names the tool and the owner."),
                ),
                (
                    "seen_id",
                    models.BigIntegerField(
                        help_text="Every question up to this one has been looked at for this address."
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=tasks_app.models.rules.DatabaseNow())),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="tasks.owner"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("question_id", models.BigIntegerField(help_text="Empty for a test.", null=True)),
                ("state", models.TextField(db_default="waiting")),
                ("attempts", models.PositiveIntegerField(db_default=0)),
                ("due_at", models.DateTimeField(db_default=tasks_app.models.rules.DatabaseNow())),
                ("created_at", models.DateTimeField(db_default=tasks_app.models.rules.DatabaseNow())),
                ("ended_at", models.DateTimeField(null=True)),
                ("error", models.TextField(db_default="", help_text="Why the last try failed.")),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="console.webhook",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AnswerClaim",
            fields=[
                ("question_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField(db_default=tasks_app.models.rules.DatabaseNow())),
                ("until", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tasks.owner"),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("since"))), name="claim_ends_after_it_began"
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(("url__startswith", "http://"), ("url__startswith", "https://"), _connector="OR"),
                name="webhook_url_is_of_the_web",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(condition=models.Q(("state", "waiting")), fields=["due_at", "id"], name="delivery_due"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["webhook", "-id"], name="delivery_latest"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "sent", "failed", "dropped"])), name="delivery_state_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("webhook", "question_id"), name="delivery_once_a_question"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "waiting"), ("ended_at__isnull", True)),
                    models.Q(
                        models.Q(("state", "waiting"), _negated=True),
                        models.Q(("ended_at__isnull", True), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="delivery_ended_iff_not_waiting",
            ),
        ),
    ]
