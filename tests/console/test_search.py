"""What people type is understood, and what is not is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.search import parse, toggled, values_of, widened, without_last_term
from tasks_app.store.search import Filter, Span, Term


def _owners(names: object) -> dict[str, list[int]]:
    known = {"ana": [1], "bo": [2]}
    return {name: known.get(name, []) for name in names}  # type: ignore[attr-defined]


def understood(text: str) -> Filter:
    search = parse(text, find_owners=_owners)
    assert search.errors == []
    return search.filter


def test_search_of_nothing_matches_everything() -> None:
    assert understood("") == Filter()


def test_comma_means_or_and_a_repeated_key_means_and() -> None:
    found = understood("status:working,failed tool:a tool:b")

    assert found.statuses == (Term(("working", "failed")),)
    assert found.tools == (Term(("a",)), Term(("b",)))


def test_minus_negates_and_quotes_keep_blanks() -> None:
    found = understood('-tool:deploy arg.city:"New York",Rome')

    assert found.tools == (Term(("deploy",), negated=True),)
    assert found.labels == (("city", Term(("New York", "Rome"))),)


def test_owners_are_looked_up_by_name() -> None:
    assert understood("owner:ana,bo").owners == (Term(("1", "2")),)


def test_bare_words_are_kept_as_they_are() -> None:
    assert understood('resize "two words"').words == ("resize", "two words")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("created:<10m", Span(after=timedelta(minutes=-10))),
        ("created:>24h", Span(before=timedelta(hours=-24))),
        (
            "created:2026-11-01..2026-11-18",
            Span(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 19, tzinfo=UTC)),
        ),
        ("created:2026-11-01", Span(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC))),
        ("created:..2026-11-18", Span(None, datetime(2026, 11, 19, tzinfo=UTC))),
    ],
)
def test_times_are_ages_or_days(text: str, span: Span) -> None:
    assert understood(text).created == (span,)


def test_expiry_looks_ahead() -> None:
    assert understood("expires:<10m").expires == (Span(before=timedelta(minutes=10)),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour:red", "is no search key"),
        ("arg:red", "is no search key"),
        ("status:done", "no status “done”"),
        ("is:funny", "means nothing"),
        ("id:xyz", "beginning of an id"),
        ("owner:zoe", "no owner “zoe”"),
        ("created:yesterday", "is no time"),
        ("-created:<1h", "no minus"),
    ],
)
def test_what_is_not_understood_is_said_and_the_rest_still_counts(text: str, says: str) -> None:
    search = parse(f"{text} tool:deploy", find_owners=_owners)

    assert says in search.errors[0]
    assert search.filter.tools == (Term(("deploy",)),)


@pytest.mark.parametrize("text", ['"', "::", "-", "a:b:c", "status:", "-\x00", "é" * 1000, "((((", "%_\\"])
def test_odd_input_never_fails(text: str) -> None:
    parse(text, find_owners=_owners)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "status:failed"),
        ("tool:x", "tool:x status:failed"),
        ("status:working tool:x", "status:working,failed tool:x"),
        ("status:failed,working tool:x", "status:working tool:x"),
        ("tool:x status:failed created:<1h", "tool:x created:<1h"),
        ("-status:failed", "-status:failed status:failed"),
        ("status:failed", ""),
    ],
)
def test_facet_allows_one_more_value_or_takes_it_away(before: str, after: str) -> None:
    assert toggled(before, "status", "failed") == after


def test_value_with_a_blank_is_typed_in_quotes() -> None:
    assert toggled("", "tool", "two words") == 'tool:"two words"'
    assert values_of('tool:"two words",b', "tool") == ("two words", "b")


def test_last_condition_is_taken_away() -> None:
    assert without_last_term('status:failed tool:"two words"') == "status:failed"
    assert without_last_term("status:failed") == ""
    assert without_last_term("") == ""


def test_mine_is_of_whoever_searches() -> None:
    def mine(text: str) -> Filter:
        return parse(text, find_owners=_owners, me=7).filter

    assert mine("is:mine is:toolerror") == Filter(owners=(Term(("7",)),), flags=(Term(("toolerror",)),))
    assert mine("-is:mine").owners == (Term(("7",), negated=True),)
    assert "without a comma" in parse("is:mine,expired", find_owners=_owners, me=7).errors[0]


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("tool:a created:<1h status:failed", "tool:a created:<7d status:failed"),
        ("created:<7d", ""),
        ("tool:a", ""),
    ],
)
def test_search_is_widened_to_a_week(text: str, wide: str) -> None:
    assert widened(text) == wide
