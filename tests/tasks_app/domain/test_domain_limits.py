"""Limits and the functions that hold values against them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import AnswerTooLarge, ArgumentsTooLarge, ResultTooLarge, TooDeep, TooManyEntries
from tasks_app.domain.limits import (
    Limits,
    check_answer,
    check_arguments,
    check_result,
    check_size,
    check_update,
    json_depth,
)

NAMES = [field.name for field in dataclasses.fields(Limits)]


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_limits_have_the_documented_defaults() -> None:
    limits = Limits()

    assert (limits.default_ttl_ms, limits.max_ttl_ms) == (3_600_000, 86_400_000)
    assert limits.default_poll_interval_ms == 5_000
    assert (limits.live_tasks, limits.owner_bytes) == (100, 268_435_456)
    assert (limits.arguments_bytes, limits.result_bytes, limits.answer_bytes) == (262_144, 4_194_304, 65_536)
    assert (limits.update_entries, limits.update_bytes, limits.update_depth) == (64, 262_144, 32)
    assert (limits.variables_bytes, limits.variables_depth, limits.variable_string_bytes) == (1_048_576, 10, 65_536)
    assert (limits.list_page, limits.sync_budget_seconds) == (50, 20)
    assert (limits.question_ttl_seconds, limits.max_keep_seconds) == (604_800, 2_592_000)
    assert (limits.minimum_retention_seconds, limits.purge_after_seconds) == (300, 604_800)
    assert limits.record_retention_seconds == 31_536_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, True, "5", None, float("nan"), float("inf")])
def test_limit_that_is_not_a_positive_number_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_default_lifetime_above_the_maximum_is_refused() -> None:
    with pytest.raises(ValueError, match="default_ttl_ms"):
        Limits(default_ttl_ms=2_000, max_ttl_ms=1_000)


@pytest.mark.parametrize(
    ("value", "depth"),
    [(1, 0), ("x", 0), (None, 0), ([], 1), ({}, 1), ([1, [2]], 2), ({"a": [{"b": 1}]}, 3), ([[], [[]]], 3)],
)
def test_json_depth_counts_arrays_and_objects(value: object, depth: int) -> None:
    assert json_depth(value) == depth


def test_json_depth_survives_any_nesting() -> None:
    assert json_depth(nested(100_000)) == 100_000


@given(st.integers(0, 60))
def test_json_depth_is_the_number_of_levels(levels: int) -> None:
    assert json_depth(nested(levels)) == levels


def test_size_counts_compact_utf8_bytes() -> None:
    assert check_size("ä", limit=4, error=ArgumentsTooLarge) == 4
    with pytest.raises(ArgumentsTooLarge):
        check_size("ää", limit=5, error=ArgumentsTooLarge)


def test_arguments_and_results_are_held_against_their_own_limit() -> None:
    limits = Limits(arguments_bytes=10, result_bytes=20)

    assert check_arguments({"a": "xx"}, limits=limits) == 10
    assert check_result("x" * 18, limits=limits) == 20
    with pytest.raises(ArgumentsTooLarge) as too_large:
        check_arguments({"a": "xxx"}, limits=limits)
    with pytest.raises(ResultTooLarge):
        check_result("x" * 19, limits=limits)

    assert too_large.value.limit == 10


def test_answer_is_held_against_size_and_depth() -> None:
    limits = Limits(answer_bytes=64, update_depth=3)

    assert check_answer({"a": [[1]]}, limits=limits) > 0
    with pytest.raises(AnswerTooLarge):
        check_answer({"a": "x" * 64}, limits=limits)
    with pytest.raises(TooDeep):
        check_answer(nested(5_000), limits=limits)


def test_update_is_held_against_entries_depth_and_size() -> None:
    limits = Limits(update_entries=2, update_bytes=64, update_depth=3)

    assert check_update({"a": 1, "b": 2}, limits=limits) == 13
    with pytest.raises(TooManyEntries):
        check_update({"a": 1, "b": 2, "c": 3}, limits=limits)
    with pytest.raises(TooDeep):
        check_update({"a": [[[]]]}, limits=limits)
    with pytest.raises(AnswerTooLarge):
        check_update({"a": "x" * 64}, limits=limits)


def test_size_of_text_with_a_lone_surrogate_is_counted_not_an_error() -> None:
    assert check_size("\ud800", limit=100, error=ResultTooLarge) == 5
