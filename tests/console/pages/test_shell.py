"""The frame around every page: links, account, messages, and what a hostile name does to it (nothing)."""

from __future__ import annotations

import re

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.test import Client
from django.urls import path
from pytest_django import Settings

from console.urls import urlpatterns as console_urlpatterns
from tests.console.pages.markup import markup
from tests.console.pages.people import Someone, create


def saved(request: HttpRequest) -> HttpResponse:
    messages.success(request, "<b>Saved</b>")
    return render(request, "tasks.html")


urlpatterns = [*console_urlpatterns, path("saved/", saved)]


def test_home_leads_to_the_tasks(signed_in: Client) -> None:
    assert signed_in.get("/")["Location"] == "/tasks/"


def test_every_link_of_the_frame_opens(signed_in: Client) -> None:
    html = markup(signed_in.get("/tasks/"))

    links = re.findall(r'<a [^>]*href="(/[^"]*)"', html)

    assert "/tasks/" in links
    assert {link: signed_in.get(link, follow=True).status_code for link in links} == dict.fromkeys(links, 200)


def test_the_open_page_is_marked_in_the_navigation(signed_in: Client) -> None:
    html = markup(signed_in.get("/tasks/"))

    assert '<a href="/tasks/" aria-current="page">' in html


def test_a_page_without_tasks_says_how_the_first_one_arrives(signed_in: Client) -> None:
    html = markup(signed_in.get("/tasks/"))

    assert "No tasks yet" in html
    assert "the moment a client calls a tool" in html


def test_pages_carry_the_csrf_token_for_htmx(signed_in: Client) -> None:
    html = markup(signed_in.get("/tasks/"))

    assert re.search(r"""<body [^>]*hx-headers='\{"X-CSRFToken": "\w{64}"\}'>""", html)


def test_a_hostile_name_is_shown_as_text(client: Client, db: None) -> None:
    client.force_login(User.objects.create_user('"><script>alert(1)</script>'))

    html = markup(client.get("/tasks/"))

    assert "<script>alert(1)" not in html
    assert "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_a_message_is_shown_once_and_as_text(signed_in: Client, settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__

    first = markup(signed_in.get("/saved/"))
    second = markup(signed_in.get("/tasks/"))

    assert '<div role="status"><ul><li>&lt;b&gt;Saved&lt;/b&gt;</li></ul></div>' in first
    assert "Saved" not in second


def test_scope_is_remembered_for_those_who_have_the_switch(db: None) -> None:
    opal, ana = Someone("opal", "operator"), Someone("ana")
    create(ana, "strange")

    for browser in (opal.browser, ana.browser):
        browser.get("/tasks/?scope=all")
        browser.get("/inbox/?scope=nonsense")

    assert opal.browser.cookies["scope"].value == "all"
    assert "strange" in opal.page("/tasks/?q=tool:strange")
    assert "scope" not in ana.browser.cookies
    opal.browser.get("/inbox/?scope=mine")
    assert "No task matches" in opal.page("/tasks/?q=tool:strange")
