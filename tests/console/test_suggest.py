"""What is offered while somebody types a search: the word before the caret, completed, and nothing else touched."""

from __future__ import annotations

import pytest

from console.suggest import suggest

WORDS = {
    "tool": ["resize_images", "crawl_site", "two words"],
    "owner": ["ana", "bo"],
    "client": ["claude-code", 'say "hi"'],
    "arg": ["city", "count", "odd name"],
    "arg.city": ["Rome", "New York"],
}


def texts(typed: str) -> list[str]:
    return [each.text for each in suggest(typed, find_words=lambda key, _: WORDS.get(key, []))]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("st", ["status:"]),
        ("status:w", ["status:working "]),
        ("status:working,f", ["status:working,failed "]),
        ("tool:crawl", ["tool:crawl_site "]),
        ("tool:site", ["tool:crawl_site "]),
        ('tool:"two', ['tool:"two words" ']),
        ("tool:two", ['tool:"two words" ']),
        ("-tool:res", ["-tool:resize_images "]),
        ("status:failed owner:a", ["status:failed owner:ana "]),
        ("is:tool", ["is:toolerror "]),
        ("arg.c", ["arg.city:", "arg.count:"]),
        ("arg.city:New", ['arg.city:"New York" ']),
        ("crawl", ["tool:crawl_site "]),
        ("client:", ["client:claude-code "]),
        ("colour:", []),
        ("status:working", []),
        ("zzz", []),
    ],
)
def test_last_word_is_completed(typed: str, offered: list[str]) -> None:
    assert texts(typed) == offered


def test_every_key_is_offered_to_who_typed_nothing() -> None:
    assert texts("")[:4] == ["id:", "status:", "tool:", "owner:"]
    assert texts("status:failed ")[1] == "status:failed status:"


def test_value_that_is_chosen_already_is_not_offered_again() -> None:
    assert "status:failed,failed " not in texts("status:failed,")
    assert "status:failed,working " in texts("status:failed,")


def test_times_are_offered_as_they_are_typed() -> None:
    assert "expires:<10m " in texts("expires:")
    assert texts("created:>") == ["created:>24h "]
