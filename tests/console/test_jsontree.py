"""A JSON value as a tree: nothing rounded, nothing huge, and a path to each value."""

from __future__ import annotations

import json

from console.jsontree import LARGEST_CHARACTERS, LONGEST_STRING, MOST_CHILDREN, Node, tree


def grown(text: str) -> Node:
    found = tree(text)
    assert found is not None
    return found


def test_numbers_stay_as_they_were_written() -> None:
    found = grown('{"id": 9007199254740993, "rate": 1.10, "huge": 1e400}')

    assert [child.text for child in found.children] == ["9007199254740993", "1.10", "1e400"]


def test_each_value_has_a_path() -> None:
    found = grown('{"a": [{"b": 1}], "odd key": 2, "über": 3}')

    [listed, odd, accented] = found.children
    assert listed.children[0].children[0].path == ".a[0].b"
    assert odd.path == '["odd key"]'
    assert accented.path == '["über"]'


def test_long_text_is_cut_and_says_how_much_is_missing() -> None:
    [child] = grown(json.dumps(["x" * (LONGEST_STRING + 100)])).children

    assert len(child.text) == LONGEST_STRING + 1
    assert child.more == 102
    assert not child.is_branch


def test_long_list_is_cut_and_says_how_many_are_missing() -> None:
    found = grown(json.dumps(list(range(MOST_CHILDREN + 5))))

    assert (len(found.children), found.count, found.more) == (MOST_CHILDREN, MOST_CHILDREN + 5, 5)


def test_what_is_too_large_or_broken_is_no_tree() -> None:
    assert tree(json.dumps("x" * LARGEST_CHARACTERS)) is None
    assert tree("{") is None
    assert tree("[" * 20_000 + "]" * 20_000) is None
