"""Small words for writing constraints that read as sentences."""

from __future__ import annotations

from enum import StrEnum

from django.db.models import CheckConstraint, DateTimeField, Func, IntegerField, Q
from django.db.models.lookups import Exact


class DatabaseNow(Func):
    """The database's clock, which a test may fake."""

    function = "tasks_now"
    output_field = DateTimeField()


def iff(one: Q, other: Q) -> Q:
    """Both or neither."""
    return (one & other) | (~one & ~other)


def known(name: str, field: str, values: type[StrEnum], *, optional: bool = False) -> CheckConstraint:
    """The column holds one of the words of this enumeration."""
    condition = Q(**{f"{field}__in": [str(value) for value in values]})
    return CheckConstraint(name=name, condition=condition | Q(**{f"{field}__isnull": True}) if optional else condition)


def is_sha256(field: str) -> Exact:
    """The column holds 32 bytes."""
    return Exact(Func(field, function="octet_length", output_field=IntegerField()), 32)
