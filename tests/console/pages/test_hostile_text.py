"""Text that tools, clients and people choose is text on every page: it adds no element, whatever it holds.

Every page is read twice, with harmless words and with each of the hostile ones in the same places. Both must have
the same elements with the same names of attributes, in the same order. The pages come from the resolver: a new one is
read as soon as it has a route.
"""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from django.urls import reverse

from tasks_app import store
from tasks_app.domain.identity import Actor
from tasks_app.domain.questions import QuestionKind
from tasks_app.store import queries
from tests.console.authorization.table import TABLE
from tests.console.authorization.world import named_parts, routes
from tests.console.pages.people import WORKER, Someone, fold

pytestmark = pytest.mark.django_db
HARMLESS = "plain words"
CORPUS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "</textarea></title></option></select></template><svg/onload=alert(1)>",
    "{{ 7|add:7 }}{% debug %}${7*7}<%= 7 %>",
    "javascript:alert(1)//&lt;b&gt;<!-- --!><b>",
    "\u202e<\u0131frame srcdoc='<script>'>\x07<a href=//evil.example>",
)
# What these answer is no page, or is about no task.
NO_PAGES = {"raw", "log", "export_manifest", "inbox_count", "healthz", "readyz", "metrics", "login_link"}
PAGES = sorted(name for name, expected in TABLE.items() if "GET" in expected.takes and name not in NO_PAGES)
QUERIES = {
    "tasks": ("", "?scope=all"),
    "inbox": ("", "?tab=answered&scope=all", "?tab=expired"),
    "overview": ("?range=24h&scope=all",),
}
ID = r"[0-9a-f-]{36}|-[0-9a-z]{8}/"


class Shape(HTMLParser):
    """The elements of a page with the names of their attributes: what no text may change."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, ...]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in one element; an address that is script would be as bad as an element."""
        self.elements.append((tag, *(name for name, _ in attrs)))
        for name, value in attrs:
            assert not (name in {"href", "src", "action"} and (value or "").lower().startswith("javascript:")), value


class World:
    """Tasks in every state that carry the same text wherever text can be."""

    def __init__(self, name: str, text: str) -> None:
        self.text = text
        self.root = Someone(name, "admin")
        self.asked = self._ask(self._form())
        link = {"mode": "url", "message": text, "url": f"https://x.example/{quote(text)}"}
        self.link = self._ask(link, QuestionKind.URL)
        self.script = self._ask({**link, "url": f"javascript:{text}"}, QuestionKind.URL)
        self.model = self._ask({"messages": [{"role": "user", "content": text}]}, QuestionKind.SAMPLING)
        self.approval = queries.questions(self._create(approval=self._form()).id)[0]
        self.done = self._finished()
        self.failed = self._failed()
        self.cancelled = self._cancelled()
        self.answered = self._answered()
        fold()

    def _form(self) -> dict[str, Any]:
        return {"message": self.text, "requestedSchema": _schema(self.text)}

    def _create(self, **more: Any) -> store.Snapshot:
        values = {self.text: self.text, "list": [self.text, {self.text: self.text}]}
        token = store.create_token(self.root.owner_id, name=self.text[:60], by=Actor.system(via="test"))[1]
        new = store.NewTask(
            owner_id=self.root.owner_id,
            tool=f"t {self.text}",
            arguments=values,
            client=self.text,
            credential_id=token,
            **more,
        )
        return store.create(new).task

    def _claim(self) -> store.Claim:
        self._create()
        claim = store.claim_next(WORKER)
        assert claim is not None
        store.set_message(claim, self.text)
        store.set_progress(claim, done=1, total=2, message=self.text)
        store.set_variables(claim, {self.text[:40]: self.text})
        store.write_output(claim, self.text)
        store.save_step(claim, name=self.text, position=0, value=self.text)
        return claim

    def _ask(self, request: dict[str, Any], kind: QuestionKind = QuestionKind.FORM) -> store.QuestionView:
        claim = self._claim()
        store.suspend(claim, [store.NewQuestion(name="ask", request=request, kind=kind, position=1)])
        return queries.questions(claim.task_id)[0]

    def _answered(self) -> store.QuestionView:
        asked = self._ask(self._form())
        form = {"action": "decline", "reason": self.text}
        assert self.root.browser.post(f"{_address(asked)}answer/", form).status_code == 302
        return asked

    def _finished(self) -> store.Claim:
        claim = self._claim()
        result = {"content": [{"type": "text", "text": self.text}], "structuredContent": {self.text: self.text}}
        store.complete(claim, result=result, is_error=True)
        return claim

    def _failed(self) -> store.Claim:
        claim = self._claim()
        store.fail(claim, error={"code": -32000, "message": self.text, "data": {self.text: self.text}})
        return claim

    def _cancelled(self) -> store.Claim:
        claim = self._claim()
        self.root.browser.post(reverse("cancel", args=[claim.task_id]), {"reason": self.text})
        self.root.browser.post(reverse("extend", args=[claim.task_id]), {"reason": self.text, "by": "1h"})
        return claim

    def addresses(self) -> list[str]:
        """Every page about something of this world."""
        questions = (self.asked, self.approval, self.link, self.script, self.model, self.answered)
        tasks = [each.task_id for each in (*questions, self.done, self.failed, self.cancelled)]
        return [found for name in PAGES for found in _addresses(name, tasks, questions)]


