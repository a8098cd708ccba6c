"""The form of one rule of the policy: from a rule to fields, and from what was typed to the rules as they would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks_app.domain.durations import duration_words, parse_duration
from tasks_app.domain.policy import (
    ANY_TOOL,
    NAME_CHARACTERS,
    TIMES,
    InvalidPolicy,
    Policy,
    Rule,
    check_rules,
    with_rule,
    without_rule,
)
from tasks_app.domain.text import clean_text
from tasks_app.store import search

HINTS = {
    "default_ttl": "when the client asks for none",
    "max_ttl": "the most a client gets",
    "question_ttl": "how long a question waits",
    "minimum_retention": "readable after the end",
    "purge_after": "from expiry to deletion",
    "record_retention": "log and records",
}


@dataclass(frozen=True, slots=True)
class TimeField:
    """One time of a rule as it is typed, with what counts when it is left empty."""

    name: str
    title: str
    hint: str
    value: str
    otherwise: str
    error: str


@dataclass(slots=True)
class RuleForm:
    """What was typed, what is wrong with it, and the rules that it would make of those in force."""

    values: dict[str, str]
    hold: bool
    removes: bool = False
    errors: dict[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] | None = None

    def times(self, before: Policy) -> list[TimeField]:
        """The six times, each ready to be shown."""
        return [
            TimeField(
                name, title, HINTS[name], self.values.get(name, ""), duration_words(getattr(before.settings, name)),
                self.errors.get(name, ""),
            )
            for name, title in TIMES.items()
        ]  # fmt: skip


def form_of(rule: Rule | None) -> RuleForm:
    """The form for a rule that there is, or an empty one."""
    if rule is None:
        return RuleForm({"tool": "", "owner": ""}, hold=False)
    times = {name: duration_words(value) for name in TIMES if (value := getattr(rule, name)) is not None}
    return RuleForm({"tool": rule.tool, "owner": rule.owner, **times}, hold=rule.hold)


def read_form(data: Mapping[str, str], before: Policy) -> RuleForm:
    """What was typed, with the rules that it makes or what is wrong."""
    names = ("tool", "owner", "reason", *TIMES)
    values = {name: clean_text(data.get(name, ""), 1000).strip() for name in names}
    form = RuleForm(values, hold=data.get("hold") == "on", removes=data.get("remove") == "on")
    tool = values["tool"] or ANY_TOOL
    owner_id = _owner(form)
    times = {name: _time(form, name) for name in TIMES}
    if form.errors:
        return form
    rule = Rule(tool=tool, owner_id=owner_id, owner=values["owner"][:NAME_CHARACTERS], hold=form.hold, **times)
    try:
        rules = without_rule(before.rules, rule.place) if form.removes else with_rule(before.rules, rule)
        form.rules = check_rules(rules, before.settings)
    except InvalidPolicy as wrong:
        form.errors[""] = str(wrong)
    return form


def _owner(form: RuleForm) -> int | None:
    name = form.values["owner"]
    if not name:
        return None
    found = search.owners_named([name])[name]
    if len(found) != 1:
        form.errors["owner"] = "No owner goes by this name." if not found else "More than one owner goes by this name."
        return None
    return found[0]


def _time(form: RuleForm, name: str) -> float | None:
    text = form.values[name]
    if not text:
        return None
    try:
        return parse_duration(text)
    except ValueError as wrong:
        form.errors[name] = f"{str(wrong)[:1].upper()}{str(wrong)[1:]}."
        return None
