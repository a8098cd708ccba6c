"""The pages for what goes wrong: in our look, in the chosen theme, and with nothing that may be broken itself."""

from __future__ import annotations

from copy import deepcopy

import pytest
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from console.urls import handler400, handler403, handler404, handler500
from console.urls import urlpatterns as console_urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500"]


@login_not_required
def malformed(request: HttpRequest) -> HttpResponse:
    raise BadRequest("the secret detail")


@login_not_required
def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("the secret detail")


@login_not_required
def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the secret detail")


urlpatterns = [
    *console_urlpatterns,
    path("malformed/", malformed),
    path("forbidden/", forbidden),
    path("broken/", broken),
]

PAGES = [
    ("/malformed/", 400, "That request makes no sense here"),
    ("/forbidden/", 403, "Not allowed"),
    ("/nowhere/", 404, "No such page"),
    ("/broken/", 500, "Something broke on the server"),
]


@pytest.fixture
def browser_of_a_broken_site(settings: Settings) -> Client:
    """A browser that is shown the error page; without the mark for it, any use of the database raises."""
    settings.ROOT_URLCONF = __name__
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(("address", "status", "title"), PAGES)
def test_error_page_explains_itself_without_a_database(
    browser_of_a_broken_site: Client, address: str, status: int, title: str
) -> None:
    page = browser_of_a_broken_site.get(address)

    html = page.content.decode()
    assert page.status_code == status
    assert f"<h1>{title}</h1>" in html
    assert "taskdeck/app.css" in html
    assert "the secret detail" not in html


@pytest.mark.parametrize(("address", "status", "title"), PAGES)
def test_error_page_needs_no_context_processor_and_keeps_the_theme(
    browser_of_a_broken_site: Client, settings: Settings, address: str, status: int, title: str
) -> None:
    engines = deepcopy(settings.TEMPLATES)
    engines[0]["OPTIONS"]["context_processors"] = []
    settings.TEMPLATES = engines
    browser_of_a_broken_site.cookies["theme"] = "dark"

    page = browser_of_a_broken_site.get(address)

    assert page.status_code == status
    assert b'<html lang="en" data-theme="dark">' in page.content


def test_a_page_that_cannot_read_its_session_is_an_error_page(browser_of_a_broken_site: Client) -> None:
    browser_of_a_broken_site.cookies["sessionid"] = "a" * 32

    page = browser_of_a_broken_site.get("/tasks/")

    assert page.status_code == 500
    assert "<h1>Something broke on the server</h1>" in page.content.decode()


def test_a_form_without_a_token_is_refused_in_our_words() -> None:
    browser = Client(enforce_csrf_checks=True)

    page = browser.post("/theme/", {"theme": "dark"})

    assert page.status_code == 403
    assert "<h1>This form is out of date</h1>" in page.content.decode()
    assert "theme" not in browser.cookies
