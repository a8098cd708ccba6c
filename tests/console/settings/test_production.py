"""What a deployment is held to: nothing missing, nothing lax, and Django's own deployment check without a warning."""

from __future__ import annotations

import pytest

from tests.console.settings.conftest import Manage

COMPLETE = {
    "DJANGO_SETTINGS_MODULE": "console.settings.production",
    "TASKDECK_SECRET_KEY": "a secret of this test that is long enough, 50 characters and more",
    "TASKDECK_ALLOWED_HOSTS": "tasks.example.org",
    "DATABASE_URL": "postgresql://taskdeck@db/taskdeck",
    "BROKER_URL": "redis://broker/0",
    "CHANNEL_URL": "redis://broker/1",
}
NEEDED = sorted(COMPLETE.keys() - {"DJANGO_SETTINGS_MODULE"})


def test_complete_settings_pass_the_deployment_check_without_a_warning(manage: Manage) -> None:
    ended = manage("check", "--deploy", "--fail-level", "WARNING", env=COMPLETE)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "no issues" in ended.stdout


@pytest.mark.parametrize("name", NEEDED)
def test_missing_setting_is_refused_in_one_line_that_names_it(manage: Manage, name: str) -> None:
    ended = manage("check", env={key: value for key, value in COMPLETE.items() if key != name})

    assert ended.returncode == 1
    assert ended.stderr == f"Missing setting: {name}. Production settings need each of them.\n"


def test_all_missing_settings_are_named_in_one_line(manage: Manage) -> None:
    ended = manage("check", env={"DJANGO_SETTINGS_MODULE": COMPLETE["DJANGO_SETTINGS_MODULE"]})

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert all(name in ended.stderr for name in NEEDED)


@pytest.mark.parametrize(
    ("given", "header"),
    [({}, "None"), ({"TASKDECK_BEHIND_PROXY": "1"}, "('HTTP_X_FORWARDED_PROTO', 'https')")],
)
def test_word_of_a_proxy_is_taken_only_when_there_is_said_to_be_one(
    manage: Manage, given: dict[str, str], header: str
) -> None:
    show = "from django.conf import settings; print(settings.SECURE_PROXY_SSL_HEADER)"

    ended = manage("shell", "--no-imports", "-c", show, env={**COMPLETE, **given})

    assert ended.stdout.strip() == header


def test_anonymous_access_is_refused(manage: Manage) -> None:
    ended = manage("check", env={**COMPLETE, "TASKDECK_ALLOW_ANONYMOUS": "1"})

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("Wrong setting: TASKDECK_ALLOW_ANONYMOUS")
