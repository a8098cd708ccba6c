"""How somebody likes the console, and searches worth a name."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import console.preference_models


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("console", "0001_roles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Preference",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preference",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "density",
                    models.TextField(
                        choices=[("comfortable", "Comfortable"), ("compact", "Compact")], default="comfortable"
                    ),
                ),
                (
                    "columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=console.preference_models.usual_columns, size=None
                    ),
                ),
                (
                    "time_zone",
                    models.TextField(blank=True, default="", help_text="A name like Europe/Rome; empty: the server's."),
                ),
                (
                    "single_keys",
                    models.BooleanField(default=True, help_text="Whether single characters are shortcuts."),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("density__in", ["comfortable", "compact"])),
                        name="preference_density_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("columns__contained_by", ["owner", "client", "attempts", "age", "updated", "expires"])
                        ),
                        name="preference_columns_are_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.TextField()),
                ("query", models.TextField(blank=True)),
                ("sort", models.TextField(choices=[("created", "Newest first"), ("expires", "Next to expire first")])),
                ("shared", models.BooleanField(default=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="view_has_a_name"),
                    models.CheckConstraint(
                        condition=models.Q(("sort__in", ["created", "expires"])), name="view_sort_is_known"
                    ),
                    models.UniqueConstraint(fields=("user", "name"), name="view_name_once_for_a_person"),
                    models.UniqueConstraint(
                        condition=models.Q(("shared", True)), fields=("name",), name="view_name_once_when_shared"
                    ),
                ],
            },
        ),
    ]
