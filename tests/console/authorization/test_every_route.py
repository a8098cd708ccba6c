"""Every address, method and role, on one's own, on another's and on nothing: as the table says, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern

from console.access import Role
from console.pages import shell, sign_in, trouble
from tests.console.authorization.table import ROLES, TABLE
from tests.console.authorization.world import Thing, address, named_parts, routes, thing
from tests.console.pages.people import Someone

pytestmark = pytest.mark.django_db
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
ROUTES = routes()
OWNED = {"task_id", "key", "credential_id", "view_id", "export_id", "webhook_id"}
REFUSED = {403, 404, 405}
SIGNED_IN = [name for name, expected in TABLE.items() if not expected.is_open]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No strip about missing workers, no probe beside the test, and nobody who has tried to sign in."""
    for module in (trouble, shell):
        monkeypatch.setattr(module, "watch", trouble.Watch([]))
    sign_in.throttle.clear()
    yield
    sign_in.throttle.clear()


def someone(role: str) -> Someone:
    return Someone(f"a-{role}") if role == "owner" else Someone(f"a-{role}", role)


def ask(browser: Client, method: str, name: str, of: Thing) -> Any:
    sends = dict(TABLE[name].sends) if method == "POST" else None
    return browser.generic(method, address(name, ROUTES[name], of), **_body(sends))


def _body(sends: dict[str, str] | None) -> dict[str, Any]:
    if not sends:
        return {"content_type": "application/x-www-form-urlencoded"}
    text = "&".join(f"{key}={value.replace(' ', '+')}" for key, value in sends.items())
    return {"data": text, "content_type": "application/x-www-form-urlencoded"}


def seen(response: Any) -> tuple[int, str, bytes]:
    """All that tells one answer from another, without what is random in each."""
    body = re.sub(rb'(csrfmiddlewaretoken" value="|X-CSRFToken": ")\w+', rb"\1", response.content)
    return response.status_code, response.headers.get("Location", ""), body


def is_owned(pattern: URLPattern) -> bool:
    return bool(named_parts(pattern) & OWNED)


def some(owner: Someone, name: str) -> Thing:
    """Something of theirs, where the address names what can be somebody's."""
    return thing(owner if is_owned(ROUTES[name]) else None)


def test_every_route_has_its_line_and_every_line_its_route() -> None:
    assert set(ROUTES) == set(TABLE)


def test_every_part_of_an_address_is_known_to_the_tests() -> None:
    known = {each.name for each in fields(Thing)}

    assert set().union(*map(named_parts, ROUTES.values())) <= known


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", SIGNED_IN)
def test_route_serves_whom_the_table_names(name: str, role: str) -> None:
    expected = TABLE[name]
    me, stranger = someone(role), Someone("stranger")
    # All of them first: what is done to one may make it due for the worker that makes the next.
    made = [(method, some(me, name), some(stranger, name)) for method in sorted(expected.takes)]
    for method, mine, theirs in made:
        own = ask(me.browser, method, name, mine)
        assert (own.status_code not in REFUSED) is (role in expected.own), (method, own.status_code)
        if is_owned(ROUTES[name]):
            anothers, nothing = (ask(me.browser, method, name, of) for of in (theirs, thing(None)))
            is_allowed = role in expected.others
            # Where even nothing is refused, the role itself does not allow it.
            assert nothing.status_code == (404 if role in expected.own else 403)
            assert (anothers.status_code not in REFUSED) is is_allowed, (method, anothers.status_code)
            assert (seen(anothers) != seen(nothing)) is is_allowed, method


@pytest.mark.parametrize("name", TABLE)
def test_route_refuses_every_other_method(name: str) -> None:
    me = someone("admin")
    # Who is signed in is led away from the page of sign-in, whatever the method.
    browser = Client() if TABLE[name].is_open else me.browser
    of = some(me, name)

    refused = {method for method in METHODS if ask(browser, method, name, of).status_code == 405}

    assert refused == set(METHODS) - TABLE[name].takes


@pytest.mark.parametrize("name", SIGNED_IN)
def test_nobody_gets_in_without_a_session(name: str) -> None:
    of = some(Someone("ana"), name)

    for method in METHODS:
        answer = ask(Client(), method, name, of)
        assert answer.status_code == 302, (method, answer.status_code)
        assert answer["Location"].startswith("/login/?next=")


@pytest.mark.parametrize("name", [name for name, expected in TABLE.items() if "POST" in expected.takes])
def test_form_without_its_token_changes_nothing(name: str) -> None:
    me = someone("admin")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(me.user)

    answer = ask(browser, "POST", name, some(me, name))

    assert answer.status_code == 403
    assert "This form is out of date" in answer.content.decode()


def test_roles_of_the_table_are_those_of_the_console() -> None:
    assert {role.value for role in Role} == set(ROLES)
