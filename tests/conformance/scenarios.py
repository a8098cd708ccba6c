"""Every server scenario of the suite for each revision that we speak, and what may be skipped, with the reason."""

from __future__ import annotations

_BOTH = [
    "completion-complete",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "dns-rebinding-protection",
    "json-schema-2020-12",
]

_LEGACY = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-call-with-logging",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-session-lifecycle",
    "server-sse-polling",
]

_MODERN = [
    "server-stateless",
    "sep-2164-resource-not-found",
    "caching",
    "http-header-validation",
    "http-custom-header-server-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
]

LEGACY, MODERN = "2025-11-25", "2026-07-28"
SCENARIOS = {LEGACY: sorted(_BOTH + _LEGACY), MODERN: sorted(_BOTH + _MODERN)}

NOT_PASSED = {
    # A stub: the suite's authors have not written it for the channel on which these notifications travel.
    ("tasks-status-notifications", "tasks-status-notifications"),
    # Our lists do not change while the server runs, and we do not say that they would: there is nothing to check.
    ("server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription"),
    ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"),
}
"""Scenario and check that may be skipped. Nothing may fail."""
