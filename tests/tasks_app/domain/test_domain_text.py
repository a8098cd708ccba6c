"""Storable text and digests."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.text import clean_text, digest, is_storable, request_digest, to_json_bytes

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("given_text", "cleaned"),
    [
        ("plain", "plain"),
        ("a\x00b", "a\ufffdb"),
        ("\ud800b", "\ufffdb"),
        ("a\udfff", "a\ufffd"),
        ("😀\n\t", "😀\n\t"),
        ("", ""),
    ],
)
def test_clean_text_replaces_only_what_cannot_be_stored(given_text: str, cleaned: str) -> None:
    assert clean_text(given_text, 100) == cleaned


@given(text=ANY_TEXT, limit=st.integers(0, 50))
def test_clean_text_is_bounded_storable_and_stable(text: str, limit: int) -> None:
    cleaned = clean_text(text, limit)

    assert len(cleaned) == min(len(text), limit)
    assert is_storable(cleaned)
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned, limit) == cleaned


def test_digest_is_sha256() -> None:
    assert digest(b"abc") == hashlib.sha256(b"abc").digest()


@given(JSON_VALUES)
def test_json_bytes_never_fail_and_read_back_the_same(value: object) -> None:
    data = to_json_bytes(value)

    assert json.loads(data.decode("utf-8", "surrogatepass")) == value


def test_json_bytes_are_compact_utf8() -> None:
    assert to_json_bytes({"ä": [1, 2]}) == '{"ä":[1,2]}'.encode()


@given(st.dictionaries(ANY_TEXT, JSON_VALUES, max_size=5), st.randoms())
def test_request_digest_ignores_the_order_of_keys(arguments: dict[str, object], random: object) -> None:
    names = list(arguments)
    random.shuffle(names)  # type: ignore[attr-defined]

    shuffled = request_digest("deploy", {name: arguments[name] for name in names})

    assert shuffled == request_digest("deploy", arguments)
    assert len(shuffled) == 32


def test_request_digest_ignores_the_order_of_nested_keys_but_not_of_lists() -> None:
    assert request_digest("t", {"a": {"x": 1, "y": 2}}) == request_digest("t", {"a": {"y": 2, "x": 1}})
    assert request_digest("t", {"a": [1, 2]}) != request_digest("t", {"a": [2, 1]})


def test_request_digest_tells_values_of_different_types_apart() -> None:
    values: list[object] = [1, 1.0, "1", True, None, [1], {"1": 1}, "", [], {}, 0, False]

    digests = [request_digest("t", {"a": value}) for value in values]

    assert all(one != other for one, other in combinations(digests, 2))


def test_request_digest_tells_tools_apart_and_a_null_from_an_absent_argument() -> None:
    assert request_digest("a", {}) != request_digest("b", {})
    assert request_digest("a", {"x": None}) != request_digest("a", {})


def test_request_digest_takes_lone_surrogates() -> None:
    assert request_digest("t", {"\ud800": "\udfff"}) != request_digest("t", {"\ud800": "\udffe"})
