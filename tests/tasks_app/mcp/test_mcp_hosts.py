"""Which Host and Origin may use the server."""

from __future__ import annotations

import pytest
from django.test import override_settings

from tasks_app.mcp.errors import Refused
from tasks_app.mcp.exchange import Headers
from tasks_app.mcp.hosts import check_host, check_origin


def _host(*values: str, server: str = "testserver") -> None:
    check_host(Headers((b"host", value.encode("latin-1")) for value in values), server=server)


@pytest.mark.parametrize(
    "host", ["testserver", "TestServer:8000", "localhost:1", "127.0.0.1", "[::1]:8000", "testserver."]
)
def test_own_name_is_let_in(host: str) -> None:
    _host(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        "testserver.evil.com",
        "eviltestserver",
        "",
        "testserver@evil.com",
        "a b",
        "testserver:x",
        "é",
    ],
)
def test_other_name_is_refused(host: str) -> None:
    with pytest.raises(Refused) as refused:
        _host(host)

    assert refused.value.status == 400


def test_two_hosts_are_refused() -> None:
    with pytest.raises(Refused):
        _host("testserver", "testserver")


def test_request_without_host_is_judged_by_where_it_arrived() -> None:
    """HTTP/1.0 has no Host."""
    _host(server="127.0.0.1")

    with pytest.raises(Refused):
        _host(server="203.0.113.9")


def test_rules_are_those_of_django() -> None:
    with override_settings(ALLOWED_HOSTS=[".example.org"]):
        _host("a.example.org")
        with pytest.raises(Refused):
            _host("testserver")
    with override_settings(ALLOWED_HOSTS=[], DEBUG=True):
        _host("sub.localhost:8000")
        with pytest.raises(Refused):
            _host("testserver")


def test_name_given_by_a_proxy_counts_only_where_the_settings_say_so() -> None:
    headers = Headers.of({"host": "evil.example.com", "x-forwarded-host": "testserver"})

    with pytest.raises(Refused):
        check_host(headers, server="testserver")
    with override_settings(USE_X_FORWARDED_HOST=True):
        check_host(headers, server="testserver")


def _origin(*values: str) -> None:
    check_origin(Headers((b"origin", value.encode("latin-1")) for value in values))


def test_program_without_origin_is_let_in() -> None:
    _origin()


@pytest.mark.parametrize(
    "origin",
    ["http://testserver", "https://testserver", "http://localhost:6274", "HTTP://LocalHost", "http://[::1]:8000"],
)
def test_own_pages_are_let_in(origin: str) -> None:
    _origin(origin)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example.com",
        "null",
        "",
        "testserver",
        "http://testserver.evil.com",
        "http://testserver@evil.example.com",
        "http://evil.example.com@testserver",
        "http://testserver/path",
        "http://testserver:99999999",
        "http://testserver:",
        "file://testserver",
        "http://testserver http://evil.example.com",
    ],
)
def test_other_pages_are_refused(origin: str) -> None:
    with pytest.raises(Refused) as refused:
        _origin(origin)

    assert refused.value.status == 403


def test_second_origin_is_looked_at_too() -> None:
    with pytest.raises(Refused):
        _origin("http://testserver", "http://evil.example.com")


def test_trusted_origins_are_let_in_as_written() -> None:
    with override_settings(CSRF_TRUSTED_ORIGINS=["https://app.example.org", "https://*.example.net"]):
        _origin("https://app.example.org")
        _origin("https://a.example.net")
        for origin in ("http://app.example.org", "https://app.example.org:8443", "http://a.example.net"):
            with pytest.raises(Refused):
                _origin(origin)


def test_server_that_takes_any_host_does_not_take_any_page() -> None:
    with override_settings(ALLOWED_HOSTS=["*"]):
        _host("anything.example.org")
        with pytest.raises(Refused):
            _origin("https://evil.example.com")
