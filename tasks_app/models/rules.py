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
    TextField,
)
from django.db.models.functions import Cast, Least
from django.db.models.lookups import Exact, GreaterThanOrEqual, In


class DatabaseNow(Func):
    """The database's clock, which a test may fake."""

    function = "tasks_now"
    output_field = DateTimeField()


class Pair(Func):
    """Two words with a space between them; unknown when one of them is."""

    template = "(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = TextField()


def iff(one: Q, other: Q) -> Exact:
    """Both or neither. For conditions that are never unknown."""
    return Exact(_truth(one), _truth(other))


def one_set_if(condition: Q, *fields: str) -> Exact:
    """One of these columns is set where the condition holds, and otherwise none."""
    set_ones = Func(*fields, function="num_nonnulls", output_field=IntegerField())
    return Exact(set_ones, Cast(_truth(condition), IntegerField()))


def together(one: str, other: str, allowed: dict[str, str]) -> In:
    """Where the one column is set it holds one of these words, and the other the word that goes with it."""
    return In(Pair(one, other), [f"{word} {follows}" for word, follows in allowed.items()])


def none_negative(name: str, *fields: str) -> CheckConstraint:
    """None of these columns, all of one type, is below zero."""
    return CheckConstraint(name=name, condition=GreaterThanOrEqual(Least(*fields), 0))


def _truth(condition: Q) -> ExpressionWrapper[Q]:
    return ExpressionWrapper(condition, output_field=BooleanField())


def known(name: str, field: str, values: type[StrEnum], *, optional: bool = False) -> CheckConstraint:
    """The column holds one of the words of this enumeration."""
    condition = Q(**{f"{field}__in": [str(value) for value in values]})
    return CheckConstraint(name=name, condition=condition | Q(**{f"{field}__isnull": True}) if optional else condition)


def is_sha256(field: str) -> Exact:
    """The column holds 32 bytes."""
    return Exact(Func(field, function="octet_length", output_field=IntegerField()), 32)
