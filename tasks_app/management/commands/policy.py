"""`manage.py policy`: show, compare, try out and change how long tasks and records are kept."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_app.conf import conf
from tasks_app.domain.durations import duration_words, parse_duration
from tasks_app.domain.errors import TaskdeckError
from tasks_app.domain.identity import Actor
from tasks_app.domain.policy import (
    ANY_TOOL,
    TIMES,
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
from tasks_app.store import policy, search

SETTINGS = "settings"


class Command(BaseCommand):
    """Every change is a new version; none is ever edited."""

    help = "Show the retention policy, compare versions, try a change out, or make it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word says what to do; the rest says to which rule."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="the rules in force, or of one version, and all versions")
        show.add_argument("version", nargs="?", type=int)
        compare = verbs.add_parser("diff", help="what changed between two versions (default: the last two)")
        compare.add_argument("old", nargs="?", type=int)
        compare.add_argument("new", nargs="?", type=int)
        for verb, what in (("dry-run", "what a change would do"), ("set", "make a change: a new version, from now on")):
            change = verbs.add_parser(verb, help=what)
            change.add_argument("--tool", default=ANY_TOOL, help="exact name, or a pattern such as 'deploy*'")
            change.add_argument("--owner", help="only for this owner (the name that the console shows)")
            for name, title in TIMES.items():
                text = f"{title.lower()}, such as 1h or 7d; `{SETTINGS}` leaves it to the settings"
                change.add_argument(f"--{name.replace('_', '-')}", help=text)
            change.add_argument(
                "--hold", choices=["on", "off"], help="a legal hold: nothing expires, nothing is purged"
            )
            change.add_argument("--remove", action="store_true", help="remove the rule for this tool and owner")
            change.add_argument("--file", type=Path, help="all rules at once, a JSON list")
            if verb == "set":
                change.add_argument("--reason", required=True, help="why; it stays beside the version")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the word says; a refusal is one line."""
        try:
            {"show": self._show, "diff": self._diff, "dry-run": self._dry_run, "set": self._set}[options["verb"]](
                options
            )
        except (TaskdeckError, ValueError) as error:
            raise CommandError(str(error)) from None

    def _show(self, options: dict[str, Any]) -> None:
        shown = _version(options["version"]) if options["version"] is not None else policy.newest()
        self.stdout.write(f"Version {shown.version}" + ("" if shown.version else ": the settings alone"))
        for label, terms in [(rule.label, rule) for rule in shown.ordered] + [("Everything else", None)]:
            self.stdout.write(f"  {label}: {_words(shown, terms)}")
        for each in policy.versions():
            author = " ".join(str(each.author[name]) for name in ("kind", "id", "via") if name in each.author)
            since = each.effective_from.isoformat(timespec="seconds")
            self.stdout.write(f"v{each.policy.version}  {since}  {author}: {each.author.get('reason', '')}")

    def _diff(self, options: dict[str, Any]) -> None:
        new = _version(options["new"]) if options["new"] is not None else policy.newest()
        old = _version(max(new.version - 1, 0) if options["old"] is None else options["old"])
        self.stdout.write(f"From version {old.version} to version {new.version}:")
        self._print(diff(old.rules, new.rules))

    def _dry_run(self, options: dict[str, Any]) -> None:
        before = policy.newest()
        rules = _changed(before, options)
        self._print(diff(before.rules, rules))
        found = policy.dry_run(rules)
        more = "+" if found.purged >= policy.MOST_COUNTED else ""
        self.stdout.write(
            f"{found.touched} tasks would be touched, {found.purged}{more} purged by the next sweep, "
            f"{found.held} held, {found.released} released, {found.retired} events would leave the log."
        )

    def _set(self, options: dict[str, Any]) -> None:
        before = policy.newest()
        rules = _changed(before, options)
        self._print(diff(before.rules, rules))
        by = Actor.system(via="policy", reason=options["reason"])
        saved = policy.save(rules, base=before.version, by=by)
        self.stdout.write(
            f"Saved as version {saved.version}; every process follows within {policy.MAX_AGE_SECONDS:.0f} s."
        )

    def _print(self, changes: Sequence[Change]) -> None:
        for each in changes:
            self.stdout.write(f"  {each.label}: {each.what}: {each.before} -> {each.after}")
        if not changes:
            self.stdout.write("  nothing changes")


def _version(number: int) -> Policy:
    if number == 0:
        return Policy(0, (), settings_terms(conf().limits))
    found = policy.version(number)
    if found is None:
        raise CommandError(f"There is no version {number}.")
    return found.policy


def _words(shown: Policy, rule: Rule | None) -> str:
    terms = shown.terms_of(rule)
    times = (f"{title.lower()} {duration_words(getattr(terms, name))}" for name, title in TIMES.items())
    return ", ".join([*times, *(["legal hold"] if terms.hold else [])])


def _changed(before: Policy, options: dict[str, Any]) -> tuple[Rule, ...]:
    """The rules as they would be."""
    if options["file"] is not None:
        return _from_file(options["file"], before)
    owner_id = None if options["owner"] is None else _owner(options["owner"])
    place = (owner_id, options["tool"])
    if options["remove"]:
        return without_rule(before.rules, place)
    blank = Rule(tool=options["tool"], owner_id=owner_id, owner=options["owner"] or "")
    known = next((rule for rule in before.rules if rule.place == place), blank)
    return check_rules(with_rule(before.rules, replace(known, **_given(options))), before.settings)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    times = {
        name: None if options[name] == SETTINGS else parse_duration(options[name])
        for name in TIMES
        if options[name] is not None
    }
    return times if options["hold"] is None else {**times, "hold": options["hold"] == "on"}


def _from_file(path: Path, before: Policy) -> tuple[Rule, ...]:
    try:
        given = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(given, list):
        raise InvalidPolicy("A policy is a list of rules.")
    return check_rules([Rule.from_json(each) for each in given], before.settings)


def _owner(name: str) -> int:
    found = search.owners_named([name])[name]
    if len(found) != 1:
        raise CommandError(f"{len(found) or 'No'} owner goes by the name {name!r}.")
    return found[0]
