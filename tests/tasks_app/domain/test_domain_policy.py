"""Rules of retention: which one counts, what it changes, what none can be; and times as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.durations import LONGEST_SECONDS, duration_words, parse_duration
from tasks_app.domain.limits import Limits
from tasks_app.domain.policy import (
    Change,
    InvalidPolicy,
    Policy,
    Rule,
    check_rules,
    diff,
    settings_terms,
    with_rule,
    without_rule,
)

SETTINGS = settings_terms(Limits())


def policy(*rules: Rule) -> Policy:
    return Policy(3, rules, SETTINGS)


def test_without_a_rule_the_settings_count() -> None:
    terms = policy().terms("echo", 1)

    assert (terms.default_ttl, terms.max_ttl, terms.question_ttl) == (3600, 86_400, 604_800)
    assert (terms.minimum_retention, terms.purge_after, terms.record_retention) == (300, 604_800, 31_536_000)
    assert (terms.hold, terms.version) == (False, 3)


def test_the_most_specific_rule_counts_alone() -> None:
    rules = policy(
        Rule(tool="*", purge_after=1),
        Rule(tool="dep*", purge_after=2),
        Rule(tool="deploy*", purge_after=3),
        Rule(tool="deploy", purge_after=4, hold=True),
        Rule(tool="*", owner_id=7, purge_after=5),
        Rule(tool="deploy*", owner_id=7, purge_after=6),
    )

    said = {(tool, owner): rules.terms(tool, owner).purge_after for tool in ("x", "dep", "deploys", "deploy")
            for owner in (1, 7)}  # fmt: skip

    assert said == {
        ("x", 1): 1, ("x", 7): 5, ("dep", 1): 2, ("dep", 7): 5, ("deploys", 1): 3, ("deploys", 7): 6,
        ("deploy", 1): 4, ("deploy", 7): 6,
    }  # fmt: skip
    assert rules.terms("deploy", 1).hold
    assert not rules.terms("deploy", 7).hold
    assert rules.terms("deploy", 1).default_ttl == SETTINGS.default_ttl


def test_of_two_equally_specific_patterns_the_first_counts() -> None:
    rules = policy(Rule(tool="a*", purge_after=1), Rule(tool="*b", purge_after=2))

    assert rules.terms("ab", 1).purge_after == 1


@pytest.mark.parametrize(
    ("pattern", "tool", "matches"),
    [("a.c", "abc", False), ("a.c", "a.c", True), ("a*c", "abbc", True), ("a_c", "abc", False), ("*", "", True)],
)
def test_only_the_star_stands_for_more(pattern: str, tool: str, matches: bool) -> None:
    assert Rule(tool=pattern).matches(tool, 1) is matches


def test_pattern_reads_the_same_in_the_database() -> None:
    assert Rule(tool="a_b*").like == "a\\_b%"


def test_the_most_patient_rule_decides_how_long_records_stay() -> None:
    short, long = Rule(tool="a", record_retention=10), Rule(tool="b", record_retention=10**9)

    assert policy(short).longest_record_retention() == SETTINGS.record_retention
    assert policy(short, long).longest_record_retention() == 10**9
    assert policy(short, Rule(tool="*", record_retention=20)).longest_record_retention() == 20


def test_rule_survives_being_kept() -> None:
    rule = Rule(tool="a*", owner_id=3, owner="ana", purge_after=5.5, hold=True)

    assert rule.as_json() == {"tool": "a*", "owner_id": 3, "owner": "ana", "purge_after": 5.5, "hold": True}
    assert Rule.from_json(rule.as_json()) == rule


@pytest.mark.parametrize(
    "value",
    [
        [], {"tools": "x"}, {"tool": ""}, {"tool": "a b"}, {"tool": 3}, {"tool": "x" * 201},
        {"tool": "a", "owner_id": "1"}, {"tool": "a", "owner_id": True}, {"tool": "a", "hold": 1},
        {"tool": "a", "purge_after": 0},
        {"tool": "a", "purge_after": "7d"}, {"tool": "a", "purge_after": True}, {"tool": "a", "max_ttl": 1e12},
        {"tool": "a", "owner": 5},
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(value: Any) -> None:
    with pytest.raises(InvalidPolicy):
        Rule.from_json(value)


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ([Rule(tool="a")], "changes nothing"),
        ([Rule(tool="a", hold=True), Rule(tool="a", purge_after=9)], "two rules for the same"),
        ([Rule(tool="a", default_ttl=90_000)], "above the maximum"),
        ([Rule(tool="a", max_ttl=60)], "above the maximum"),
        ([Rule(tool=f"t{n}", hold=True) for n in range(101)], "at most 100"),
    ],
)
def test_rules_that_make_no_policy_are_refused_with_the_reason(rules: list[Rule], why: str) -> None:
    with pytest.raises(InvalidPolicy, match=why):
        check_rules(rules, SETTINGS)


def test_diff_names_every_value_that_is_not_what_it_was() -> None:
    old = (Rule(tool="a", purge_after=60), Rule(tool="b", hold=True))
    new = (Rule(tool="a", purge_after=90, hold=True), Rule(tool="c", owner_id=2, owner="ana", max_ttl=3600))

    assert diff(old, new) == [
        Change("a", "Purge after", "1 m", "1 m 30 s"),
        Change("a", "Legal hold", "as the settings say", "yes"),
        Change("b", "Legal hold", "yes", "as the settings say"),
        Change("c of ana", "Maximum TTL", "as the settings say", "1 h"),
    ]
    assert diff(old, old) == []


def test_rule_takes_the_place_of_the_one_for_the_same() -> None:
    rules = (Rule(tool="a", purge_after=1), Rule(tool="b", purge_after=2))

    changed = with_rule(rules, Rule(tool="a", purge_after=9))

    assert [rule.purge_after for rule in changed] == [9, 2]
    assert [rule.tool for rule in with_rule(rules, Rule(tool="c", hold=True))] == ["a", "b", "c"]
    assert [rule.tool for rule in without_rule(rules, (None, "a"))] == ["b"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15 m", 900), ("1h 30m", 5400), ("7d", 604_800), ("2 weeks", 1_209_600), ("1y", 31_536_000),
     ("1.5h", 5400), ("30 min", 1800), ("2 hours", 7200)],
)  # fmt: skip
def test_time_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "7d,", "-1d", "0s", "101y", "1 fortnight", "1h and"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write a time"):
        parse_duration(text)


@given(st.integers(min_value=1, max_value=LONGEST_SECONDS))
def test_words_of_a_time_are_read_back_exactly(seconds: int) -> None:
    assert parse_duration(duration_words(seconds)) == seconds
