"""Merging variables within limits."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.errors import LimitExceeded, StringTooLong, VariablesTooDeep, VariablesTooLarge
from tasks_app.domain.limits import Limits, json_depth
from tasks_app.domain.text import to_json_bytes
from tasks_app.domain.variables import merge

LIMITS = Limits()
ROOMY_STRINGS = Limits(variable_string_bytes=2 * LIMITS.variables_bytes)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(ANY_TEXT, VALUES, max_size=4)
SMALL = Limits(variables_bytes=60, variables_depth=2, variable_string_bytes=16)


def nested(levels: int, *, use: str) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if use == "arrays" else {"k": value}
    return value


def test_merge_adds_replaces_and_deletes() -> None:
    """Null deletes, and null for an absent key is fine: check 83."""
    merged = merge({"a": 1, "b": 2, "c": 3}, {"b": None, "c": {"x": None}, "d": [None], "absent": None}, LIMITS)

    assert merged == {"a": 1, "c": {"x": None}, "d": [None]}


def test_merge_accepts_exactly_the_largest_map_and_refuses_one_byte_more() -> None:
    """The boundary is on the merged map, and the inputs stay as they were: check 80."""
    current = {"a": "x"}
    room = 1_048_576 - len(to_json_bytes({"a": "x", "b": ""}))

    merged = merge(current, {"b": "y" * room}, ROOMY_STRINGS)

    assert len(to_json_bytes(merged)) == 1_048_576
    with pytest.raises(VariablesTooLarge) as refused:
        merge(current, {"b": "y" * (room + 1)}, ROOMY_STRINGS)
    assert refused.value.limit == 1_048_576
    assert current == {"a": "x"}


def test_merge_frees_the_room_of_a_deleted_variable() -> None:
    """The size is that of the map after the deletion: check 80."""
    full = {"a": "x" * 50_000, "b": "y" * 50_000}
    limits = Limits(variables_bytes=len(to_json_bytes(full)))

    assert merge(full, {"a": None, "c": "z" * 50_000}, limits) == {"b": "y" * 50_000, "c": "z" * 50_000}


@pytest.mark.parametrize("use", ["arrays", "objects"])
def test_merge_accepts_depth_ten_and_refuses_eleven(use: str) -> None:
    """check 81."""
    assert merge({}, {"v": nested(10, use=use)}, LIMITS) == {"v": nested(10, use=use)}
    with pytest.raises(VariablesTooDeep):
        merge({}, {"v": nested(11, use=use)}, LIMITS)


def test_merge_refuses_a_depth_bomb_without_exhausting_the_stack() -> None:
    """check 81."""
    with pytest.raises(VariablesTooDeep):
        merge({}, {"v": nested(50_000, use="arrays")}, LIMITS)


@pytest.mark.parametrize(
    "holder",
    [lambda text: text, lambda text: [1, [text]], lambda text: {"k": text}, lambda text: {text: 1}],
    ids=["value", "in a list", "in an object", "as a key"],
)
def test_merge_measures_every_string_in_bytes(holder: Any) -> None:
    """Two-byte characters reach the limit at half the count: check 82."""
    fits = "ä" * 32_768
    assert len(fits.encode()) == 65_536

    assert merge({}, {"v": holder(fits)}, LIMITS) == {"v": holder(fits)}
    with pytest.raises(StringTooLong):
        merge({}, {"v": holder(fits + "a")}, LIMITS)


def test_merge_measures_the_names_of_variables_too() -> None:
    """check 82."""
    assert merge({}, {"n" * 65_536: 1}, LIMITS)
    with pytest.raises(StringTooLong):
        merge({}, {"n" * 65_537: 1}, LIMITS)


def test_merge_takes_lone_surrogates_and_nul() -> None:
    assert merge({}, {"v\ud800": "\udfff\x00"}, LIMITS) == {"v\ud800": "\udfff\x00"}


def test_boundaries_move_with_the_configuration() -> None:
    """check 85."""
    custom = Limits(
        variables_bytes=512_000,
        default_ttl_ms=1_800_000,
        max_ttl_ms=7_200_000,
        variables_depth=5,
        variable_string_bytes=32_768,
    )

    assert merge({}, {"v": nested(5, use="arrays"), "s": "x" * 32_768}, custom)
    with pytest.raises(VariablesTooDeep):
        merge({}, {"v": nested(6, use="arrays")}, custom)
    with pytest.raises(StringTooLong):
        merge({}, {"s": "x" * 32_769}, custom)
    with pytest.raises(VariablesTooLarge):
        merge({}, {f"s{n}": "x" * 32_000 for n in range(16)}, custom)


@given(current=MAPS, changes=MAPS)
def test_merge_never_touches_its_inputs_and_stays_within_limits(
    current: dict[str, Any], changes: dict[str, Any]
) -> None:
    before = copy.deepcopy((current, changes))

    try:
        merged = merge(current, changes, SMALL)
    except LimitExceeded:
        merged = {}

    assert (current, changes) == before
    assert len(to_json_bytes(merged)) <= 60
    assert json_depth(merged) <= 3
    assert None not in merged.values()


@given(current=MAPS, changes=MAPS)
def test_merge_twice_is_merge_once(current: dict[str, Any], changes: dict[str, Any]) -> None:
    once = merge(current, changes, LIMITS)

    assert merge(once, changes, LIMITS) == once
