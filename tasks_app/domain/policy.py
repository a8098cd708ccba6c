"""How long things are kept: rules by tool and owner over the settings, in numbered versions.

One rule counts for a task, the most specific: one for its owner before one for everybody, then the exact name of its
tool before a pattern, then the longer pattern, then the one that stands first. What it leaves out, the settings say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from tasks_app.domain.durations import LONGEST_SECONDS, duration_words
from tasks_app.domain.errors import TaskdeckError
from tasks_app.domain.limits import Limits

ANY_TOOL = "*"
MOST_RULES = 100
NAME_CHARACTERS = 200
_TOOL = re.compile(r"[\w./*:-]{1,200}")

TIMES = {
    "default_ttl": "Default TTL",
    "max_ttl": "Maximum TTL",
    "question_ttl": "Question TTL",
    "minimum_retention": "Minimum retention",
    "purge_after": "Purge after",
    "record_retention": "Record retention",
}
"""The times that a rule may set, in seconds, with their names."""


class InvalidPolicy(TaskdeckError):
    """What was to become a policy is none."""

    reason = "invalid_policy"
    text = "This is not a policy. Check each rule and try again."


@dataclass(frozen=True, slots=True)
class Terms:
    """What counts for one task: seconds, whether it is under a legal hold, and the version that says so (0: none)."""

    default_ttl: float
    max_ttl: float
    question_ttl: float
    minimum_retention: float
    purge_after: float
    record_retention: float
    hold: bool = False
    version: int = 0


def settings_terms(limits: Limits) -> Terms:
    """What counts where no rule says anything else."""
    return Terms(
        default_ttl=limits.default_ttl_ms / 1000,
        max_ttl=limits.max_ttl_ms / 1000,
        question_ttl=limits.question_ttl_seconds,
        minimum_retention=limits.minimum_retention_seconds,
        purge_after=limits.purge_after_seconds,
        record_retention=limits.record_retention_seconds,
    )


@dataclass(frozen=True, kw_only=True)
class Rule:
    """For whom, and what is different for them; None leaves it to the settings."""

    tool: str = ANY_TOOL
    owner_id: int | None = None
    owner: str = ""
    default_ttl: float | None = None
    max_ttl: float | None = None
    question_ttl: float | None = None
    minimum_retention: float | None = None
    purge_after: float | None = None
    record_retention: float | None = None
    hold: bool = False

    @property
    def place(self) -> tuple[int | None, str]:
        """Whom it is for: there is one rule for each."""
        return self.owner_id, self.tool

    @property
    def label(self) -> str:
        """Whom it is for, in words."""
        who = f" of {self.owner or f'owner {self.owner_id}'}" if self.owner_id is not None else ""
        return ("Every tool" if self.tool == ANY_TOOL else self.tool) + who

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.tool.split("*"))), re.DOTALL)

    @property
    def like(self) -> str:
        """The same pattern as the database spells it."""
        literal = self.tool.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return literal.replace("*", "%")

    def matches(self, tool: str, owner_id: int) -> bool:
        """Whether this rule is about a task of this tool and owner."""
        return self.owner_id in {None, owner_id} and self._pattern.fullmatch(tool) is not None

    @property
    def precedence(self) -> tuple[bool, bool, int]:
        """Sorts the more specific first."""
        return self.owner_id is None, "*" in self.tool, -len(self.tool.replace("*", ""))

    def over(self, terms: Terms, *, version: int) -> Terms:
        """The terms with what this rule changes."""
        set_ = {name: value for name in TIMES if (value := getattr(self, name)) is not None}
        return replace(terms, **set_, hold=self.hold, version=version)

    def as_json(self) -> dict[str, Any]:
        """The rule as it is kept: what it leaves out is left out."""
        blank = Rule()
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in parts.items() if name == "tool" or value != getattr(blank, name)}

    @classmethod
    def from_json(cls, value: object) -> Rule:
        """Raises InvalidPolicy for what no rule can be."""
        if not isinstance(value, Mapping) or not value.keys() <= {field.name for field in fields(cls)}:
            known = ", ".join(field.name for field in fields(cls))
            raise InvalidPolicy(f"A rule is an object with some of: {known}.")
        rule = cls(**value)
        _check(rule)
        return rule


def _check(rule: Rule) -> None:
    if not isinstance(rule.tool, str) or not _TOOL.fullmatch(rule.tool):
        raise InvalidPolicy("A rule names a tool, or a pattern such as deploy* (only * stands for more).")
    if rule.owner_id is not None and (isinstance(rule.owner_id, bool) or not isinstance(rule.owner_id, int)):
        raise InvalidPolicy("The owner of a rule is given by its number.")
    if not isinstance(rule.hold, bool) or not isinstance(rule.owner, str) or len(rule.owner) > NAME_CHARACTERS:
        raise InvalidPolicy("A hold is true or false, and the owner's name is text.")
    for name, title in TIMES.items():
        value = getattr(rule, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InvalidPolicy(f"{title} is a number of seconds.")
        if value is not None and not 0 < value <= LONGEST_SECONDS:
            raise InvalidPolicy(f"{title} is above zero and below 100 years.")


@dataclass(frozen=True)
class Policy:
    """One version: its rules over the settings. Version 0 is the settings alone."""

    version: int
    rules: tuple[Rule, ...]
    settings: Terms

    @cached_property
    def ordered(self) -> tuple[Rule, ...]:
        """The rules, the more specific first."""
        return tuple(sorted(self.rules, key=lambda rule: rule.precedence))

    def rule_for(self, tool: str, owner_id: int) -> Rule | None:
        """The one rule that counts for a task, if there is one."""
        return next((rule for rule in self.ordered if rule.matches(tool, owner_id)), None)

    def terms(self, tool: str, owner_id: int) -> Terms:
        """What counts for a task of this tool and owner."""
        return self.terms_of(self.rule_for(tool, owner_id) if self.rules else None)

    def terms_of(self, rule: Rule | None) -> Terms:
        """What counts under this rule or, without one, under the settings."""
        return self._plain if rule is None else rule.over(self.settings, version=self.version)

    @cached_property
    def _plain(self) -> Terms:
        return replace(self.settings, version=self.version)

    def longest_record_retention(self) -> float:
        """Events leave in whole batches of everybody's, so the most patient rule decides for all."""
        covers_all = any(rule.place == (None, ANY_TOOL) for rule in self.rules)
        counting = self.rules if covers_all else (None, *self.rules)
        return max(self.terms_of(rule).record_retention for rule in counting)

    @property
    def holds(self) -> bool:
        """Whether any rule is a legal hold."""
        return any(rule.hold for rule in self.rules)


