"""System checks: every wrong declaration or setting has an id and a hint, and a right one is silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core import checks
from pytest_django.fixtures import Settings

from tasks_app.engine import tool

pytestmark = pytest.mark.usefixtures("own_registry")


def found(*, deploy: bool = False) -> list[checks.CheckMessage]:
    """What `manage.py check` would say of Taskdeck."""
    return checks.run_checks(tags=["taskdeck"], include_deployment_checks=deploy)


def the_only(id_: str, *, deploy: bool = False) -> checks.CheckMessage:
    [message] = found(deploy=deploy)
    assert message.id == id_
    assert message.hint
    return message


def offer(**options: Any) -> Callable[..., Any]:
    """Declare a tool of one argument, wrongly or not."""

    def build(service: str) -> str:
        return service

    return tool(**options)(build)


@pytest.fixture
def without_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not with the fixture for settings: it would make Django set up its connections again.
    monkeypatch.setattr(django_settings, "DATABASES", {"default": {"ENGINE": "django.db.backends.dummy"}})


@pytest.fixture
def without_fallback(settings: Settings) -> None:
    """For tests of something else: no tool is missed."""
    settings.TASKDECK_FALLBACK_TOOL = ""


def test_checks_are_silent_without_tools() -> None:
    assert found(deploy=True) == []


@pytest.mark.usefixtures("without_fallback")
def test_check_is_silent_about_a_tool_that_is_declared_right() -> None:
    offer(task="required", approval="operator", labels=("service",))

    assert found(deploy=True) == []


@pytest.mark.usefixtures("without_fallback")
def test_check_reports_two_tools_of_one_name() -> None:
    offer(name="twice")
    offer(name="twice")

    message = the_only("tasks.E001")

    assert isinstance(message, checks.Error)
    assert "'twice' is declared twice" in message.msg
    assert "@tool(name=" in str(message.hint)


def test_check_reports_a_signature_that_has_no_schema() -> None:
    def listen(callback: Callable[[], None]) -> None: ...

    tool(listen)

    message = the_only("tasks.E002")
    assert "'listen'" in message.msg
    assert message.obj is listen


def test_check_reports_approval_of_what_is_never_a_task() -> None:
    offer(task="forbidden", approval="operator")

    assert "asks for approval but is never a task" in the_only("tasks.E003").msg


@pytest.mark.parametrize("name", ["", "two words", "x" * 129, "ü"])
def test_check_reports_a_name_that_clients_refuse(name: str) -> None:
    offer(name=name)

    assert "has a name that clients refuse" in the_only("tasks.E004").msg


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "has timeout=0"),
        ({"task": "always"}, "has task='always'"),
        ({"labels": ("colour",)}, "has labels that are no arguments: colour"),
        ({"timout": 5}, "has an unknown option 'timout'"),
    ],
)
def test_check_reports_an_option_that_makes_no_sense(options: dict[str, Any], said: str) -> None:
    offer(**options)

    assert said in the_only("tasks.E005").msg


def test_check_reports_everything_that_is_wrong_at_once() -> None:
    offer(name="two words", timeout=-1)
    offer(task="forbidden", approval="operator")

    assert sorted(str(message.id) for message in found()) == ["tasks.E003", "tasks.E004", "tasks.E005"]


@pytest.mark.usefixtures("without_fallback", "without_postgres")
def test_check_reports_a_required_tool_where_there_is_no_postgres() -> None:
    """Covers check 22."""
    offer(name="deploy", task="required")
    offer(name="other", task="optional")

    message = the_only("tasks.E010")

    assert isinstance(message, checks.Error)
    assert message.msg.endswith("no Postgres to keep them: deploy.")


@pytest.mark.usefixtures("without_fallback", "without_postgres")
def test_check_lets_a_server_without_tasks_do_without_postgres() -> None:
    """Covers check 23."""
    offer(task="forbidden")

    assert found() == []


@pytest.mark.parametrize("accepted", [["json", "pickle"], None])
def test_deployment_check_reports_celery_that_accepts_more_than_json(
    settings: Settings, accepted: list[str] | None
) -> None:
    settings.CELERY_ACCEPT_CONTENT = accepted

    assert "other content than JSON" in the_only("tasks.E011", deploy=True).msg
    assert found() == []


@pytest.mark.parametrize("task", ["optional", "required"])
def test_check_warns_when_tools_become_tasks_and_the_fallback_tool_is_missing(task: str) -> None:
    """Covers check 117."""
    offer(task=task)

    message = the_only("tasks.W001")

    assert isinstance(message, checks.Warning)
    assert "no tool 'get_task_result'" in message.msg
    assert 'TASKDECK_FALLBACK_TOOL to ""' in str(message.hint)


def test_check_does_not_warn_once_the_fallback_tool_is_there_under_the_name_of_the_setting(
    settings: Settings,
) -> None:
    """Covers check 117: the name is the one that the settings give."""
    settings.TASKDECK_FALLBACK_TOOL = "fetch_later"
    offer(name="get_task_result")
    before = the_only("tasks.W001")

    offer(name="fetch_later", task="forbidden")

    assert "no tool 'fetch_later'" in before.msg
    assert found() == []


def test_check_does_not_warn_when_nothing_becomes_a_task_or_no_fallback_is_wanted(settings: Settings) -> None:
    """Covers check 117."""
    offer(name="quick", task="forbidden")
    nothing_is_a_task = found()
    settings.TASKDECK_FALLBACK_TOOL = ""
    offer(name="slow")

    assert (nothing_is_a_task, found()) == ([], [])
