"""The groups that give an account a role beside owner."""

from __future__ import annotations

from typing import Any

from django.db import migrations

ROLES = ("operator", "auditor", "admin")


def make_groups(apps: Any, schema_editor: Any) -> None:
    """Make the three groups; one that is there already stays as it is."""
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    for name in ROLES:
        groups.get_or_create(name=name)


def remove_groups(apps: Any, schema_editor: Any) -> None:
    """Remove the three groups, and with them the roles of every account."""
    groups = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias)
    groups.filter(name__in=ROLES).delete()


class Migration(migrations.Migration):
    initial = True
    dependencies = [("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make_groups, remove_groups)]
