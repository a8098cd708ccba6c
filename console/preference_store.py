"""How somebody likes to see the console, and searches worth a name: the writes and reads of both."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from console.preference_models import COLUMNS, Density, Preference, SavedView
from tasks_app.domain.text import clean_text

MOST_VIEWS = 50
NAME_CHARACTERS = 60
QUERY_CHARACTERS = 500


class ViewRefused(Exception):
    """A view that cannot be saved; the message says why."""


def preference_of(user: User) -> Preference:
    """How somebody likes the console; the defaults of whoever never chose."""
    return Preference.objects.filter(user=user).first() or Preference(user=user)


def set_density(user: User, density: Density) -> None:
    """Remember how much room a row takes."""
    Preference.objects.update_or_create(user=user, defaults={"density": density})


def set_columns(user: User, shown: Collection[str]) -> None:
    """Remember which columns are shown, in the order that they have; what is no column is left out."""
    Preference.objects.update_or_create(user=user, defaults={"columns": [name for name in COLUMNS if name in shown]})


def set_single_keys(user: User, is_on: bool) -> None:
    """Remember whether single characters are shortcuts."""
    Preference.objects.update_or_create(user=user, defaults={"single_keys": is_on})


def set_time_zone(user: User, zone: str) -> None:
    """Remember in which zone times are shown; an empty name is the server's."""
    Preference.objects.update_or_create(user=user, defaults={"time_zone": zone})


def views_for(user: User) -> list[SavedView]:
    """One's own views and those that are shared, by name."""
    return list(SavedView.objects.filter(Q(user=user) | Q(shared=True)).order_by("name", "pk"))


def save_view(user: User, *, name: str, query: str, sort: str, shared: bool = False) -> SavedView:
    """Save a search under a name; one's own view of that name is replaced. Raises ViewRefused."""
    name = clean_text(name.strip(), NAME_CHARACTERS)
    if not name:
        raise ViewRefused("Give the view a name.")
    if SavedView.objects.filter(user=user).exclude(name=name).count() >= MOST_VIEWS:
        raise ViewRefused(f"You have {MOST_VIEWS} views. Delete one first.")
    values = {"query": clean_text(query.strip(), QUERY_CHARACTERS), "sort": sort, "shared": shared}
    try:
        with transaction.atomic():
            return SavedView.objects.update_or_create(user=user, name=name, defaults=values)[0]
    except IntegrityError:
        raise ViewRefused(f"There is a shared view “{name}” already. Choose another name.") from None


def delete_view(user: User, view_id: int, *, anyones: bool = False) -> bool:
    """Delete one's own view or, with `anyones`, a shared one of somebody else. False when there is none."""
    whose = Q(user=user) | Q(shared=True) if anyones else Q(user=user)
    return SavedView.objects.filter(whose, pk=view_id).delete()[0] > 0
