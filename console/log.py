"""What an event says, in words: what was done, by whom, to what. Events carry names and numbers only, and so do these.

Pure: values in, words out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from console import present
from console.records import NOTHING, TIMES, WHY
from tasks_app.store.audit import Entry

ACTIONS = {
    "created": "Task created",
    "status": "Status changed",
    "attempt_started": "Attempt started",
    "attempt_ended": "Attempt ended",
    "asked": "Question asked",
    "answered": "Question answered",
    "question_expired": "Question expired",
    "withdrawn": "Question withdrawn",
    "ttl": "Expiry changed",
    "held": "Legal hold",
    "hold_lifted": "Hold lifted",
    "first_fetch": "Result fetched first",
    "expired": "Task expired",
    "purged": "Payload purged",
    "signed_in": "Signed in",
    "token_created": "Token created",
    "token_revoked": "Token revoked",
    "owner_linked": "Owner linked",
    "login_link_made": "Login link made",
    "account_created": "Account created",
    "password_changed": "Password changed",
    "role_given": "Role given",
    "bulk": "Bulk action",
    "policy": "Policy changed",
    "chain_verified": "Chain verified",
    "chain_broken": "Chain broken",
    "retired": "Log entries retired",
    "webhook_created": "Webhook created",
    "webhook_deleted": "Webhook deleted",
    "export": "Export begun",
    "export_finished": "Export finished",
    "refused": "Refused",
}
CAUTION = frozenset({"refused", "purged", "token_revoked", "held", "chain_broken"})
"""What an auditor's eye should stop at."""


def title(entry: Entry) -> str:
    """What was done."""
    if entry.kind == "status" and entry.to_status:
        return present.chip(entry.to_status).word
    return ACTIONS.get(entry.kind, entry.kind.replace("_", " ").capitalize())


def detail(entry: Entry) -> str:
    """What there is to say about it, and the reason that was given."""
    parts = _SAID.get(entry.kind, _plain)(entry.detail)
    if entry.actor.get("reason"):
        parts.append(f"“{entry.actor['reason']}”")
    return " · ".join(part for part in parts if part)


def _plain(said: Mapping[str, Any]) -> list[str]:
    return [
        str(said[name]) for name in ("tool", "key", "action", "outcome", "worker", "name", "version") if name in said
    ]


def _ttl(said: Mapping[str, Any]) -> list[str]:
    moments = [
        f"{datetime.fromisoformat(said[name]).astimezone(UTC):%-d %b %H:%M:%S}"
        for name in ("from", "to")
        if name in said
    ]
    return [f" {NOTHING} ".join(moments) + " UTC", WHY.get(str(said.get("why")), str(said.get("why", "")))]


def _token(said: Mapping[str, Any]) -> list[str]:
    return [f"“{said.get('name', '')}”", ", ".join(map(str, said.get("scopes", ())))]


def _refused(said: Mapping[str, Any]) -> list[str]:
    count = said.get("count", 1)
    return [
        str(said.get("action", "")),
        f"{count}{TIMES}" if count != 1 else "",
        f"from {said['address']}" if said.get("address") else "",
        f"task {', '.join(said['tasks'])}" if said.get("tasks") else "",
        str(said.get("why", "")),
    ]


def _verified(said: Mapping[str, Any]) -> list[str]:
    broken = said.get("broken_batch")
    where = f"batch {broken}" if broken is not None else f"through event {said.get('event', 0)}"
    return [f"from batch {said['first']}" if "first" in said else "", where, str(said.get("what", ""))]


def _policy(said: Mapping[str, Any]) -> list[str]:
    digest = f"sha256 {said['sha256'][:12]}…" if said.get("sha256") else ""
    return [f"version {said.get('version', '')}", digest]


def _retired(said: Mapping[str, Any]) -> list[str]:
    return [
        f"batch {said.get('batch', '')}",
        f"{said.get('events', 0):,} events",
        f"{said.get('records', 0):,} records",
    ]


def _export(said: Mapping[str, Any]) -> list[str]:
    filter_ = ", ".join(f"{name} {value}" for name, value in said.get("filter", {}).items())
    rows = f"{said['rows']:,} rows" if isinstance(said.get("rows"), int) else ""
    digest = f"sha256 {said['sha256'][:12]}…" if said.get("sha256") else ""
    cut = "" if said.get("complete", True) else "broken off"
    return [str(said.get("what", "")), str(said.get("format", "")), filter_, rows, digest, cut]


_SAID: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "ttl": _ttl,
    "token_created": _token,
    "token_revoked": _token,
    "refused": _refused,
    "policy": _policy,
    "chain_verified": _verified,
    "chain_broken": _verified,
    "retired": _retired,
    "export": _export,
    "export_finished": _export,
}
