"""The policy in force: read with no query on the hot paths, saved in versions, and tried out before it is saved.

Every process keeps the newest version for a few seconds. A task that is created in those seconds after a change gets the
version before; which one it got is on the task and, later, on its record.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks_app.conf import conf
from tasks_app.domain.errors import NotAllowed
from tasks_app.domain.identity import Actor
from tasks_app.domain.limits import Limits
from tasks_app.domain.policy import Policy, Rule, Terms, check_rules, diff, settings_terms
from tasks_app.store import tally
from tasks_app.store.db import Plan, Query, Row, actor_json, atomic, row, rows, run
from tasks_app.store.events import record_event

MAX_AGE_SECONDS = 5.0
SAVE_LOCK = 7_140_003
MOST_COUNTED = 10_000

_COLUMNS = "version, rules::text, author, effective_from"
_NEWEST = f"SELECT {_COLUMNS} FROM tasks_policyversion ORDER BY version DESC LIMIT 1"
_VERSION = f"SELECT {_COLUMNS} FROM tasks_policyversion WHERE version = %(version)s"
_PAGE = f"SELECT {_COLUMNS} FROM tasks_policyversion WHERE version < %(before)s ORDER BY version DESC LIMIT %(limit)s"
# As JSON that the database spells the same way always.
_DIGEST = """
encode(sha256(convert_to(jsonb_build_array(p.version, p.rules, p.author, extract(epoch FROM p.effective_from))::text, 'UTF8')), 'hex')
"""
_SAVE = f"""
INSERT INTO tasks_policyversion AS p (version, rules, author) VALUES (%(version)s, %(rules)s::jsonb, %(author)s::jsonb)
RETURNING {_DIGEST}
"""
# What the sealed log says of a version, beside the version. An event leaves when its time is over, the version stays.
_UNPROVEN = f"""
SELECT coalesce(p.version, e.version), e.id, p.version IS NULL, e.id IS NULL
  FROM tasks_policyversion p
  FULL JOIN (SELECT id, (detail ->> 'version')::bigint AS version, detail ->> 'sha256' AS digest
               FROM tasks_event WHERE kind = 'policy') e ON e.version = p.version
 WHERE p.version IS NULL OR e.digest <> {_DIGEST}
    OR (e.id IS NULL AND p.effective_from > coalesce((SELECT max(until) FROM tasks_seal WHERE retired_at IS NOT NULL), '-infinity'))
 ORDER BY 1 LIMIT 1
"""
# The first rule of the list that is about the task, as columns `r`; none at all gives nulls.
RULE_OF_TASK = """
LEFT JOIN LATERAL (
    SELECT u.purge_after, u.hold FROM unnest(%(owners)s::bigint[], %(tools)s::text[], %(purges)s::float8[], %(holds)s::bool[])
           WITH ORDINALITY AS u (owner, tool, purge_after, hold, place)
     WHERE (u.owner IS NULL OR u.owner = t.owner_id) AND t.tool LIKE u.tool ORDER BY u.place LIMIT 1) r ON true
"""
IS_KEPT = "coalesce(r.hold, false)"
PURGE_AFTER = "coalesce(r.purge_after, %(after)s::float8) * interval '1 second'"


def _of_before(text: str) -> str:
    """The same for the policy in force, beside the one that is tried out: columns `b`, other names of parameters."""
    return re.sub(r"\br\b", "b", re.sub(r"%\((\w+)\)s", r"%(before_\1)s", text))


# Old enough by what is tried out, and not by what is in force.
_WOULD_PURGE = f"""
SELECT count(*) FROM (
    SELECT 1 FROM tasks_task t {RULE_OF_TASK} {_of_before(RULE_OF_TASK)}
     WHERE t.expired_at < tasks_now() - %(soonest)s::float8 * interval '1 second' AND NOT t.held AND NOT {IS_KEPT}
       AND t.expired_at < tasks_now() - {PURGE_AFTER}
       AND NOT (t.expired_at < tasks_now() - {_of_before(PURGE_AFTER)} AND NOT {_of_before(IS_KEPT)}) LIMIT {MOST_COUNTED}) t
"""
_WOULD_RETIRE = """
SELECT coalesce(sum(count), 0)::bigint FROM tasks_seal
 WHERE retired_at IS NULL AND until < tasks_now() - %(keep)s::float8 * interval '1 second'
"""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the policy, with who wrote it and since when it counts."""

    policy: Policy
    author: dict[str, Any]
    effective_from: datetime


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a policy would do if it were saved now. Counts of tasks to purge stop at `MOST_COUNTED`."""

    touched: int
    """Tasks for which something counts that did not before, or no longer."""
    purged: int
    """Tasks that the next sweep would purge, and does not now."""
    held: int
    """Tasks that come under a legal hold."""
    released: int
    """Tasks that a legal hold of the policy no longer covers."""
    retired: int
    """Events that would leave the log, and do not now."""


@dataclass(frozen=True, slots=True)
class Unproven:
    """A version that is not what the log says was saved: the event that says so, if there is one, and what is wrong."""

    event: int | None
    what: str


@dataclass(slots=True)
class _Cache:
    version: int = 0
    rules: tuple[Rule, ...] = ()
    policy: Policy | None = None
    limits: Limits | None = None
    good_until: float = 0.0


_cache = _Cache()


def in_force() -> Plan[Policy]:
    """The policy that counts now, for any connection: from this process's memory, or read once in a few seconds."""
    now = time.monotonic()
    if now >= _cache.good_until:
        # Whoever asks while this one reads takes what is there, if there is something.
        _cache.good_until = now + MAX_AGE_SECONDS if _cache.policy is not None else 0.0
        try:
            found = yield Query(_NEWEST)
        except BaseException:
            forget()
            raise
        _remember(found[0] if found else (0, "[]"))
        _cache.good_until = now + MAX_AGE_SECONDS
    return _known()


