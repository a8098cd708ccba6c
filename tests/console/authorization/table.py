"""Who may do what at which address, one line a route. A route without a line fails the tests; so does a line too many.

`takes` are the methods that are served; every other one is refused. `own` are the roles that may do it to what is their
own, or to nothing in particular; `others` those that may do it to what is somebody else's. Whoever may not do it to
another's sees exactly what they see of something that does not exist. `sends` is what the form holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ROLES = ("owner", "operator", "auditor", "admin")
ALL = frozenset(ROLES)
READERS = frozenset({"operator", "auditor", "admin"})
ACTORS = frozenset({"operator", "admin"})
AUDITORS = frozenset({"auditor", "admin"})
ADMIN = frozenset({"admin"})
NONE: frozenset[str] = frozenset()

SAFE = frozenset({"GET", "HEAD"})
POST = frozenset({"POST"})
# What Django's own views of forms serve.
FORM = frozenset({"GET", "HEAD", "POST", "PUT", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Expected:
    """One line of the table."""

    takes: frozenset[str]
    own: frozenset[str] = ALL
    others: frozenset[str] = NONE
    sends: Mapping[str, str] = field(default_factory=dict)
    is_open: bool = False
    """Whether it is served without a session, too."""


REASON = {"reason": "on call"}

TABLE: Mapping[str, Expected] = {
    "home": Expected(SAFE),
    "tasks": Expected(SAFE),
    "export_tasks": Expected(POST, sends={"format": "csv"}),
    "task_rows": Expected(SAFE),
    "bulk_cancel": Expected(POST, sends=REASON),
    "bulk_extend": Expected(POST, sends=REASON),
    "bulk_export": Expected(POST),
    "density": Expected(POST, sends={"density": "compact"}),
    "columns": Expected(POST, sends={"columns": "owner"}),
    "suggestions": Expected(SAFE),
    "save_view": Expected(POST, sends={"name": "mine"}),
    "delete_view": Expected(POST),
    "task": Expected(SAFE, others=READERS),
    "cancel": Expected(POST, others=ACTORS, sends=REASON),
    "extend": Expected(POST, others=ACTORS, sends={**REASON, "by": "1h"}),
    "hold": Expected(POST, own=ADMIN, others=ADMIN, sends={**REASON, "held": "1"}),
    "log": Expected(SAFE, others=READERS),
    "raw": Expected(SAFE, others=READERS),
    "inbox": Expected(SAFE),
    "inbox_count": Expected(SAFE),
    "question": Expected(SAFE, others=READERS),
    "answer": Expected(POST, others=ACTORS, sends={**REASON, "action": "decline"}),
    "claim": Expected(POST, others=ACTORS, sends={"how": "take"}),
    "question_state": Expected(SAFE, others=READERS),
    "overview": Expected(SAFE),
    "expirations": Expected(SAFE),
    "expirations_expired": Expected(SAFE),
    "export_expired": Expected(POST, sends={"format": "jsonl"}),
    "expirations_purged": Expected(SAFE),
    "export_purged": Expected(POST, sends={"format": "jsonl"}),
    "policy": Expected(SAFE, own=READERS),
    "change_policy": Expected(POST, own=ADMIN),
    "verify_chain": Expected(POST, own=AUDITORS),
    "audit": Expected(SAFE),
    "export_audit": Expected(POST, sends={"format": "csv"}),
    "export_manifest": Expected(SAFE, others=AUDITORS),
    "tools": Expected(SAFE),
    "run": Expected(POST),
    "tool": Expected(SAFE),
    "connect": Expected(SAFE),
    "connect_check": Expected(SAFE),
    "first_steps": Expected(SAFE),
    "create_token": Expected(POST, sends={"name": "laptop"}),
    "revoke_token": Expected(POST, others=ADMIN),
    "close_tour": Expected(POST),
    "trouble": Expected(SAFE),
    "palette": Expected(SAFE),
    "settings": Expected(SAFE | POST),
    "notify": Expected(POST, sends={"notify": "on"}),
    "webhooks": Expected(SAFE | POST, own=ADMIN, sends={"url": "https://hooks.example.org/x"}),
    "webhook_state": Expected(SAFE, own=ADMIN),
    "webhook_test": Expected(POST, own=ADMIN, others=ADMIN),
    "webhook_delete": Expected(POST, own=ADMIN, others=ADMIN),
    "remove_demo": Expected(POST, own=ADMIN),
    "password": Expected(FORM),
    "single_keys": Expected(POST),
    "zone": Expected(POST, sends={"time_zone": "Europe/Rome"}),
    "theme": Expected(POST, sends={"theme": "dark"}, is_open=True),
    "login": Expected(FORM, is_open=True),
    "login_link": Expected(frozenset({"GET"}), is_open=True),
    "logout": Expected(frozenset({"POST", "OPTIONS"}), is_open=True),
    "healthz": Expected(SAFE, is_open=True),
    "readyz": Expected(SAFE, is_open=True),
    # Has a token of its own, and tests of its own.
    "metrics": Expected(SAFE, is_open=True),
}

TOPICS: Mapping[str, Mapping[str, frozenset[str]]] = {
    # What a socket may ask to hear: with the scope "mine", with "all", and of another's task.
    "tasks": {"mine": ALL, "all": READERS},
    "inbox": {"mine": ALL, "all": READERS},
    "stats": {"mine": ALL, "all": READERS},
    "task": {"own": ALL, "others": READERS},
}
