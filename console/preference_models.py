"""What only the console keeps: how somebody likes to see it, and searches worth a name. `console.store` writes it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import models

COLUMNS = ("owner", "client", "attempts", "age", "updated", "expires")
"""The columns that the list of tasks may leave out; what it is and how it stands are always there."""


class Density(models.TextChoices):
    """How much room a row takes."""

    COMFORTABLE = "comfortable"
    """Two lines."""

    COMPACT = "compact"
    """One line."""


def usual_columns() -> list[str]:
    """The columns of somebody who never chose any."""
    return ["owner", "age", "updated", "expires"]


class Preference(models.Model):
    """How one person likes the console; without a row, the defaults."""

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE, related_name="preference")
    density = models.TextField(choices=Density.choices, default=Density.COMFORTABLE)
    columns = ArrayField(models.TextField(), default=usual_columns)
    time_zone = models.TextField(blank=True, default="", help_text="A name like Europe/Rome; empty: the server's.")
    single_keys = models.BooleanField(default=True, help_text="Whether single characters are shortcuts.")

    class Meta:
        constraints = [
            models.CheckConstraint(name="preference_density_is_known", condition=models.Q(density__in=Density.values)),
            models.CheckConstraint(
                name="preference_columns_are_known", condition=models.Q(columns__contained_by=list(COLUMNS))
            ),
        ]

    def __str__(self) -> str:
        return f"preferences of {self.user_id}"


class SavedView(models.Model):
    """A search with a name: one person's, or shown to everybody."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    name = models.TextField()
    query = models.TextField(blank=True)
    sort = models.TextField(choices=[("created", "Newest first"), ("expires", "Next to expire first")])
    shared = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(name="view_has_a_name", condition=~models.Q(name="")),
            models.CheckConstraint(name="view_sort_is_known", condition=models.Q(sort__in=["created", "expires"])),
            # Also the index of the rail: one's own views by name.
            models.UniqueConstraint(name="view_name_once_for_a_person", fields=["user", "name"]),
            # Everybody sees these in one list.
            models.UniqueConstraint(
                name="view_name_once_when_shared", fields=["name"], condition=models.Q(shared=True)
            ),
        ]

    def __str__(self) -> str:
        return self.name
