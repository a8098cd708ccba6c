"""How things read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console import present
from tasks_app.domain.status import Status

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (86_400, "24h"), (172_800, "2d")],
)
def test_span_is_one_unit(seconds: int, text: str) -> None:
    assert present.span(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.25, "1.2 s"), (59, "59 s"), (252, "4 m 12 s"), (3700, "1 h 1 m"), (90_000, "1 d 1 h")]
)
def test_length_is_two_units(seconds: float, text: str) -> None:
    assert present.length(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "text", "urgency"),
    [(42, "0:42", "now"), (356, "5:56", "near"), (1320, "22m", "soon"), (10_800, "3h", ""), (-7200, "2h ago", "")],
)
def test_countdown_grows_more_urgent(seconds: int, text: str, urgency: str) -> None:
    shown = present.countdown(NOW + timedelta(seconds=seconds), now=NOW)

    assert (shown.text, shown.urgency) == (text, urgency)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (1318, "1,318"), (9999, "9,999"), (10_000, "10k+"), (45_678, "45k+")]
)
def test_counts_are_exact_while_that_means_something(count: int, text: str) -> None:
    assert present.capped(count) == text


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999 B"), (1200, "1.2 kB"), (4_200_000, "4.2 MB"), (10**12, "1.0 TB")]
)
def test_sizes_have_one_decimal(count: int, text: str) -> None:
    assert present.size(count) == text


def test_every_status_has_a_word_an_icon_and_a_shape_of_its_own() -> None:
    chips = [present.chip(status) for status in Status]

    assert len({(chip.word, chip.icon, chip.shape) for chip in chips}) == len(Status)
