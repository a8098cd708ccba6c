"""Signing in and out, as a browser without JavaScript sees it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

FOURTEEN_DAYS = 14 * 24 * 60 * 60


def test_a_page_leads_to_sign_in_and_back_again(client: Client, alice: User, password: str) -> None:
    refused = client.get("/tasks/?q=status")

    page = client.post(refused["Location"], {"username": "alice", "password": password, "next": "/tasks/?q=status"})

    assert refused["Location"] == "/login/?next=/tasks/%3Fq%3Dstatus"
    assert page["Location"] == "/tasks/?q=status"
    assert client.get("/tasks/").status_code == 200


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_sign_in_never_leads_to_a_foreign_address(client: Client, alice: User, password: str, address: str) -> None:
    page = client.post("/login/", {"username": "alice", "password": password, "next": address})

    assert page["Location"] == "/"


def test_wrong_password_is_said_accessibly_and_keeps_the_name(client: Client, alice: User) -> None:
    page = client.post("/login/", {"username": "alice", "password": "not this one"})

    html = page.content.decode()
    assert '<div class="banner failed" role="alert" id="sign-in-error">' in html
    assert "Wrong name or password." in html
    assert 'aria-invalid="true" aria-describedby="sign-in-error"' in html
    assert 'value="alice"' in html
    assert "<title>Error: Sign in · Taskdeck</title>" in html
    assert "not this one" not in html


def test_sign_in_does_not_tell_which_names_exist(client: Client, alice: User, password: str) -> None:
    User.objects.create_user("bo", password=password, is_active=False)

    wrong = client.post("/login/", {"username": "alice", "password": "not this one"}).context["form"].errors
    unknown = client.post("/login/", {"username": "nobody", "password": "not this one"}).context["form"].errors
    inactive = client.post("/login/", {"username": "bo", "password": password}).context["form"].errors

    assert wrong == unknown == inactive
    assert wrong["__all__"] == ["Wrong name or password."]


@pytest.mark.django_db
def test_an_empty_form_names_both_fields(client: Client) -> None:
    html = client.post("/login/", {}).content.decode()

    assert '<p class="error" id="username-error">' in html
    assert '<p class="error" id="password-error">' in html


@pytest.mark.django_db
def test_a_name_with_a_null_character_is_refused_not_sent_to_the_database(client: Client) -> None:
    page = client.post("/login/", {"username": "a\x00b", "password": "anything"})

    assert page.status_code == 200
    assert "username" in page.context["form"].errors


def test_a_kept_session_lasts_fourteen_days(client: Client, alice: User, password: str) -> None:
    client.post("/login/", {"username": "alice", "password": password, "keep": "on"})

    assert client.cookies["sessionid"]["max-age"] == FOURTEEN_DAYS
    assert client.session.get_expiry_age() == FOURTEEN_DAYS


def test_a_session_that_is_not_kept_ends_with_the_browser(client: Client, alice: User, password: str) -> None:
    client.post("/login/", {"username": "alice", "password": password})

    assert client.cookies["sessionid"]["max-age"] == ""
    assert client.session.get_expire_at_browser_close()


@pytest.mark.parametrize(("asked", "led_to"), [("/tasks/", "/tasks/"), ("/login/", "/"), ("/login/?next=/login/", "/")])
def test_sign_in_page_leads_on_when_already_signed_in(signed_in: Client, asked: str, led_to: str) -> None:
    page = signed_in.get("/login/", {"next": asked})

    assert page["Location"] == led_to


def test_a_fragment_request_of_an_ended_session_reloads_the_page(client: Client) -> None:
    refused = client.get("/tasks/", headers={"HX-Request": "true"})

    fragment = client.get(refused["Location"], headers={"HX-Request": "true"})

    assert fragment["HX-Refresh"] == "true"
    assert fragment.content == b""


def test_sign_out_ends_the_session(signed_in: Client) -> None:
    page = signed_in.post("/logout/")

    assert page["Location"] == "/login/"
    assert signed_in.get("/tasks/")["Location"] == "/login/?next=/tasks/"


def test_sign_out_by_a_link_changes_nothing(signed_in: Client) -> None:
    page = signed_in.get("/logout/")

    assert page.status_code == 405
    assert signed_in.get("/tasks/").status_code == 200


@pytest.mark.django_db
def test_sign_out_without_a_session_leads_to_sign_in(client: Client) -> None:
    page = client.post("/logout/")

    assert page["Location"] == "/login/"