def current() -> Policy:
    """The same, on Django's connection."""
    return run(in_force())


def forget() -> None:
    """Read the policy anew next time."""
    _cache.good_until = 0.0


def remember_none() -> None:
    """For tests, whose tables are emptied behind the back of this process: no policy until `forget`, or a save."""
    _remember((0, "[]"))
    _cache.good_until = float("inf")


def _remember(found: Row) -> None:
    if found[0] != _cache.version or _cache.policy is None:
        _cache.version, _cache.rules, _cache.policy = found[0], _rules(found[1]), None


def _known() -> Policy:
    limits = conf().limits
    if _cache.policy is None or _cache.limits is not limits:
        _cache.limits = limits
        _cache.policy = Policy(_cache.version, _cache.rules, settings_terms(limits))
    return _cache.policy


def _rules(text: str) -> tuple[Rule, ...]:
    return tuple(Rule.from_json(each) for each in json.loads(text))


def _policy(version: int, rules: Sequence[Rule]) -> Policy:
    return Policy(version, tuple(rules), settings_terms(conf().limits))


def _version(found: Row) -> Version:
    version, rules, author, since = found
    return Version(_policy(version, _rules(rules)), author if isinstance(author, dict) else json.loads(author), since)


def newest() -> Policy:
    """The newest version as the database has it, whatever this process remembers."""
    forget()
    return current()


def versions(*, before: int | None = None, limit: int = 20) -> list[Version]:
    """The versions, newest first, from this one on."""
    return [_version(each) for each in rows(_PAGE, {"before": before or 2**31 - 1, "limit": limit})]


def version(number: int) -> Version | None:
    """One version; None for one that there never was, and for 0, which is the settings."""
    found = row(_VERSION, {"version": number})
    return _version(found) if found else None


def save(rules: Sequence[Rule], *, base: int, by: Actor) -> Policy:
    """Make these rules the policy from now on. Raises InvalidPolicy, or NotAllowed when `base` is not the newest version,
    nothing would change, or no reason is given.
    """
    checked = check_rules(rules, settings_terms(conf().limits))
    if not (by.reason or "").strip():
        raise NotAllowed("Give a reason for the change: it stays beside the version.")
    with atomic():
        row(f"SELECT pg_advisory_xact_lock({SAVE_LOCK})")
        before = newest()
        if before.version != base:
            raise NotAllowed(f"Version {before.version} was saved in the meantime. Look at it, then try again.")
        changes = diff(before.rules, checked)
        if not changes:
            raise NotAllowed("Nothing would change.")
        number = before.version + 1
        written = json.dumps([rule.as_json() for rule in checked])
        saved = row(_SAVE, {"version": number, "rules": written, "author": actor_json(by)})
        assert saved is not None
        record_event("policy", by=by, detail={"version": number, "changes": len(changes), "sha256": saved[0]})
    return newest()


def unproven() -> Unproven | None:
    """The first version that was changed, added or taken away without an entry in the log; None when there is none."""
    found = row(_UNPROVEN)
    if found is None:
        return None
    version, event, is_gone, is_new = found
    how = "is gone" if is_gone else "is one that nobody saved" if is_new else "is not what was saved"
    return Unproven(event, f"version {version} of the policy {how}")


def rule_params(policy: Policy) -> dict[str, Any]:
    """What `RULE_OF_TASK` reads."""
    rules = policy.ordered
    return {
        "owners": [rule.owner_id for rule in rules],
        "tools": [rule.like for rule in rules],
        # One kind of number: a list of whole and broken ones is none that the driver can send.
        "purges": [float(policy.terms_of(rule).purge_after) for rule in rules],
        "holds": [rule.hold for rule in rules],
        "after": policy.settings.purge_after,
        "soonest": min(policy.terms_of(rule).purge_after for rule in (None, *rules)),
    }


def dry_run(rules: Sequence[Rule]) -> DryRun:
    """What these rules would do, compared with those in force; nothing is changed. Raises InvalidPolicy."""
    before = newest()
    after = _policy(before.version, check_rules(rules, before.settings))
    touched, held, released = _compare(before, after)
    return DryRun(
        touched=touched,
        purged=_count(_WOULD_PURGE, rule_params(after) | _before_params(before)),
        held=held,
        released=released,
        retired=max(_retired(after) - _retired(before), 0),
    )


def _before_params(policy: Policy) -> dict[str, Any]:
    return {f"before_{name}": value for name, value in rule_params(policy).items() if name != "soonest"}


def _compare(before: Policy, after: Policy) -> tuple[int, int, int]:
    """From the tally, never by a look at each task: how many are touched, come under a hold, leave one."""
    touched = held = released = 0
    for owner_id, tool, tasks in tally.counts_by_owner_and_tool():
        old, new = before.terms(tool, owner_id), after.terms(tool, owner_id)
        touched += tasks if old != new else 0
        held += tasks if new.hold and not old.hold else 0
        released += tasks if old.hold and not new.hold else 0
    return touched, held, released


def _retired(policy: Policy) -> int:
    return _count(_WOULD_RETIRE, {"keep": policy.longest_record_retention()})


def _count(text: str, params: dict[str, Any]) -> int:
    found = row(text, params)
    return int(found[0]) if found else 0


def terms(tool: str, owner_id: int) -> Terms:
    """What counts for a task of this tool and owner, on Django's connection."""
    return current().terms(tool, owner_id)