def check_rules(rules: Sequence[Rule], settings: Terms) -> tuple[Rule, ...]:
    """The rules, if they can be a policy. Raises InvalidPolicy with the first that cannot, and why."""
    if len(rules) > MOST_RULES:
        raise InvalidPolicy(f"A policy has at most {MOST_RULES} rules.")
    seen = set()
    for rule in rules:
        _check(rule)
        if rule.place in seen:
            raise InvalidPolicy(f"{rule.label}: there are two rules for the same.")
        seen.add(rule.place)
        if rule.as_json().keys() <= {"tool", "owner_id", "owner"}:
            raise InvalidPolicy(f"{rule.label}: the rule changes nothing. Give it a time, or a hold.")
        terms = rule.over(settings, version=0)
        if terms.default_ttl > terms.max_ttl:
            raise InvalidPolicy(
                f"{rule.label}: the default TTL ({duration_words(terms.default_ttl)}) is above the maximum "
                f"({duration_words(terms.max_ttl)})."
            )
    return tuple(rules)


def with_rule(rules: Sequence[Rule], rule: Rule) -> tuple[Rule, ...]:
    """The rules with this one in the place of the one for the same, or as the last."""
    if any(each.place == rule.place for each in rules):
        return tuple(rule if each.place == rule.place else each for each in rules)
    return (*rules, rule)


def without_rule(rules: Sequence[Rule], place: tuple[int | None, str]) -> tuple[Rule, ...]:
    """The rules but the one for these."""
    return tuple(rule for rule in rules if rule.place != place)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a diff: whom it is for, what changed, from what to what; empty where there was or is no rule."""

    label: str
    what: str
    before: str
    after: str


def diff(old: Sequence[Rule], new: Sequence[Rule]) -> list[Change]:
    """What a reader must know before saving: every value that is not what it was."""
    was, is_ = {rule.place: rule for rule in old}, {rule.place: rule for rule in new}
    changes = []
    for place in [*was, *(place for place in is_ if place not in was)]:
        before, after = was.get(place), is_.get(place)
        label = (after or before or Rule()).label
        changes += [Change(label, *line) for line in _lines(before, after)]
    return changes


def _lines(before: Rule | None, after: Rule | None) -> list[tuple[str, str, str]]:
    lines = []
    for name, title in (*TIMES.items(), ("hold", "Legal hold")):
        old, new = (getattr(rule, name) if rule else None for rule in (before, after))
        if (old or None) != (new or None):
            lines.append((title, _said(old), _said(new)))
    return lines


def _said(value: float | bool | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "as the settings say"
    return "as the settings say" if value is None else duration_words(value)
