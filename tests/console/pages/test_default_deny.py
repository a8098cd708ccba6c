"""Nothing is open by accident: every address needs a session unless it stands in this short list."""

from __future__ import annotations

from collections.abc import Iterator

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

OPEN_TO_EVERYBODY = {"login", "login_link", "logout", "theme", "healthz", "readyz", "metrics"}


def patterns_under(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns_under(entry)
        else:
            yield entry


def test_only_the_listed_addresses_are_open_without_a_session() -> None:
    patterns = list(patterns_under(get_resolver()))

    is_open = {pattern.name for pattern in patterns if not getattr(pattern.callback, "login_required", True)}

    assert is_open == OPEN_TO_EVERYBODY
    assert all(pattern.name for pattern in patterns)


def test_a_page_without_a_session_leads_to_sign_in(client: Client) -> None:
    assert client.get("/")["Location"] == "/login/?next=/"
    assert client.get("/tasks/")["Location"] == "/login/?next=/tasks/"
    assert client.post("/tasks/")["Location"] == "/login/?next=/tasks/"


def test_the_strict_content_policy_is_on_every_page(client: Client) -> None:
    policies = {client.get(address)["Content-Security-Policy"] for address in ("/login/", "/tasks/", "/nowhere/")}

    assert len(policies) == 1
    directives = {part.strip() for part in policies.pop().split(";")}
    assert {
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    } <= directives
    assert not any("unsafe" in directive for directive in directives)