def _schema(text: str) -> dict[str, Any]:
    named = {"type": "string", "title": text, "description": text}
    properties = {
        "a": {**named, "default": text},
        "b": {**named, "enum": [text, "other"], "enumNames": [text, text]},
        "c": {"type": "boolean", "title": text, "description": text},
        "d": {"type": "array", "title": text, "items": {"type": "string", "enum": [text, "other"]}},
        "e": {"type": "integer", "title": text, "description": text},
    }
    return {"type": "object", "properties": properties, "required": ["a"]}


def _address(asked: store.QuestionView) -> str:
    return reverse("question", args=[asked.task_id, asked.key])


def _addresses(name: str, tasks: list[Any], questions: tuple[store.QuestionView, ...]) -> list[str]:
    parts = named_parts(routes()[name])
    if "key" in parts:
        return [reverse(name, args=[each.task_id, each.key]) for each in questions]
    if "task_id" in parts:
        return [reverse(name, args=[task_id]) for task_id in tasks]
    if parts == {"name"}:
        return [reverse(name, args=["hash_files"])]
    assert not parts, f"say here what the parts {parts} of {name} are"
    return [reverse(name) + query for query in QUERIES.get(name, ("",))]


def read(text: str) -> dict[str, list[tuple[str, ...]]]:
    """The shape of every page of a world with this text, which is gone again afterwards."""
    with transaction.atomic():
        world = World("root", text)
        found = {f"{number} {name}": _shape(world, name) for number, name in enumerate(world.addresses())}
        transaction.set_rollback(True)
    return {re.sub(ID, "", name): shape for name, shape in found.items()}


def _shape(world: World, address: str) -> list[tuple[str, ...]]:
    page = world.root.browser.get(address)
    assert page.status_code in {200, 204, 302}, (address, page.status_code)
    return Shape(page.content.decode()).elements


@cache
def expected() -> dict[str, list[tuple[str, ...]]]:
    """The shapes with harmless text; asked for by a test, which has the database and no strips above its pages."""
    return read(HARMLESS)


@pytest.mark.parametrize("text", CORPUS)
def test_hostile_text_adds_no_element_to_any_page(text: str) -> None:
    found, harmless = read(text), expected()

    assert max(map(len, harmless.values())) > 100
    assert [name for name in harmless if len(found[name]) != len(harmless[name])] == []
    assert found == harmless


@pytest.mark.parametrize("text", CORPUS)
def test_hostile_search_is_shown_as_it_was_typed(text: str) -> None:
    page = Someone("root", "admin").page(f"/tasks/?q={quote(text)}").replace("\x07", "")

    assert not any(name.startswith("on") for element in Shape(page).elements for name in element[1:])
    assert {element[0] for element in Shape(page).elements}.isdisjoint({"img", "iframe"})


def test_shape_sees_an_element_that_text_has_become() -> None:
    assert Shape("<p>a</p>").elements != Shape("<p><b>a</b></p>").elements
    assert Shape("<p title='a'>").elements != Shape("<p title='' onclick='a'>").elements
