"""Labels out of arguments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.labels import labels_for
from tasks_app.domain.text import is_storable

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


def test_labels_are_the_top_level_scalars_as_text() -> None:
    arguments = {
        "service": "api",
        "replicas": 3,
        "ratio": 0.5,
        "dry": True,
        "force": False,
        "note": None,
        "hosts": ["a"],
        "options": {"x": 1},
        "empty": "",
    }

    assert labels_for(arguments) == {
        "service": "api",
        "replicas": "3",
        "ratio": "0.5",
        "dry": "true",
        "force": "false",
        "empty": "",
    }


def test_label_of_200_characters_is_kept_and_of_201_left_out() -> None:
    assert labels_for({"a": "ä" * 200, "b": "ä" * 201}) == {"a": "ä" * 200}


def test_label_that_postgres_cannot_hold_is_left_out() -> None:
    assert labels_for({"nul": "a\x00b", "lone": "\ud800", "na\x00me": "x", "pair": "😀"}) == {"pair": "😀"}


def test_labels_are_limited_to_the_names_that_the_tool_gives() -> None:
    assert labels_for({"service": "api", "password": "hunter2"}, only=["service", "absent"]) == {"service": "api"}
    assert labels_for({"service": "api"}, only=()) == {}


@given(st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers() | st.booleans() | st.none() | st.lists(st.integers())))
def test_labels_always_fit_the_column(arguments: dict[str, object]) -> None:
    labels = labels_for(arguments)

    assert labels.keys() <= arguments.keys()
    assert all(is_storable(name + text) and len(text) <= 200 for name, text in labels.items())
