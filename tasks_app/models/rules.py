"""Small words for writing constraints that read as sentences.

Short ones: Postgres reads every constraint of a table anew, from its stored text, for each statement that writes to it.
"""

from __future__ import annotations

from enum import StrEnum

from django.db.models import (
    BooleanField,
    CheckConstraint,
    DateTimeField,
    ExpressionWrapper,
    Func,
    IntegerField,
    Q,
)
from django.db.models.lookups import Exact


class DatabaseNow(Func):
    """The database's clock, which a test may fake."""

    function = "tasks_now"
    output_field = DateTimeField()


def iff(one: Q, other: Q) -> Exact:
    """Both or neither. For conditions that are never unknown."""
    return Exact(_truth(one), _truth(other))


def _truth(condition: Q) -> ExpressionWrapper[Q]:
    return ExpressionWrapper(condition, output_field=BooleanField())


def known(name: str, field: str, values: type[StrEnum], *, optional: bool = False) -> CheckConstraint:
    """The column holds one of the words of this enumeration."""
    condition = Q(**{f"{field}__in": [str(value) for value in values]})
    return CheckConstraint(name=name, condition=condition | Q(**{f"{field}__isnull": True}) if optional else condition)


def is_sha256(field: str) -> Exact:
    """The column holds 32 bytes."""
    return Exact(Func(field, function="octet_length", output_field=IntegerField()), 32)
