"""The filters of our templates: `console.present` by short names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django import template

from console import present

register = template.Library()


@register.filter
def short_id(value: UUID | str) -> str:
    """`7f3a…e840`."""
    return present.short_id(value)


@register.filter
def age(at: datetime | None, now: datetime | None = None) -> str:
    """How long ago, in one unit; nothing for nothing."""
    return "" if at is None else present.span((now or datetime.now(UTC)) - at)


@register.filter
def countdown(at: datetime, now: datetime | None = None) -> present.Countdown:
    """How long it still has."""
    return present.countdown(at, now=now or datetime.now(UTC))


@register.filter
def iso(at: datetime | None) -> str:
    """A time for machines."""
    return "" if at is None else present.iso(at)


@register.filter
def capped(count: int) -> str:
    """`10k+`."""
    return present.capped(count)


@register.filter
def size(count: int) -> str:
    """`1.2 kB`."""
    return present.size(count)


@register.filter
def item(mapping: dict[Any, Any], key: Any) -> Any:
    """What a mapping has under this key."""
    return mapping.get(key)


@register.filter
def worker_name(worker_id: str) -> str:
    """Which worker it is, without what tells its restarts apart."""
    return present.worker_name(worker_id)


@register.filter
def length_of(time: timedelta) -> str:
    """`4 m 12 s`."""
    return present.length(time)


@register.filter
def seconds(milliseconds: int) -> str:
    """`5 s`."""
    return f"{milliseconds / 1000:g} s"


@register.filter
def outcome_words(outcome: str) -> str:
    """How a task ended, for people."""
    return present.OUTCOMES.get(outcome, outcome)
