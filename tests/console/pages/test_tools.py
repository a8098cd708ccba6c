"""The tools: the list, one tool, and running it as oneself from a form made of its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import Field

from tasks_app.engine import Context, tool
from tasks_app.engine.registry import registry
from tasks_app.models import Task
from tasks_app.store import queries
from tests.console.pages.markup import markup
from tests.console.pages.people import Someone, finish, fold

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _tools() -> Iterator[None]:
    """Four tools, each of another kind."""
    with registry.temporary():

        @tool(labels=("city",))
        def visit(
            ctx: Context,
            city: Annotated[str, Field(title="City", min_length=2)],
            days: Annotated[int, Field(ge=1, le=30)] = 3,
            by_train: bool = False,
        ) -> str:
            """Visit a city.

            Stays for some days.
            """
            return city

        @tool
        def arrange(tree: dict[str, list[int]]) -> str:
            """Arrange <b>things</b>."""
            return str(tree)

        @tool(task="forbidden")
        def glance() -> str:
            """Look at once."""
            return "seen"

        @tool(approval="operator", task="required")
        def demolish(house: str) -> str:
            """Demolish a house."""
            return house

        yield


@pytest.fixture
def ana(db: None) -> Someone:
    return Someone("ana")


def only_task() -> Task:
    return Task.objects.get()


def test_list_names_every_tool_with_its_numbers(ana: Someone) -> None:
    finish(ana, "visit")
    finish(ana, "visit", how="failed")
    finish(ana, "long_gone")
    fold()

    answer = ana.browser.get("/tools/")

    rows = {each.name: line for each, _, line in answer.context["rows"]}
    assert list(rows) == ["arrange", "demolish", "glance", "visit"]
    assert (rows["visit"].runs, rows["visit"].success) == (2, "50.0%")
    assert rows["arrange"] is None
    assert [line.name for line in answer.context["others"]] == ["long_gone"]


def test_page_of_a_tool_shows_what_it_does_and_takes(ana: Someone) -> None:
    page = ana.page("/tools/visit/")

    assert "Visit a city." in page
    assert "Stays for some days." in page
    assert 'name="f-city"' in page
    assert 'name="f-days" type="text" inputmode="numeric" value="3"' in page
    assert "additionalProperties" in page


def test_page_of_an_unknown_tool_is_not_there_and_one_no_longer_offered_leads_to_its_tasks(ana: Someone) -> None:
    finish(ana, "long_gone")

    assert ana.browser.get("/tools/never_was/").status_code == 404
    assert ana.browser.get("/tools/long_gone/")["Location"] == "/tasks/?q=tool%3Along_gone&scope=mine"


def test_run_makes_a_task_of_ones_own_and_leads_to_it(ana: Someone) -> None:
    answer = ana.browser.post("/tools/visit/run/", {"f-city": "Rome", "f-days": "5", "f-by_train": "true"})

    task = only_task()
    assert answer["Location"] == f"/tasks/{task.pk}/"
    assert task.owner_id == ana.owner_id
    assert task.credential_id is None
    assert json.loads(task.arguments) == {"city": "Rome", "days": 5, "by_train": True}
    assert task.labels == {"city": "Rome"}
    created = queries.timeline(task.pk)[0]
    assert (created.actor["kind"], created.actor["via"]) == ("owner", "console")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"f-city": ""}, "City is required"),
        ({"f-city": "R"}, "at least 2 characters"),
        ({"f-city": "Rome", "f-days": "31"}, "at most 30"),
        ({"f-city": "Rome", "f-days": "many"}, "whole number"),
    ],
)
def test_run_says_what_is_wrong_and_keeps_what_was_typed(ana: Someone, typed: dict[str, str], problem: str) -> None:
    answer = ana.browser.post("/tools/visit/run/", typed)

    page = markup(answer)
    assert answer.status_code == 422
    assert problem in page
    assert f'value="{typed["f-city"]}"' in page
    assert "<title>Error: visit" in page
    assert not Task.objects.exists()


def test_arguments_that_are_not_flat_are_given_as_json(ana: Someone) -> None:
    page = ana.page("/tools/arrange/")
    answer = ana.browser.post("/tools/arrange/run/", {"arguments": '{"tree": {"a": [1, 9007199254740993]}}'})

    assert '<textarea class="mono" id="arguments"' in page
    assert answer.status_code == 302
    assert json.loads(only_task().arguments) == {"tree": {"a": [1, 9007199254740993]}}


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"tree": 5}', '{"unknown": 1}', "[" * 5000])
def test_json_that_does_not_fit_is_refused_with_its_text_kept(ana: Someone, text: str) -> None:
    answer = ana.browser.post("/tools/arrange/run/", {"arguments": text})

    assert answer.status_code == 422
    assert answer.context["form"].text == text
    assert answer.context["form"].errors
    assert not Task.objects.exists()


def test_tool_that_is_never_a_task_cannot_be_run_here(ana: Someone) -> None:
    page = ana.page("/tools/glance/")
    answer = ana.browser.post("/tools/glance/run/", {})

    assert "Run it" not in page
    assert answer.status_code == 404


def test_tool_that_needs_approval_waits_for_an_operator(ana: Someone) -> None:
    ana.browser.post("/tools/demolish/run/", {"f-house": "number 5"})

    task = only_task()
    [question] = queries.questions(task.pk)
    assert task.status == "input_required"
    assert question.audience == "operator"
    assert "number 5" in question.request["message"]


def test_run_beyond_the_quota_is_refused_with_the_reason(ana: Someone, settings: Any) -> None:
    settings.TASKDECK_LIVE_TASKS = 1
    ana.browser.post("/tools/visit/run/", {"f-city": "Rome"})

    answer = ana.browser.post("/tools/visit/run/", {"f-city": "Oslo"})

    assert answer.status_code == 422
    assert answer.context["form"].errors
    assert Task.objects.count() == 1


def test_description_is_text_and_nothing_else(ana: Someone) -> None:
    assert "<b>things" not in ana.page("/tools/")
    assert "&lt;b&gt;things" in ana.page("/tools/arrange/")
